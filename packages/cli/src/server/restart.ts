/** A server that starts again in the same process: with its terminal, its service and its process id, and with the code that is installed now. */
import { launcher } from "../launcher.ts";
import { RESTART_SIGNAL } from "@pagurus/server/server-address";

export function canRestart(): boolean {
  return process.platform !== "win32" && typeof process.execve === "function";
}

/** Resolves with true at the signal of `pagurus serve restart`. */
export function onceRestarted(): Promise<boolean> {
  return new Promise((resolve) => {
    if (canRestart()) process.once(RESTART_SIGNAL, () => resolve(true));
  });
}

/** Replaces this process by the same command. Everything is closed by now. */
export function startAgain(): void {
  // Node.js warns that the call is experimental.
  process.removeAllListeners("warning").on("warning", () => undefined);
  const args = [process.execPath, ...process.execArgv, launcher(), ...process.argv.slice(2)];
  process.execve?.(process.execPath, args, process.env);
}
