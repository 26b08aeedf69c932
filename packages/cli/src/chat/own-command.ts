/** A command of the person, typed after an exclamation mark: `!git status`. It runs as in their shell, outside of the sandbox. */
import { killGroup, spawnGroup } from "@pagurus/core/platform/process-group";
import type { Cli } from "../cli.ts";

/** Characters of output that are kept, from the end. */
const MOST_OUTPUT = 100_000;

/** The command in a line such as `!git status`; undefined for any other line. */
export function ownCommandIn(line: string): string | undefined {
  return /^!\s*(\S[^]*)$/.exec(line)?.[1];
}

export interface OwnCommand {
  command: string;
  cwd: string;
  env: Cli["env"];
  signal: AbortSignal;
  onOutput(chunk: string): void;
}

/** Its output and exit code; null where a signal ended it. Throws what starting a program throws. */
export function runOwnCommand({
  command,
  cwd,
  env,
  signal,
  onOutput,
}: OwnCommand): Promise<{ output: string; code: number | null }> {
  const child = spawnGroup("/bin/sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const take = (chunk: string): void => {
    output = (output + chunk).slice(-MOST_OUTPUT);
    onOutput(chunk);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", take);
  const onAbort = (): void => killGroup(child, "SIGTERM");
  signal.addEventListener("abort", onAbort, { once: true });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      signal.removeEventListener("abort", onAbort);
      resolve({ output, code });
    });
  });
}
