/** Reads `plugins.entries.acp.config`. */
import { PagurusError } from "@pagurus/contract/errors";
import type { AcpSettings, AgentEntry } from "./acp-options.ts";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";

const PLACE = "plugins.entries.acp.config";
const LOGINS = ["host", "own"] as const;
const MOST_START_SECONDS = 3_600;

/** Throws `config_invalid` with the key of an invalid value. */
export function readAcpSettings(config: unknown): AcpSettings {
  const { agents, agentId } = recordOf(config);
  if (agents !== undefined && Object.keys(recordOf(agents)).length === 0 && !isRecord(agents))
    throw wrong("agents", "an object of agents by id");
  const read = Object.entries(recordOf(agents)).map(([id, entry]) => [id, readAgent(id, entry)] as const);
  const chosen = optionalText("agentId", agentId);
  return { agents: Object.fromEntries(read), ...(chosen === undefined ? {} : { agentId: chosen }) };
}

function readAgent(id: string, value: unknown): AgentEntry {
  const at = `agents.${id}`;
  if (!isRecord(value)) throw wrong(at, "an object, such as { command, args, env }");
  const { command, args, env, cwd, mode, model, login, context, startSeconds } = value;
  const found: AgentEntry = {};
  for (const [key, value] of Object.entries({ command, cwd, mode, model })) {
    const checked = optionalText(`${at}.${key}`, value);
    if (checked !== undefined) found[key as "command" | "cwd" | "mode" | "model"] = checked;
  }
  if (args !== undefined) {
    if (!Array.isArray(args) || !args.every((each) => typeof each === "string"))
      throw wrong(`${at}.args`, "a list of strings");
    found.args = args as string[];
  }
  if (env !== undefined) {
    if (!isRecord(env) || !Object.values(env).every((each) => typeof each === "string"))
      throw wrong(`${at}.env`, "strings by name");
    found.env = env as Record<string, string>;
  }
  if (login !== undefined) {
    const known = LOGINS.find((each) => each === login);
    if (known === undefined) throw wrong(`${at}.login`, `one of: ${LOGINS.join(", ")}`);
    found.login = known;
  }
  if (context !== undefined) {
    if (context !== "wire") throw wrong(`${at}.context`, '"wire"');
    found.context = context;
  }
  if (startSeconds !== undefined) {
    const seconds = typeof startSeconds === "number" ? startSeconds : 0;
    if (!(seconds > 0 && seconds <= MOST_START_SECONDS))
      throw wrong(`${at}.startSeconds`, `a number of seconds, at most ${MOST_START_SECONDS}`);
    found.startSeconds = seconds;
  }
  return found;
}

function optionalText(key: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.trim() !== "") return value;
  throw wrong(key, "a string that is not empty");
}

function wrong(key: string, wanted: string): PagurusError {
  return new PagurusError("config_invalid", `${PLACE}.${key} is not ${wanted}; correct it there.`);
}
