/**
 * A session as the engine has it in memory: its epoch and the messages behind the head. It follows the transcript:
 * what is new is taken in, a path that changed is read anew. Nothing here costs more than what a context holds.
 */
import { trimToolResult } from "../../compaction/trim.ts";
import type { AgentMessage, ToolCallPart } from "../../contract/message.ts";
import type { RuntimeContext } from "../../contract/runtime-context.ts";
import type { TranscriptCursor, TranscriptEntry } from "../../contract/transcript.ts";
import { messageTokens } from "../../tokens/messages.ts";
import { callKey, epochOf, type Epoch } from "./epoch.ts";
import type { LosslessStore } from "./store/store.ts";
import type { StoredEntry } from "./store/types.ts";

/** A message behind the head, in the order of the path. */
export interface Item {
  entryId: string;
  /** Entry at whose place it stands: its own, but for a message that supersedes another one. */
  placeId: string;
  message: AgentMessage;
  /** Uncorrected estimate of what is sent. */
  tokens: number;
  /** Of an entry that is no user's, such as a notice: shown, never summarized. */
  isFragment: boolean;
  turnId?: string;
  /** As it was before a stub of the epoch took its words' place. */
  whole?: Item;
}

/** The item with its own words. */
export function original(item: Item): Item {
  return item.whole ? { ...item.whole, placeId: item.placeId } : item;
}

/** New entries up to which they are taken in at once; more go the way of an adoption. */
const MOST_AT_ONCE = 512;
/** A tool's result is sent with at most so many characters; `agents.defaults.toolResultMaxChars`. */
const TOOL_RESULT_CHARS = 48_000;

const sentSizes = new WeakMap<AgentMessage, { maxChars: number; tokens: number }>();

/** Estimated tokens of a message as it is sent, tool results of more than `maxChars` characters trimmed. */
export function sentTokens(message: AgentMessage, maxChars = TOOL_RESULT_CHARS): number {
  if (message.role !== "toolResult") return messageTokens(message);
  const known = sentSizes.get(message);
  if (known?.maxChars === maxChars) return known.tokens;
  const tokens = messageTokens(trimToolResult(message, maxChars).message);
  sentSizes.set(message, { maxChars, tokens });
  return tokens;
}

/** The host's limit, as its configuration and the model's window give it. Characters. */
export function resultChars({
  config,
  contextWindow,
}: Pick<RuntimeContext, "config" | "contextWindow">): number {
  const { agents } = (config ?? {}) as { agents?: { defaults?: { toolResultMaxChars?: unknown } } };
  const chars = agents?.defaults?.toolResultMaxChars ?? TOOL_RESULT_CHARS;
  if (typeof chars !== "number") return TOOL_RESULT_CHARS;
  return chars === TOOL_RESULT_CHARS ? Math.min(chars, contextWindow) : chars;
}

interface SyncOptions {
  sessionKey?: string | undefined;
  signal?: AbortSignal | undefined;
}
interface Synced {
  /** Entries that are new in the store. */
  stored: number;
  /** A compaction may be among them. */
  compacted: boolean;
}

/** What a view showed at one moment. */
export type ViewState = Readonly<Pick<SessionView, "sessionId" | "epoch" | "version" | "items" | "complete">>;

export class SessionView {
  readonly sessionId: string;
  readonly #store: LosslessStore;
  epoch: Epoch | undefined;
  /** Of the frontier that `epoch` was read from. */
  version = 0;
  /** Oldest first. */
  items: Item[] = [];
  /** False when messages lie before the items for which no summary stands. */
  complete = true;
  /** Characters that a tool's result is sent with at most. */
  #maxChars = TOOL_RESULT_CHARS;
  /** Set when the epoch's first kept entry is not on the path any more. */
  broken: Epoch | undefined;
  #leafId: string | null | undefined;
  #syncing: Promise<unknown> = Promise.resolve();
  #ids = new Map<string, number>();
  /** Most tokens that are read where there is no epoch. */
  readonly #readTokens: number;

  constructor(store: LosslessStore, sessionId: string, readTokens: number) {
    this.#store = store;
    this.sessionId = sessionId;
    this.#readTokens = readTokens;
  }

  get maxChars(): number {
    return this.#maxChars;
  }

  /** Another model or configuration trims otherwise: what is held is counted anew. */
  trimAt(maxChars: number): void {
    if (maxChars === this.#maxChars) return;
    this.#maxChars = maxChars;
    this.items = this.items.map((item) => ({ ...item, tokens: sentTokens(item.message, maxChars) }));
  }

  /** What is shown now; later entries do not change it. */
  state(): ViewState {
    const { sessionId, epoch, version, complete } = this;
    return { sessionId, epoch, version, complete, items: [...this.items] };
  }

  has(entryId: string): boolean {
    return this.#ids.has(entryId);
  }

  indexOf(entryId: string): number {
    return this.#ids.get(entryId) ?? -1;
  }

  /** Takes in what the transcript's path has and the store has not; one call after the other. */
  sync(cursor: TranscriptCursor, options: SyncOptions = {}): Promise<Synced> {
    const mine = this.#syncing.then(() => this.#sync(cursor, options));
    this.#syncing = mine.catch(() => undefined);
    return mine;
  }

  async #sync(cursor: TranscriptCursor, options: SyncOptions): Promise<Synced> {
    const store = this.#store;
    const { sessionKey, signal } = options;
    const known = store.session(this.sessionId);
    if (!known || (sessionKey !== undefined && known.sessionKey !== sessionKey))
      store.openSession(this.sessionId, sessionKey === undefined ? {} : { sessionKey });
    const leafId = known?.leafId ?? null;
    const fresh = known?.adopted === false && leafId !== null ? undefined : await newEntries(cursor, leafId);
    if (!fresh) {
      const result = await store.adopt(this.sessionId, cursor, {
        ...(sessionKey === undefined ? {} : { sessionKey }),
        ...(signal ? { signal } : {}),
      });
      this.load();
      return { stored: result.stored, compacted: true };
    }
    const taken = fresh.length > 0 ? store.ingestTurn(this.sessionId, fresh) : undefined;
    if (this.#leafId !== leafId || fresh.some(changesPath)) this.load();
    else if (taken) {
      this.#push(fresh);
      this.#leafId = taken.leafId;
    }
    return { stored: taken?.stored ?? 0, compacted: fresh.some(({ type }) => type === "compaction") };
  }

  /** Reads epoch and items anew. */
  load(): void {
    const store = this.#store;
    const session = store.session(this.sessionId);
    this.#leafId = session?.leafId;
    this.items = [];
    this.#ids = new Map();
    this.complete = true;
    this.broken = undefined;
    if (!session) return;
    const frontier = store.frontier(this.sessionId);
    this.version = frontier.version;
    this.epoch = epochOf(frontier);
    const { leafId } = session;
    if (this.epoch && !store.locate(this.sessionId, this.epoch.firstKeptEntryId)?.onPath) {
      this.broken = this.epoch;
      this.epoch = undefined;
    }
    if (leafId === null) return;
    for (const entry of this.#read(leafId)) this.#add(itemOf(entry, this.#maxChars), entry.supersedes);
  }

  #read(leafId: string): StoredEntry[] {
    const store = this.#store;
    const kinds = ["message", "custom_message"] as const;
    if (!this.epoch) {
      const walk = store.walkBack(this.sessionId, { kinds, maxTokens: this.#readTokens });
      this.complete = walk.complete;
      return walk.items;
    }
    const entries: StoredEntry[] = [];
    let after: string | undefined;
    do {
      const page = store.range(this.sessionId, this.epoch.firstKeptEntryId, leafId, {
        kinds,
        limit: 1_000,
        ...(after === undefined ? {} : { after }),
      });
      entries.push(...page.items);
      after = page.next;
    } while (after !== undefined);
    return entries;
  }

  #push(entries: readonly TranscriptEntry[]): void {
    for (const entry of entries) {
      const message = messageOf(entry);
      if (!message) continue;
      const item: Item = {
        entryId: entry.id,
        placeId: entry.id,
        message,
        tokens: sentTokens(message, this.#maxChars),
        isFragment: entry.type !== "message",
        ...(entry.turnId === undefined ? {} : { turnId: entry.turnId }),
      };
      this.#add(item);
    }
  }

  /** What stands for a message's words, while what made them worthless is on the path. */
  #stubText(key: string): string | undefined {
    const stub = this.epoch?.stubs[key];
    return stub && this.#store.locate(this.sessionId, stub.by)?.onPath === true ? stub.text : undefined;
  }

  /** A rewritten message stands at the place of the one that it supersedes. */
  #add(item: Item | undefined, supersedes?: string): void {
    if (!item || this.#ids.has(item.entryId)) return;
    const shown = stubbed(item, (key) => this.#stubText(key));
    const place = supersedes === undefined ? undefined : this.#ids.get(supersedes);
    if (place !== undefined) {
      this.items[place] = { ...shown, placeId: this.items[place]?.placeId ?? shown.placeId };
      this.#ids.set(item.entryId, place);
      return;
    }
    if (supersedes !== undefined && this.#store.locate(this.sessionId, supersedes)?.onPath) return;
    this.#ids.set(item.entryId, this.items.length);
    this.items.push(shown);
  }
}

/** Entries that are not simply added at the end. */
function changesPath(entry: TranscriptEntry): boolean {
  return entry.type === "rewind" || (entry.type === "message" && entry.supersedes !== undefined);
}

/** Entries behind the leaf, oldest first; undefined when the path does not come from it, or is long. */
async function newEntries(
  cursor: TranscriptCursor,
  leafId: string | null,
): Promise<TranscriptEntry[] | undefined> {
  const entries: TranscriptEntry[] = [];
  for await (const entry of cursor.backward()) {
    if (entry.id === leafId) return entries.reverse();
    if (entries.length >= MOST_AT_ONCE) return undefined;
    entries.push(entry);
  }
  return leafId === null ? entries.reverse() : undefined;
}

function messageOf(entry: TranscriptEntry): AgentMessage | undefined {
  if (entry.type === "message") return { ...entry.message, entryId: entry.id };
  if (entry.type !== "custom_message") return undefined;
  return {
    role: "user",
    content: entry.content,
    timestamp: Date.parse(entry.timestamp) || 0,
    entryId: entry.id,
  };
}

function itemOf(stored: StoredEntry, maxChars: number): Item | undefined {
  const { entryId, turnId, kind } = stored;
  const message = stored.message ? { ...stored.message, entryId } : stored.entry && messageOf(stored.entry);
  if (!message) return undefined;
  const isFragment = kind !== "message";
  return {
    entryId,
    placeId: entryId,
    message,
    tokens: sentTokens(message, maxChars),
    isFragment,
    ...(turnId === undefined ? {} : { turnId }),
  };
}

/** Arguments up to this length stay as they are: what a call was about. Characters. */
const KEPT_ARGUMENT = 200;

function shortCall(call: ToolCallPart, text: string): ToolCallPart {
  const values = Object.entries(call.arguments).map(([name, value]) => [
    name,
    typeof value === "string" && value.length > KEPT_ARGUMENT ? text : value,
  ]);
  return { ...call, arguments: Object.fromEntries(values) as ToolCallPart["arguments"] };
}

/** The item with short texts in the place of a result's words or of a call's long arguments; names and ids stay. */
export function stubbed(item: Item, textFor: (key: string) => string | undefined): Item {
  const { message, entryId } = item;
  if (message.role === "toolResult") {
    const text = textFor(entryId);
    if (text === undefined) return item;
    const short: AgentMessage = { ...message, content: [{ type: "text", text }] };
    return { ...item, message: short, tokens: sentTokens(short), whole: item };
  }
  if (message.role !== "assistant") return item;
  let changed = false;
  const content = message.content.map((part) => {
    const text = part.type === "toolCall" ? textFor(callKey(entryId, part.id)) : undefined;
    if (part.type !== "toolCall" || text === undefined) return part;
    changed = true;
    return shortCall(part, text);
  });
  if (!changed) return item;
  const short: AgentMessage = { ...message, content };
  return { ...item, message: short, tokens: sentTokens(short), whole: item };
}
