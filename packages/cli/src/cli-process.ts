import { Console } from "node:console";
import { getSystemErrorMessage } from "node:util";
import { PagurusError } from "@pagurus/contract/errors";
import type { Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_FAILED, printFailure } from "./cli-failure.ts";
import { openHost } from "./open-host.ts";
import { ProcessOutput } from "./process-output.ts";
import { execute } from "./cli-program.ts";

/** The interrupts of the process: SIGINT, SIGTERM, and an output that has lost its reader. */
class Interrupts {
  readonly #listeners = new Set<() => void>();
  readonly #fire = (): void => {
    for (const listener of this.#listeners) listener();
  };

  readonly onInterrupt: Cli["onInterrupt"] = (listener) => {
    // Without a listener the signals keep their default: the process ends.
    if (this.#listeners.size === 0) process.on("SIGINT", this.#fire).on("SIGTERM", this.#fire);
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) process.off("SIGINT", this.#fire).off("SIGTERM", this.#fire);
    };
  };

  /** Returns false when no listener was interrupted. */
  fire(): boolean {
    if (this.#listeners.size === 0) return false;
    this.#fire();
    return true;
  }
}

function flushErrors(): Promise<void> {
  return new Promise((resolve) => {
    if (process.stderr.destroyed || process.stderr.writableLength === 0) return resolve();
    process.stderr.write("", () => resolve());
    return undefined;
  });
}

/** Whether the reader closed the pipe early (`pagurus … | head`), which is not a failure. */
function isReaderGone(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE";
}

function outputFailure(error: NodeJS.ErrnoException): PagurusError {
  const why = error.errno === undefined ? error.message : getSystemErrorMessage(error.errno);
  return new PagurusError(
    "store_write_failed",
    `The standard output cannot be written (${why}), so the output is incomplete; redirect it and try again.`,
    { cause: error },
  );
}

/** Runs the command line of this process and exits with its code. */
export async function runProcess(argv: readonly string[]): Promise<void> {
  // A plugin's output is not part of a command's output, which programs read.
  Object.assign(console, new Console(process.stderr, process.stderr));
  const exit = (code: number): void => process.exit(code);
  const interrupts = new Interrupts();
  let lost: NodeJS.ErrnoException | undefined;
  const outcome = (code: number): number => {
    if (lost === undefined || isReaderGone(lost)) return code;
    printFailure(cli, outputFailure(lost));
    return EXIT_FAILED;
  };
  const outputLost = (error: NodeJS.ErrnoException): void => {
    if (lost !== undefined) return;
    lost = error;
    // A turn is aborted and recorded; anything else has no reader left.
    if (!interrupts.fire()) exit(outcome(EXIT_DONE));
  };
  const stdout = new ProcessOutput(outputLost);
  process.stderr.on("error", (error: NodeJS.ErrnoException) => {
    // Other write errors of messages do not end the work.
    if (isReaderGone(error)) outputLost(error);
  });
  const cli: Cli = {
    stdin: process.stdin,
    stdout: stdout.terminal ?? stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    open: openHost,
    onInterrupt: interrupts.onInterrupt,
    exit,
    outputLost: () => stdout.lost,
  };
  const code = await execute(argv, cli);
  await Promise.all([stdout.flush(), flushErrors()]);
  // Exits also when something still holds the event loop: an open standard input, a lingering child.
  exit(outcome(code));
}
