/** Maps a configuration of OpenClaw to ours, key by key; dropped keys are reported with a reason. */
import { configSchema } from "@pagurus/core/config/config-schema";
import { formatKeyPath, type KeyPath } from "@pagurus/core/config/key-path";
import type { ConfigDraft } from "./config-draft.ts";
import { takeLossless } from "./lossless-settings.ts";
import { takeChannels } from "./migrate-channels.ts";
import { takeMcpServers } from "./migrate-mcp-servers.ts";
import { THINKING } from "./thinking-levels.ts";
import { isRecord, listOf } from "@pagurus/core/data/record-fields";

/** Reasons for dropped parts: the first one whose pattern matches the start of the path. */
const REASONS: readonly [RegExp, string][] = [
  [
    /^(?:gateway|discovery|web|ui)\b/,
    "pagurus serve has settings of its own (server.*); its port and its keys are not those of OpenClaw",
  ],
  [/^(?:canvasHost|nodeHost|talk|audio|media)\b/, "these surfaces do not exist here"],
  [/^bindings\b/, "channels.<id>.agent names the agent that answers in a channel here"],
  [/^(?:broadcast|messages|session|commands)\b/, "channels have settings of their own here"],
  [
    /^cron\b/,
    "a job has settings of its own here: it is paused where cron.enabled is false, and skips missed times as skipMissedJobs says",
  ],
  [
    /^hooks\b/,
    "hooks are plugins here; other programs post work to pagurus serve (POST /api/v1/sessions/{key}/turns)",
  ],
  [/^(?:auth|secrets)\b/, "logins are not taken; name a key at models.providers, or in the environment"],
  [/^env\b/, "variables are not taken out of a file; set them in your environment"],
  [/^(?:agents\b.*\.)?tools\b/, "agents.defaults.permission sets what tools may do; the default is to ask"],
  [/^skills\b/, "skills are folders here, which skills.paths names, and are switched off by their names"],
  [/^mcp\.servers\b.*\.o?auth\b/, "logins are not taken; pagurus mcp login logs in to a server"],
  [
    /^mcp\.servers\b.*\.(?:ssl_?verify|client_?(?:cert|key))$/i,
    "certificates are checked as the system does; NODE_EXTRA_CA_CERTS names further ones",
  ],
  [
    /^mcp\.servers\b.*\.codex\b/,
    "its permission sets what runs without a permission prompt, in every runtime",
  ],
  [/^mcp\.sessionIdleTtlMs$/, "a server that runs is shared by all sessions, and ends with the host"],
  [/^acp\b|^agents\b.*\.runtime\b/, "plugins.entries.acp.config.agents names agents of ACP here"],
  [/^browser\b/, "a browser is an MCP server here, under mcp.servers"],
  [/^approvals\b/, "a question is asked in the program that the turn runs in, and in its channel"],
  [/^agents\b.*\.identity\b/, "AGENTS.md of the workspace describes the agent here"],
  [/^(?:meta|wizard|update|diagnostics)\b/, "it is OpenClaw's own bookkeeping"],
  [/(?:^|\.)\$include$/, "included files are not followed; merge them into one file and run this again"],
  [/^plugins\.enabled$/, "plugins are switched off one by one here: pagurus plugins disable <id>"],
  [/^plugins\.installs\b/, "plugins are installed separately: pagurus plugins install <package>"],
  [/\.model\.fallbacks\b/, "fallbacks are a list of model refs or aliases here"],
  [/\.models\b.*\.alias$/, "an alias has no slash here, since it would look like a model ref"],
  [/\.agentDir$/, "conversations are searched in agents/<id> only; copy it there and run this again"],
  [/\.heartbeat\./, "heartbeats have no such setting here"],
  [
    /\.contextPruning\b/,
    "agents.defaults.contextPruning has mode, ttl, tools and hardClear here, for all agents",
  ],
  [
    /\.(?:memorySearch|sandbox)\b/,
    "the engine, the memory and the permissions here have settings of their own",
  ],
  [/\.compaction\.memoryFlush\b/, "nothing is lost by a compaction, so nothing is flushed before one"],
  [/\.compaction\./, "compactions have no such setting here"],
  [/^models\.providers\.[^.[]+$/, "its protocol is not spoken here"],
];

/** Takes known settings under their names here, and drops the rest; the result is a valid configuration. */
export function mapConfig(draft: ConfigDraft): void {
  takeAgentEntries(draft);
  takeLossless(draft);
  takeSlots(draft);
  takePluginLists(draft);
  takeSecrets(draft);
  takeThinking(draft);
  takeMcpServers(draft);
  takeChannels(draft);
  dropTwins(draft);
  dropForeign(draft);
}

/** Newer versions have the agents by id in `agents.entries`, earlier ones in a list as here. An agent of both counts as in the list. */
function takeAgentEntries(draft: ConfigDraft): void {
  const entries = draft.at(["agents", "entries"]);
  if (!isRecord(entries)) return;
  const before = listOf(draft.at(["agents", "list"]));
  const agents = Object.entries(entries).map(([id, agent]) => ({ ...(isRecord(agent) ? agent : {}), id }));
  draft.moved(["agents", "entries"], ["agents", "list"], [...before, ...agents]);
  for (const [index, { id }] of agents.entries())
    draft.cameFrom(["agents", "entries", id], ["agents", "list", before.length + index]);
}

/** Plugins other than lossless-claw are not installed by this. */
function takeSlots(draft: ConfigDraft): void {
  const engine = draft.at(["plugins", "slots", "contextEngine"]);
  if (engine === "none")
    draft.drop(["plugins", "slots", "contextEngine"], "a conversation has an engine here");
  else if (engine !== undefined && engine !== "legacy" && engine !== "lossless")
    draft.drop(
      ["plugins", "slots", "contextEngine"],
      "its engine is a plugin: pagurus plugins install takes it, then name it in the slot",
    );
  const memory = draft.at(["plugins", "slots", "memory"]);
  if (memory !== undefined && memory !== "none" && memory !== "memory-core")
    draft.drop(["plugins", "slots", "memory"], "its memory is a plugin, which is not installed here");
}

function takePluginLists(draft: ConfigDraft): void {
  const paths = draft.at(["plugins", "load", "paths"]);
  if (Array.isArray(paths))
    // Backwards, so that earlier items keep their indexes.
    for (const [at, path] of [...(paths as unknown[]).entries()].toReversed())
      draft.drop(
        ["plugins", "load", "paths", at],
        `a plugin is code: pagurus plugins install -l ${typeof path === "string" ? path : "<path>"} installs it after an inspection`,
      );
  const allowed = draft.at(["plugins", "allow"]);
  if (Array.isArray(allowed) && allowed.length === 0)
    draft.drop(["plugins", "allow"], "an empty list allows every plugin there, and none here");
  for (const key of ["allow", "deny"]) {
    const list = draft.at(["plugins", key]);
    for (const [at, id] of Array.isArray(list) ? [...(list as unknown[]).entries()].toReversed() : [])
      if (id === "lossless-claw")
        // An empty list of allowed plugins still excludes all others.
        draft.drop(["plugins", key, at], "lossless is bundled and always there", {
          keepEmpty: key === "allow",
        });
  }
}

function takeSecrets(draft: ConfigDraft): void {
  for (const id of draft.keys(["models", "providers"])) {
    const path: KeyPath = ["models", "providers", id, "apiKey"];
    const key = draft.at(path);
    if (isRecord(key)) {
      const { source, id: name } = key;
      if (source === "env" && typeof name === "string" && /^[A-Za-z_]\w*$/.test(name))
        draft.set(path, `\${${name}}`, { path: formatKeyPath(path), as: `\${${name}}` });
      else if (!("file" in key))
        draft.drop(path, "it refers to a store of secrets; name the key as ${ENV} or {file: path}");
    }
    const headers: KeyPath = ["models", "providers", id, "headers"];
    for (const name of draft.keys(headers))
      if (isRecord(draft.at([...headers, name])))
        draft.drop([...headers, name], "a header is a text here, with ${ENV} where it is secret");
  }
}

function takeThinking(draft: ConfigDraft): void {
  const list = draft.at(["agents", "list"]);
  const places: KeyPath[] = Array.isArray(list) ? list.map((_, index) => ["agents", "list", index]) : [];
  for (const place of [["agents", "defaults"], ...places]) {
    const path = [...place, "thinkingDefault"];
    const level = draft.at(path);
    if (level === undefined || draft.at([...place, "thinking"]) !== undefined) continue;
    const ours = typeof level === "string" && Object.hasOwn(THINKING, level) ? THINKING[level] : undefined;
    if (ours !== undefined) draft.rename(path, "thinking", ours);
  }
}

/** Of agents with the same id the first counts. */
function dropTwins(draft: ConfigDraft): void {
  const list = draft.at(["agents", "list"]);
  const ids = (Array.isArray(list) ? (list as unknown[]) : []).map((agent) => {
    const id = isRecord(agent) ? agent["id"] : undefined;
    return typeof id === "string" ? id.toLowerCase() : undefined;
  });
  for (const [at, id] of [...ids.entries()].toReversed())
    if (id !== undefined && ids.indexOf(id) < at)
      draft.drop(["agents", "list", at], "an earlier agent has the same id");
}

/** More steps than any file needs. */
const MOST_STEPS = 10_000;

/** Drops what the schema does not know or accept, one part at a time. */
function dropForeign(draft: ConfigDraft): void {
  const schema = configSchema();
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const [first, ...more] = schema.safeParse(draft.value, { reportInput: false }).error?.issues ?? [];
    if (!first) return;
    const issue = more.reduce((last, each) => (isAfter(each.path, last.path) ? each : last), first);
    const path = issue.path.filter((key) => typeof key !== "symbol");
    if (issue.code === "unrecognized_keys") {
      let dropped = false;
      for (const key of issue.keys) dropped = leave(draft, [...path, key], undefined) || dropped;
      if (!dropped) return;
    } else if (!leave(draft, foreignPart(draft, path), "its value is not valid here")) return;
  }
}

/** Whether a list item comes after another: the last is dropped first, so that earlier ones keep their indexes. */
function isAfter(path: readonly PropertyKey[], other: readonly PropertyKey[]): boolean {
  const at = path.findIndex((key, depth) => key !== other[depth]);
  const [mine, theirs] = [path[at], other[at]];
  return typeof mine === "number" && typeof theirs === "number" && mine > theirs;
}

/** The part to drop with a value: a provider without its protocol is unusable. */
function foreignPart(draft: ConfigDraft, path: KeyPath): KeyPath {
  if (path[0] === "models" && path[3] === "api") return path.slice(0, 3);
  // A list entry without its identifying key.
  if (path.at(-1) === "id" && typeof path.at(-2) === "number") return path.slice(0, -1);
  for (let part = path; part.length > 0; part = part.slice(0, -1)) {
    const deepest = deepestUnion(draft, part);
    if (deepest) return deepest;
    if (draft.at(part) !== undefined) return part;
  }
  return path;
}

/** A model is a text or an object: only the object's foreign keys have to go, and fallbacks that are not valid. */
function deepestUnion(draft: ConfigDraft, path: KeyPath): KeyPath | undefined {
  if (path.at(-1) !== "model") return undefined;
  const value = draft.at(path);
  if (!isRecord(value) || typeof value["primary"] !== "string" || value["primary"] === "") return undefined;
  const other = Object.keys(value).find((key) => key !== "primary" && key !== "fallbacks");
  if (other !== undefined) return [...path, other];
  const { fallbacks } = value;
  if (fallbacks === undefined) return undefined;
  const at = Array.isArray(fallbacks) ? fallbacks.findLastIndex((each) => !isSafeName(each)) : -1;
  return at < 0 ? [...path, "fallbacks"] : [...path, "fallbacks", at];
}

function isSafeName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function leave(draft: ConfigDraft, path: KeyPath, why: string | undefined): boolean {
  if (path.length === 0) return false;
  const text = formatKeyPath(path);
  const known = REASONS.find(([pattern]) => pattern.test(text))?.[1];
  return draft.drop(path, known ?? why ?? "it has no counterpart here");
}
