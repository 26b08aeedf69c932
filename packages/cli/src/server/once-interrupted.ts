import type { Cli } from "../cli.ts";
import { EXIT_INTERRUPTED } from "../cli-failure.ts";

/** The first interrupt of a command that works until then. A second one ends the process at once. */
export function onceInterrupted(cli: Cli): { interrupted: Promise<void>; forget: () => void } {
  const stopped = Promise.withResolvers<void>();
  let interrupts = 0;
  const forget = cli.onInterrupt(() => {
    interrupts += 1;
    if (interrupts > 1) cli.exit(EXIT_INTERRUPTED);
    stopped.resolve();
  });
  return { interrupted: stopped.promise, forget };
}
