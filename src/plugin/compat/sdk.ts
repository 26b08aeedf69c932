/**
 * What `openclaw/plugin-sdk/*` holds in this host (`imports.ts`): the helpers that context engines import, by their
 * OpenClaw names. A name that is not here is not pretended to exist: importing it fails and says so.
 */
import { PagurusError } from "../../contract/errors.ts";
import { buildMemorySystemPromptAddition, type MemoryPromptParams } from "../engine-frame.ts";
import { visibleMessages, type TranscriptTarget, type VisibleMessageEntry } from "./transcripts.ts";

export {
  buildActiveMemoryPromptSection,
  buildMemorySystemPromptAddition,
  delegateCompactionToRuntime,
} from "../engine-frame.ts";
export { jsonResult, readNumberParam, readStringParam } from "./tool-params.ts";

/** As `buildMemorySystemPromptAddition`; the host has asked the memory before it calls an engine. */
export async function prepareMemorySystemPromptAddition(
  params: MemoryPromptParams = {},
): Promise<string | undefined> {
  return buildMemorySystemPromptAddition(params);
}

/** A plugin's entry as it is; the loader calls its `register`. */
export function definePluginEntry<T extends { register: unknown }>(entry: T): T {
  return entry;
}

/** A schema that takes no configuration. */
export function emptyPluginConfigSchema(): Record<string, unknown> {
  return { type: "object", additionalProperties: false, properties: {} };
}

const AGENT_KEY = /^agent:([^:]+):/;

/** The agent that `agents.list` of a configuration names first as default; `main` otherwise. */
export function resolveDefaultAgentId(config?: unknown): string {
  const list = (config as { agents?: { list?: { id?: unknown; default?: unknown }[] } } | undefined)?.agents
    ?.list;
  const chosen = Array.isArray(list) ? (list.find((agent) => agent.default === true) ?? list[0]) : undefined;
  return typeof chosen?.id === "string" ? chosen.id : "main";
}

/** The agent that a session key names (`agent:<id>:…`), else the default one. */
export function resolveSessionAgentId(params: { sessionKey?: string; config?: unknown } = {}): string {
  return AGENT_KEY.exec(params.sessionKey ?? "")?.[1] ?? resolveDefaultAgentId(params.config);
}

/** Keys, tokens and passwords as they stand in logs; what follows them stays. */
const SECRETS = [
  /\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][\w*-]{8,}/g,
  /\bAIza[\w-]{20,}/g,
  /(?<=\bBearer\s)[\w.~+/=-]{8,}/gi,
  /(?<=\b(?:api[_-]?key|token|secret|password)["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi,
];

/** A text without what looks like a key, token or password. */
export function redactSensitiveText(text: string): string {
  return SECRETS.reduce((clean, shape) => clean.replace(shape, "[secret]"), String(text));
}

/** The messages of a session's active path, oldest first. Throws `session_not_found`. */
export async function readVisibleSessionTranscriptMessageEntries(
  target: TranscriptTarget,
): Promise<VisibleMessageEntry[]> {
  const found = await visibleMessages(target);
  if (found) return found;
  throw new PagurusError(
    "session_not_found",
    `No session ${JSON.stringify(target.sessionId ?? target.sessionKey ?? "")} is open in this host to read; pass the sessionTarget that the engine was given.`,
  );
}

export type VisibleMessageDelta =
  | {
      kind: "page";
      /** Pass it to the next call. */
      cursor: string;
      entries: VisibleMessageEntry[];
      hasMore: boolean;
      /** Bytes of the entries as JSON lines. */
      serializedBytes: number;
    }
  | { kind: "reset"; cursor: string; reason: "anchor_missing" }
  | { kind: "missing" };

const PAGE_MESSAGES = 200;
const PAGE_BYTES = 1 << 20;

/**
 * The messages of a session's active path after a cursor, a page at a time; `reset` where the cursor's message is no
 * longer on the path. A page holds at least one message where there is one.
 */
export async function readSessionTranscriptVisibleMessageDelta(
  params: TranscriptTarget & { cursor?: string; maxMessages?: number; maxBytes?: number },
): Promise<VisibleMessageDelta> {
  const { cursor = "", maxMessages = PAGE_MESSAGES, maxBytes = PAGE_BYTES, ...target } = params;
  const all = await visibleMessages(target);
  if (!all) return { kind: "missing" };
  const from = cursor === "" ? 0 : all.findIndex(({ entryId }) => entryId === cursor) + 1;
  if (cursor !== "" && from === 0) return { kind: "reset", cursor: "", reason: "anchor_missing" };
  const entries: VisibleMessageEntry[] = [];
  let serializedBytes = 0;
  for (const entry of all.slice(from, from + Math.max(1, maxMessages))) {
    const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (entries.length > 0 && serializedBytes + bytes > maxBytes) break;
    entries.push(entry);
    serializedBytes += bytes;
  }
  return {
    kind: "page",
    cursor: entries.at(-1)?.entryId ?? cursor,
    entries,
    hasMore: from + entries.length < all.length,
    serializedBytes,
  };
}
