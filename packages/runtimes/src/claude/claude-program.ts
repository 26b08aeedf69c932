/** The installed version and login, for `pagurus runtimes` and the doctor. Does not read the login. */
import { claudeVariables } from "@pagurus/core/native/own-variables";
import { versionNote } from "@pagurus/core/platform/version-notes";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import { outputOf } from "@pagurus/core/platform/start-program";
import { PagurusError } from "@pagurus/contract/errors";
import type { NativeProgram } from "@pagurus/contract/harness/native";
import { findClaude } from "./find-claude.ts";
import type { ClaudeOptions } from "./claude-options.ts";
import { defined } from "@pagurus/core/data/defined";

const DEADLINE_MS = 20_000;

/** Throws `runtime_failed`. */
export async function describeProgram(
  options: Pick<ClaudeOptions, "env" | "home" | "command" | "login">,
  signal: AbortSignal | undefined,
): Promise<NativeProgram> {
  const found = findClaude(options);
  if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
  const { command } = found;
  try {
    const env = childEnvironment(options.env, claudeVariables(options.env));
    const more = signal ? { signal } : {};
    const stdout = await outputOf(command, ["--version"], {
      env,
      timeout: DEADLINE_MS,
      ...more,
    });
    const version = /^\d+\.\d+\.\d+\S*/.exec(stdout.trim())?.[0] ?? "unknown";
    const login = options.login === "own" ? "the user's own, where the host has no key" : "the host's key";
    const drift = versionNote(options.home, "claude", version);
    return { program: command, version, login, ...defined({ drift }) };
  } catch (error) {
    // `execFile` kills the process at its timeout.
    const { killed, code } = error as { killed?: unknown; code?: unknown };
    if (killed === true && code !== "ABORT_ERR") throw tooLate(command, error);
    throw new PagurusError(
      "runtime_failed",
      `\`${command} --version\` does not answer; check that it is Claude Code, or name another program in plugins.entries.claude-cli.config.command.`,
      { cause: error, details: { command } },
    );
  }
}

/** A timeout on a busy machine is not the program's fault. */
function tooLate(command: string, cause: unknown): PagurusError {
  return new PagurusError(
    "runtime_failed",
    `\`${command} --version\` did not answer within ${DEADLINE_MS / 1_000} s; try again when the machine is less busy.`,
    { cause, details: { command } },
  );
}
