/** The installed version of the configured agent, for `pagurus runtimes` and the doctor. Opens no session. */
import { PagurusError } from "@pagurus/contract/errors";
import type { NativeProgram } from "@pagurus/contract/harness/native";
import { versionIn } from "@pagurus/core/data/tried-programs";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import { outputOf } from "@pagurus/core/platform/start-program";
import { versionNote } from "@pagurus/core/platform/version-notes";
import { agentFor, configuredAgent, findProgram, type Agent } from "./agents.ts";
import type { AcpOptions } from "./acp-options.ts";
import { defined } from "@pagurus/core/data/defined";

const DEADLINE_MS = 20_000;
const UNKNOWN = "unknown";
const NO_MODEL = { ref: "", provider: "" };

/** Throws `runtime_failed`, `config_invalid`. */
export async function describeAgent(
  options: Pick<AcpOptions, "env" | "home" | "agents" | "agentId">,
  signal: AbortSignal | undefined,
): Promise<NativeProgram> {
  const agent = agentFor(options, configuredAgent(options), NO_MODEL);
  const found = findProgram(agent, options.env);
  if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
  const { command } = found;
  const version = await printedVersion(agent, command, { env: options.env, signal });
  const login = agent.entry.login === "own" ? "its own" : "the host's key, where it takes one";
  const id = agent.known?.program;
  const drift = id === undefined || version === UNKNOWN ? undefined : versionNote(options.home, id, version);
  return { program: command, version, login, ...defined({ drift }) };
}

/** Some agents do not print a version. */
async function printedVersion(
  { entry, known }: Agent,
  command: string,
  { env: hostEnv, signal }: { env: AcpOptions["env"]; signal: AbortSignal | undefined },
): Promise<string> {
  const env = { ...childEnvironment(hostEnv, known?.variables?.(hostEnv) ?? []), ...entry.env };
  // Arguments of an entry may name the program, as in `node agent.js`; a known agent's own start its protocol.
  const args = [...(entry.args ?? []), "--version"];
  try {
    const printed = await outputOf(command, args, { env, timeout: DEADLINE_MS, ...defined({ signal }) });
    return versionIn(printed) ?? UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}
