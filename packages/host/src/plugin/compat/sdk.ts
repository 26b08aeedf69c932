/**
 * The module of `openclaw/plugin-sdk/*` in this host (`imports.ts`): the helpers that context engines import, by their
 * OpenClaw names. A missing name is not faked: importing it fails with an error.
 */
import { PagurusError } from "@pagurus/contract/errors";
import { isRecord } from "@pagurus/core/data/record-fields";
import { maskKeyShapes } from "@pagurus/core/data/secret-mask";
import { buildMemorySystemPromptAddition, type MemoryPromptParams } from "../engine-frame.ts";
import { visibleMessages, type TranscriptTarget, type VisibleMessageEntry } from "./transcripts.ts";

export {
  buildActiveMemoryPromptSection,
  buildMemorySystemPromptAddition,
  delegateCompactionToRuntime,
} from "../engine-frame.ts";
export { jsonResult, readNumberParam, readStringParam } from "./tool-params.ts";

/** As `buildMemorySystemPromptAddition`; the host has queried the memory before it calls an engine. */
export async function prepareMemorySystemPromptAddition(
  params: MemoryPromptParams = {},
): Promise<string | undefined> {
  return buildMemorySystemPromptAddition(params);
}

/** A plugin's entry, unchanged; the loader calls its `register`. */
export function definePluginEntry<T extends { register: unknown }>(entry: T): T {
  return entry;
}

/** Holds `api.runtime` between a plugin's registration and its other code. */
export function createPluginRuntimeStore(message?: unknown): Record<string, (runtime?: unknown) => unknown> {
  let kept: unknown;
  const text = typeof message === "string" ? message : "The plugin's runtime is not set; register it first.";
  return {
    setRuntime: (runtime) => void (kept = runtime),
    clearRuntime: () => void (kept = undefined),
    tryGetRuntime: () => kept ?? null,
    getRuntime: () => {
      if (kept === undefined) throw new PagurusError("plugin_failed", text);
      return kept;
    },
  };
}

/** One value per process, created at the first call. */
export function resolveGlobalSingleton<T>(key: symbol, make: () => T): T {
  const holder = globalThis as Record<symbol, unknown>;
  return (holder[key] ??= make()) as T;
}

interface ChannelEntry {
  id: string;
  plugin?: unknown;
  registerFull?: (api: unknown) => unknown;
}

interface ChannelApi {
  registerChannel(registration: { plugin: unknown }): void;
}

/** The entry of a channel plugin: registers the channel, and anything else it has. */
export function defineChannelPluginEntry(entry: ChannelEntry): ChannelEntry & { register: unknown } {
  const register = async (api: ChannelApi): Promise<void> => {
    api.registerChannel({ plugin: entry.plugin ?? { id: entry.id } });
    await entry.registerFull?.(api);
  };
  return { ...entry, register };
}

/** The same for OpenClaw's own channels, whose code is in a file; not loaded, since there are no channels here. */
export function defineBundledChannelEntry({ id }: ChannelEntry): { id: string; register: unknown } {
  return { id, register: (api: ChannelApi) => api.registerChannel({ plugin: { id } }) };
}

interface Parsed {
  success: boolean;
  data?: unknown;
  error?: { issues: { path: string[]; message: string }[] };
}

interface EmptySchema {
  jsonSchema: { type: "object"; additionalProperties: false; properties: Record<string, never> };
  safeParse(value: unknown): Parsed;
  /** Throws `config_invalid`. */
  parse(value: unknown): unknown;
}

/** A schema of an empty configuration. */
export function emptyPluginConfigSchema(): EmptySchema {
  const message = "The plugin has no settings; remove its config.";
  const safeParse = (value: unknown): Parsed => {
    const isEmpty = value === undefined || (isRecord(value) && Object.keys(value).length === 0);
    return isEmpty
      ? { success: true, data: value }
      : { success: false, error: { issues: [{ path: [], message }] } };
  };
  return {
    jsonSchema: { type: "object", additionalProperties: false, properties: {} },
    safeParse,
    parse: (value) => {
      if (safeParse(value).success) return value;
      throw new PagurusError("config_invalid", message);
    },
  };
}

const AGENT_KEY = /^agent:([^:]+):/;

/** The first default agent of `agents.list` in a configuration; otherwise `main`. */
export function resolveDefaultAgentId(config?: unknown): string {
  const list = (config as { agents?: { list?: { id?: unknown; default?: unknown }[] } } | undefined)?.agents
    ?.list;
  const chosen = Array.isArray(list) ? (list.find((agent) => agent.default === true) ?? list[0]) : undefined;
  return typeof chosen?.id === "string" ? chosen.id : "main";
}

interface AgentQuestion {
  sessionKey?: string | undefined;
  config?: unknown;
  /** Named by the caller. */
  agentId?: string | undefined;
  fallbackAgentId?: string | undefined;
}

/** The agent that is named, that of the session key (`agent:<id>:…`), the fallback, or the default one. */
export function resolveSessionAgentId({ sessionKey = "", ...params }: AgentQuestion = {}): string {
  const { agentId, fallbackAgentId, config } = params;
  const ofKey = AGENT_KEY.exec(sessionKey)?.[1];
  return agentId ?? ofKey ?? fallbackAgentId ?? resolveDefaultAgentId(config);
}

/** Masks what looks like a key, token or password. */
export function redactSensitiveText(text: string): string {
  return maskKeyShapes(String(text));
}

/** The messages of a session's active path, oldest first. Throws `session_not_found`. */
export async function readVisibleSessionTranscriptMessageEntries(
  target: TranscriptTarget,
): Promise<VisibleMessageEntry[]> {
  const found = await visibleMessages(target);
  if (found) return found;
  throw new PagurusError(
    "session_not_found",
    `No session ${JSON.stringify(target.sessionId ?? target.sessionKey ?? "")} is open in this host to read; pass the sessionTarget that the engine received.`,
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
 * One page of the messages of a session's active path after a cursor; `reset` where the cursor's message is no longer on the
 * path. A page has at least one message if there is one.
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
