/** What is installed, for `pagurus runtimes` and the doctor. Reads no login. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PagurusError } from "../../contract/errors.ts";
import type { NativeProgram } from "../../contract/native.ts";
import { findClaude } from "./find.ts";
import type { ClaudeOptions } from "./options.ts";
import { driftOf } from "./version.ts";

const DEADLINE_MS = 20_000;

/** Throws `runtime_failed`. */
export async function describeProgram(
  options: Pick<ClaudeOptions, "env" | "command" | "login">,
  signal: AbortSignal | undefined,
): Promise<NativeProgram> {
  const found = findClaude(options);
  if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
  const { command } = found;
  try {
    const env = { ...options.env } as NodeJS.ProcessEnv;
    const more = signal ? { signal } : {};
    const { stdout } = await promisify(execFile)(command, ["--version"], {
      env,
      timeout: DEADLINE_MS,
      ...more,
    });
    const version = /^\d+\.\d+\.\d+\S*/.exec(stdout.trim())?.[0] ?? "unknown";
    const login = options.login === "own" ? "the user's own, where the host has no key" : "the host's key";
    const drift = driftOf(version);
    return { program: command, version, login, ...(drift === undefined ? {} : { drift }) };
  } catch (error) {
    throw new PagurusError(
      "runtime_failed",
      `\`${command} --version\` does not answer; check that it is Claude Code, or name another program in plugins.entries.claude-cli.config.command.`,
      { cause: error, details: { command } },
    );
  }
}
