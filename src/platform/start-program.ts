/**
 * The one place that starts processes. A program is started by its absolute path, which `executables.ts` finds or a person gave, so that
 * neither the system's search nor the working folder decides what runs.
 */
import {
  execFile,
  fork,
  spawn,
  spawnSync,
  type ChildProcess,
  type ExecFileOptions,
  type ForkOptions,
  type SpawnOptions,
  type SpawnSyncOptions,
} from "node:child_process";
import { isAbsolute } from "node:path";
import { promisify } from "node:util";
import { PagurusError } from "../contract/errors.ts";

export type { ChildProcess, SpawnOptions } from "node:child_process";

function checked(file: string): string {
  if (isAbsolute(file)) return file;
  throw new PagurusError(
    "internal",
    `The program "${file}" would be started by its name; find its file first.`,
    {
      details: { command: file },
    },
  );
}

/** `spawn`. Throws `internal` for a path that is not absolute. */
export function startProgram(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn(checked(file), [...args], options);
}

/** Starts a program and waits for its end; returns its exit code, or null. Throws as `startProgram`. */
export function waitForProgram(
  file: string,
  args: readonly string[],
  options: SpawnSyncOptions,
): number | null {
  return spawnSync(checked(file), [...args], options).status;
}

/** Standard output of a program. Throws as `startProgram`, and the errors of `execFile`. */
export async function outputOf(
  file: string,
  args: readonly string[],
  options: ExecFileOptions,
): Promise<string> {
  const { stdout } = await promisify(execFile)(checked(file), [...args], { ...options, encoding: "utf8" });
  return stdout;
}

/** A module of ours in a process of its own. */
export function startModule(module: string, options: ForkOptions): ChildProcess {
  return fork(checked(module), options);
}
