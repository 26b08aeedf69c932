/** Standard input of the processes that tests, scripts and benchmarks start. */
import { execFileSync, spawn, type ChildProcess, type ChildProcessByStdio } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

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

/** Bytes that a pipe takes without a reader, on each system. */
const PIPE_BYTES = 4_096;

/** The reading end of a pipe that has the text and its end: complete before its reader starts. */
function filledPipe(input: string): number {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-pipe-"));
  try {
    const file = join(folder, "pipe");
    execFileSync("mkfifo", [file]);
    const both = openSync(file, "r+");
    const reading = openSync(file, "r");
    writeSync(both, input);
    closeSync(both);
    return reading;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Starts a process that reads `input` from a pipe, or has an empty input. A program may wait for the first byte for a short time only, in
 * which a busy machine does not run the test.
 */
export function spawnWith(
  input: string | undefined,
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv },
): ChildProcessByStdio<Writable | null, Readable, Readable> {
  const isEmpty = input === undefined || input === "";
  const isShort = !isEmpty && Buffer.byteLength(input) <= PIPE_BYTES && process.platform !== "win32";
  const filled = isShort ? filledPipe(input) : undefined;
  const stdin = filled ?? (isEmpty ? "ignore" : "pipe");
  const child = spawn(program, args, { ...options, stdio: [stdin, "pipe", "pipe"] });
  if (filled !== undefined) closeSync(filled);
  else if (!isEmpty) inputOf(child).end(input);
  return child as ChildProcessByStdio<Writable | null, Readable, Readable>;
}
