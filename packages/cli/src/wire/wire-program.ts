/** Runs a program of the user in the foreground of the terminal, as if the shell had started it. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { PagurusError } from "@pagurus/contract/errors";
import type { WrapLaunch } from "@pagurus/contract/harness/wrap";
import { startProgram, type ChildProcess } from "@pagurus/core/platform/start-program";

/** Interval for checking whether the program has stopped itself (Ctrl-Z), ms. */
const LOOK_MS = 250;
/** Offset of the exit codes of programs ended by a signal. */
const SIGNALLED = 128;

/**
 * Runs the program with our terminal until it ends; returns its exit code in the shell's form. Typed input reaches the program,
 * not us; a signal that ends us ends it. Throws `runtime_failed` where it cannot be started.
 */
export async function runInForeground({ command, args, env }: WrapLaunch, cwd: string): Promise<number> {
  // Same process group: interrupts, stops and resizes reach it as without us.
  const child = startProgram(command, args, { cwd, env: env as NodeJS.ProcessEnv, stdio: "inherit" });
  const release = forwardSignals(child);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", (error) =>
        reject(
          new PagurusError("runtime_failed", `${command} could not be started: ${error.message}.`, {
            cause: error,
            details: { command },
          }),
        ),
      );
      child.once("exit", (code, signal) => resolve(exitCodeOf(code, signal)));
    });
  } finally {
    release();
  }
}

function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal]);
}

/** Leaves the terminal's signals to the program, and forwards those sent to us. */
function forwardSignals(child: ChildProcess): () => void {
  const ignore = (): void => undefined;
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", ignore).on("SIGQUIT", ignore).on("SIGTERM", forward).on("SIGHUP", forward);
  const timer = process.stdin.isTTY === true ? setInterval(() => stopWith(child), LOOK_MS) : undefined;
  timer?.unref();
  return () => {
    process.off("SIGINT", ignore).off("SIGQUIT", ignore).off("SIGTERM", forward).off("SIGHUP", forward);
    clearInterval(timer);
  };
}

/**
 * Stops us together with the program, since one that stops alone would leave the shell waiting for us. The shell continues
 * both.
 */
function stopWith({ pid }: ChildProcess): void {
  if (pid === undefined || stateOf(pid) !== "T") return;
  process.kill(process.pid, "SIGSTOP");
}

/** State of a process; undefined where the platform has none. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
  } catch {
    return undefined;
  }
}
