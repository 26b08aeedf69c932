import { Console } from "node:console";
import type { Cli } from "./cli.ts";
import { printFailure, reportFailure } from "./cli-failure.ts";
import { Interrupts, OutputLoss } from "./command-end.ts";
import { openHost } from "./open-host.ts";
import { ProcessOutput } from "./process-output.ts";
import { execute } from "./cli-program.ts";
import { RESIDENT_COMMAND, WAKE_COMMAND } from "./resident/resident-command.ts";

/** Commands that bin/thin.js forwards: a resident host would have run them. */
const OF_A_MOMENT: ReadonlySet<string> = new Set(["run", "-p", "--print", "status", "sessions"]);

function flushErrors(): Promise<void> {
  return new Promise((resolve) => {
    if (process.stderr.destroyed || process.stderr.writableLength === 0) return resolve();
    process.stderr.write("", () => resolve());
    return undefined;
  });
}

async function serveResident(cli: Cli): Promise<number> {
  try {
    const { serveResident: serve } = await import("./resident/resident-work.ts");
    return await serve(cli, execute);
  } catch (error) {
    return reportFailure(cli, error);
  }
}

/** Starts the host for an adapter in another program, without loading the commands. */
async function wakeHost(cli: Cli): Promise<number> {
  try {
    const { wakeForAdapters } = await import("./inside/wake-host.ts");
    return await wakeForAdapters(cli.env);
  } catch (error) {
    return reportFailure(cli, error);
  }
}

async function runOwn(argv: readonly string[], cli: Cli): Promise<number> {
  if (argv[0] === RESIDENT_COMMAND) return serveResident(cli);
  return argv[0] === WAKE_COMMAND ? wakeHost(cli) : execute(argv, cli);
}

/** Runs the command line of this process and exits with its code. */
export async function runProcess(argv: readonly string[]): Promise<void> {
  // A plugin's output is not part of a command's output, which programs read.
  Object.assign(console, new Console(process.stderr, process.stderr));
  const exit = (code: number): void => process.exit(code);
  const fire = (): void => void interrupts.fire();
  const interrupts = new Interrupts((isWatching) => {
    // Without a listener the signals keep their default: the process ends.
    if (isWatching) process.on("SIGINT", fire).on("SIGTERM", fire);
    else process.off("SIGINT", fire).off("SIGTERM", fire);
  });
  const loss = new OutputLoss({ interrupts, exit, report: (failure) => printFailure(cli, failure) });
  const stdout = new ProcessOutput(loss.onOutputFailed);
  process.stderr.on("error", loss.onMessagesFailed);
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
  const code = await runOwn(argv, cli);
  await Promise.all([stdout.flush(), flushErrors()]);
  if (OF_A_MOMENT.has(argv[0] ?? "")) {
    const { followedByHost } = await import("./resident/next-commands.ts");
    await followedByHost(cli.env);
  }
  // Exits also when something still holds the event loop: an open standard input, a lingering child.
  exit(loss.exitCode(code));
}
