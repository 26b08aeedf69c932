/** How a command ends early, in this process or in the resident host: interrupts, and an output that has failed. */
import { getSystemErrorMessage } from "node:util";
import { PagurusError } from "@pagurus/contract/errors";
import type { Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_FAILED } from "./cli-failure.ts";

/** The interrupts of a command: SIGINT, SIGTERM, and an output that has lost its reader. */
export class Interrupts {
  readonly #listeners = new Set<() => void>();
  readonly #watch: (isWatching: boolean) => void;

  /** `watch` is called when the first listener comes and when the last one has left: else a signal ends the caller's process. */
  constructor(watch: (isWatching: boolean) => void) {
    this.#watch = watch;
  }

  readonly onInterrupt: Cli["onInterrupt"] = (listener) => {
    if (this.#listeners.size === 0) this.#watch(true);
    this.#listeners.add(listener);
    return () => {
      const isLast = this.#listeners.delete(listener) && this.#listeners.size === 0;
      if (isLast) this.#watch(false);
    };
  };

  /** Returns false when no listener was interrupted. */
  readonly fire = (): boolean => {
    for (const listener of this.#listeners) listener();
    return this.#listeners.size > 0;
  };
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

export interface OutputLossOptions {
  interrupts: Interrupts;
  exit(code: number): void;
  report(failure: PagurusError): void;
}

/** The first failure of a command's output, and what it means for the exit code. */
export class OutputLoss {
  readonly #options: OutputLossOptions;
  #lost: NodeJS.ErrnoException | undefined;

  constructor(options: OutputLossOptions) {
    this.#options = options;
  }

  readonly onOutputFailed = (error: NodeJS.ErrnoException): void => {
    if (this.#lost !== undefined) return;
    this.#lost = error;
    // A turn is aborted and recorded; anything else has no reader left.
    if (!this.#options.interrupts.fire()) this.#options.exit(this.exitCode(EXIT_DONE));
  };

  /** Other write errors of messages do not end the work. */
  readonly onMessagesFailed = (error: NodeJS.ErrnoException): void => {
    if (isReaderGone(error)) this.onOutputFailed(error);
  };

  /** The exit code of a command that ended with `code`; reports the failure. */
  exitCode(code: number): number {
    if (this.#lost === undefined || isReaderGone(this.#lost)) return code;
    this.#options.report(outputFailure(this.#lost));
    return EXIT_FAILED;
  }
}
