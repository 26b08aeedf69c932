/** Looks whether a job has something to do, before a model is called for it. */
import { stat } from "node:fs/promises";
import { attempt } from "@pagurus/core/data/attempt";
import { startProgram } from "@pagurus/core/platform/start-program";
import type { JobCheck } from "@pagurus/api/types";
import { defined } from "@pagurus/core/data/defined";

/** Time limit of a command, ms; a longer one counts as one that failed. */
const COMMAND_MS = 60_000;

export interface CheckResult {
  isNeeded: boolean;
  /** What the file is now. */
  stamp?: string;
}

/** `stamp`: what the file was at the last run. `cwd` is the folder of a command. */
export async function checkJob(
  check: JobCheck | undefined,
  { stamp, cwd }: { stamp: string | undefined; cwd: string | undefined },
): Promise<CheckResult> {
  if (!check) return { isNeeded: true };
  if (check.kind === "command") return { isNeeded: (await exitCode(check.command, cwd)) === 0 };
  const found = await stat(check.path).catch(() => undefined);
  if (!found) return { isNeeded: false };
  const now = `${found.mtimeMs} ${found.size} ${found.ino}`;
  return { isNeeded: now !== stamp, stamp: now };
}

function exitCode(command: string, cwd: string | undefined): Promise<number> {
  return new Promise((resolve) => {
    const options = { stdio: "ignore" as const, detached: true, ...defined({ cwd }) };
    const child = startProgram("/bin/sh", ["-c", command], options);
    const timer = setTimeout(() => {
      // It may have just ended.
      attempt(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"));
    }, COMMAND_MS);
    const done = (code: number): void => {
      clearTimeout(timer);
      resolve(code);
    };
    child.once("error", () => done(1));
    child.once("close", (code) => done(code ?? 1));
  });
}
