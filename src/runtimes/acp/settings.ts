/** Reads `plugins.entries.acp.config`. */
import { PagurusError } from "../../contract/errors.ts";
import { fields } from "./fields.ts";
import type { AcpSettings, AgentEntry } from "./options.ts";

const PLACE = "plugins.entries.acp.config";
const LOGINS = ["host", "own"] as const;
const MOST_START_SECONDS = 3_600;

/** Throws `config_invalid`, naming the key, for a value that is none of those it knows. */
export function readAcpSettings(config: unknown): AcpSettings {
  const { agents, agentId } = fields(config);
  if (agents !== undefined && Object.keys(fields(agents)).length === 0 && !isRecord(agents))
    throw wrong("agents", "an object of agents by id");
  const read = Object.entries(fields(agents)).map(([id, entry]) => [id, readAgent(id, entry)] as const);
  const chosen = optionalText("agentId", agentId);
  return { agents: Object.fromEntries(read), ...(chosen === undefined ? {} : { agentId: chosen }) };
}

function readAgent(id: string, value: unknown): AgentEntry {
  const at = `agents.${id}`;
  if (!isRecord(value)) throw wrong(at, "an object, such as { command, args, env }");
  const { command, args, env, cwd, mode, model, login, context, startSeconds } = value;
  const found: AgentEntry = {};
  for (const [key, given] of Object.entries({ command, cwd, mode, model })) {
    const said = optionalText(`${at}.${key}`, given);
    if (said !== undefined) found[key as "command" | "cwd" | "mode" | "model"] = said;
  }
  if (args !== undefined) {
    if (!Array.isArray(args) || !args.every((each) => typeof each === "string"))
      throw wrong(`${at}.args`, "a list of texts");
    found.args = args as string[];
  }
  if (env !== undefined) {
    if (!isRecord(env) || !Object.values(env).every((each) => typeof each === "string"))
      throw wrong(`${at}.env`, "texts by name");
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function optionalText(key: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.trim() !== "") return value;
  throw wrong(key, "a text that is not empty");
}

function wrong(key: string, wanted: string): PagurusError {
  return new PagurusError("config_invalid", `${PLACE}.${key} is not ${wanted}; correct it there.`);
}
