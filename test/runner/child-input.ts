/** Standard input of the processes that tests, scripts and benchmarks start. */
import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";

/** A process that has ended, or reads no more, closes the pipe: its exit code and its output show why. */
const READER_GONE = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"]);

function ignoreReaderGone(error: NodeJS.ErrnoException): void {
  if (!READER_GONE.has(error.code ?? "")) throw error;
}

/** Where a process reads what it is sent, whether it still runs or not. Throws for a process that was started without a pipe. */
export function inputOf({ stdin }: Pick<ChildProcess, "stdin">): Writable {
  if (!stdin) throw new Error("The process was started without a pipe for its standard input.");
  if (!stdin.listeners("error").includes(ignoreReaderGone)) stdin.on("error", ignoreReaderGone);
  return stdin;
}
