/** A program of the user's own in the foreground of the terminal, as if the shell had started it. */
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { PagurusError } from "../contract/errors.ts";
import type { WrapLaunch } from "../contract/wrap.ts";

/** How often it is looked whether the program has stopped itself (Ctrl-Z), ms. */
const LOOK_MS = 250;
/** Exit codes of programs that a signal has ended begin behind this. */
const SIGNALLED = 128;

/**
 * Runs the program with our terminal until it ends; answers its exit code as a shell tells it. What is typed reaches it and not
 * us; who ends us ends it. Throws `runtime_failed` where it cannot be started.
 */
export async function runInForeground({ command, args, env }: WrapLaunch, cwd: string): Promise<number> {
  // The same process group: interrupts, stops and the size of the window reach it as without us.
  const child = spawn(command, args, { cwd, env: env as NodeJS.ProcessEnv, stdio: "inherit" });
  const release = standBack(child);
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

/** Leaves the terminal's signals to the program, and hands on those that were sent to us. */
function standBack(child: ChildProcess): () => void {
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

/** A program that stops itself alone would leave the shell waiting for us. The shell wakes both. */
function stopWith({ pid }: ChildProcess): void {
  if (pid === undefined || stateOf(pid) !== "T") return;
  process.kill(process.pid, "SIGSTOP");
}

/** Undefined where the platform does not tell. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
  } catch {
    return undefined;
  }
}
