import type { Pagurus, PagurusOptions } from "../contract/host.ts";
import type { Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_INTERRUPTED } from "./failure.ts";
import { execute } from "./program.ts";

async function open(options: PagurusOptions): Promise<Pagurus> {
  const { createPagurus } = await import("../app.ts");
  return createPagurus(options);
}

/** The interrupts of the process: SIGINT, SIGTERM, and a reader of our output that went away. */
function interrupts(exit: (code: number) => void): { onInterrupt: Cli["onInterrupt"]; outputClosed(): void } {
  const listeners = new Set<() => void>();
  const fire = (): void => {
    for (const listener of listeners) listener();
  };
  let closed = false;
  return {
    onInterrupt(listener) {
      // Without a listener the signals keep their default: the process ends.
      if (listeners.size === 0) process.on("SIGINT", fire).on("SIGTERM", fire);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) process.off("SIGINT", fire).off("SIGTERM", fire);
      };
    },
    outputClosed() {
      if (closed) return;
      closed = true;
      // A turn is aborted and recorded; anything else has nobody left to print for (`pagurus … | head`).
      if (listeners.size === 0) exit(EXIT_DONE);
      else fire();
    },
  };
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) return resolve();
    stream.write("", () => resolve());
    return undefined;
  });
}

/** Runs the command line of this process and ends it with the exit code. */
export async function runProcess(argv: readonly string[]): Promise<void> {
  const exit = (code: number): void => process.exit(code);
  const { onInterrupt, outputClosed } = interrupts(exit);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") outputClosed();
      else exit(EXIT_INTERRUPTED);
    });
  }
  const cli: Cli = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    open,
    onInterrupt,
    exit,
  };
  const code = await execute(argv, cli);
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
  // Ends here also when something still holds the event loop: an open standard input, a child that lingers.
  exit(code);
}
