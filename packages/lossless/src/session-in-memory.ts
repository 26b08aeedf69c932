/**
 * In-memory view of a session: its epoch and the messages after the head. It follows the transcript: new entries are
 * added, and a changed path is loaded again. Costs are in proportion to a context, not to the session.
 */
import { trimToolResult } from "@pagurus/core/compaction/trim";
import type { AgentMessage, ToolCallPart } from "@pagurus/contract/message";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { isOfLog } from "./log/log-entry.ts";
import { callKey, epochOf, isTalk, type Epoch } from "./epoch.ts";
import type { LosslessStore } from "./store/lossless-store.ts";
import { isRecall } from "./store/search/recall-names.ts";
import type { StoredEntry } from "./store/store-types.ts";
import { defined } from "@pagurus/core/data/defined";

/** A message after the head, in the order of the path. */
export interface Item {
  entryId: string;
  /** Entry whose place it has: its own, or the one that it supersedes. */
  placeId: string;
  message: AgentMessage;
  /** Uncorrected estimate of the message as sent. */
  tokens: number;
  /** The message is not a user's, such as a notice: shown, never summarized. */
  isFragment: boolean;
  turnId?: string;
  /** The item before a stub of the epoch replaced its text. */
  whole?: Item;
}

/** The item with its original text. */
export function original(item: Item): Item {
  return item.whole ? { ...item.whole, placeId: item.placeId } : item;
}

/** Limit on new entries that are added directly; more are adopted by the worker. */
const MOST_AT_ONCE = 512;
/** Default limit on a tool result as sent, characters; `agents.defaults.toolResultMaxChars`. */
const TOOL_RESULT_CHARS = 48_000;

const sentSizes = new WeakMap<AgentMessage, { maxChars: number; tokens: number }>();

/** Estimated tokens of a message as sent, with tool results trimmed to `maxChars` characters. */
export function sentTokens(message: AgentMessage, maxChars = TOOL_RESULT_CHARS): number {
  if (message.role !== "toolResult") return messageTokens(message);
  const known = sentSizes.get(message);
  if (known?.maxChars === maxChars) return known.tokens;
  const tokens = messageTokens(trimToolResult(message, maxChars).message);
  sentSizes.set(message, { maxChars, tokens });
  return tokens;
}

/** The host's limit, from its configuration and the model's window. Characters. */
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
  /** Called instead of a long adoption; true when the view shows the path's end without it. */
  onLong?: (() => Promise<boolean>) | undefined;
}
interface Synced {
  /** Number of entries added to the store. */
  stored: number;
  /** True when a compaction may be among them. */
  compacted: boolean;
  /** True when an entry of the session's log may be among them. */
  logged: boolean;
}

/** Snapshot of a view. */
export type ViewState = Readonly<Pick<SessionView, "sessionId" | "epoch" | "version" | "items" | "complete">>;

/** True for a message without a call or a result of a tool, but for a look at the conversation itself. */
function isWords(message: AgentMessage): boolean {
  if (message.role === "toolResult") return isRecall(message.toolName);
  const { content } = message;
  return (
    typeof content === "string" || content.every((part) => part.type !== "toolCall" || isRecall(part.name))
  );
}

export class SessionView {
  readonly sessionId: string;
  readonly #store: LosslessStore;
  epoch: Epoch | undefined;
  /** Version of the frontier that `epoch` was read from. */
  version = 0;
  /** Oldest first. */
  items: Item[] = [];
  /** False when messages before the items are covered by no summary. */
  complete = true;
  /** Limit on a tool result as sent, characters. */
  maxChars = TOOL_RESULT_CHARS;
  /** Set when the epoch's first kept entry is no longer on the path. */
  broken: Epoch | undefined;
  /** Input of the turn that the epoch splits, where the store does not have it yet. */
  input: AgentMessage | undefined;
  /** Entries of a path's end that the store does not have yet. */
  #tail: ReadonlySet<string> | undefined;
  #leafId: string | null | undefined;
  #syncing: Promise<unknown> = Promise.resolve();
  #ids = new Map<string, number>();
  /** Limit on the tokens read without an epoch. */
  readonly #readTokens: number;

  constructor(store: LosslessStore, sessionId: string, readTokens: number) {
    this.#store = store;
    this.sessionId = sessionId;
    this.#readTokens = readTokens;
  }

  /** Whether people only talk, as far as the summary and the items show. */
  get isTalk(): boolean {
    return (!this.epoch || isTalk(this.epoch.facts)) && this.items.every(({ message }) => isWords(message));
  }

  /** Sets the trim limit of another model or configuration, and counts the items again. */
  trimAt(maxChars: number): void {
    if (maxChars === this.maxChars) return;
    this.maxChars = maxChars;
    this.items = this.items.map((item) => ({ ...item, tokens: sentTokens(item.message, maxChars) }));
  }

  /** Snapshot of the current content; later entries do not change it. */
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

  /** Adds the entries of the transcript's path that the store lacks; calls run one after the other. */
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
    const isPartial = known?.adopted === false && leafId !== null;
    const fresh = isPartial ? undefined : await newEntries(cursor, leafId);
    // An adoption that runs moves the leaf: nothing is stored beside it.
    if (!fresh || store.adopting.includes(this.sessionId)) {
      if (await options.onLong?.()) return { stored: 0, compacted: false, logged: false };
      const result = await store.adopt(this.sessionId, cursor, defined({ sessionKey, signal }));
      this.load();
      return { stored: result.stored, compacted: true, logged: true };
    }
    const taken = fresh.length > 0 ? store.ingestTurn(this.sessionId, fresh) : undefined;
    if (this.#leafId !== leafId || fresh.some(changesPath)) this.load();
    else if (taken) {
      this.#push(fresh);
      this.#leafId = taken.leafId;
    }
    const logged = fresh.some(isOfLog);
    const compacted = logged && fresh.some(({ type }) => type === "compaction");
    return { stored: taken?.stored ?? 0, compacted, logged };
  }

  /** Shows the end of a path that the store does not have yet. */
  showTail(tail: {
    epoch: Epoch;
    /** From the first kept entry on, oldest first. */
    entries: readonly TranscriptEntry[];
    /** Input of the turn that the epoch splits. */
    input: AgentMessage | undefined;
  }): void {
    const { epoch, entries, input } = tail;
    this.#leafId = undefined;
    this.items = [];
    this.#ids = new Map();
    this.complete = true;
    this.broken = undefined;
    this.version = 0;
    this.epoch = epoch;
    this.input = input;
    this.#tail = new Set(entries.map(({ id }) => id));
    this.#push(entries);
  }

  /** Loads epoch and items again. After a failure the view is empty, so that no partial history is used. */
  load(): void {
    try {
      this.#load();
    } catch (error) {
      this.#leafId = undefined;
      throw error;
    }
  }

  #load(): void {
    const store = this.#store;
    const session = store.session(this.sessionId);
    this.#leafId = session?.leafId;
    this.items = [];
    this.#ids = new Map();
    this.complete = true;
    this.broken = undefined;
    this.input = undefined;
    this.#tail = undefined;
    if (!session) return;
    const frontier = store.frontier(this.sessionId);
    this.version = frontier.version;
    this.epoch = epochOf(frontier);
    const { leafId } = session;
    if (this.epoch && !store.locate(this.sessionId, this.epoch.firstKeptEntryId)?.onPath) {
      store.assertMissing(this.epoch.firstKeptEntryId);
      this.broken = this.epoch;
      this.epoch = undefined;
    }
    if (leafId === null) return;
    for (const entry of this.#read(leafId)) this.#add(itemOfEntry(entry, this.maxChars), entry.supersedes);
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
        ...defined({ after }),
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
        tokens: sentTokens(message, this.maxChars),
        isFragment: entry.type !== "message",
        ...defined({ turnId: entry.turnId }),
      };
      this.#add(item);
    }
  }

  /** Stub for a message's text, as long as the entry that made the text obsolete is on the path. */
  #stubText(key: string): string | undefined {
    const stub = this.epoch?.stubs[key];
    if (!stub) return undefined;
    const isOnPath = this.#tail?.has(stub.by) ?? this.#store.locate(this.sessionId, stub.by)?.onPath === true;
    return isOnPath ? stub.text : undefined;
  }

  /** Adds an item; a rewritten message takes the place of the one that it supersedes. */
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

/** True for entries that are not simply appended. */
function changesPath(entry: TranscriptEntry): boolean {
  return entry.type === "rewind" || (entry.type === "message" && entry.supersedes !== undefined);
}

/** Entries after the leaf, oldest first; undefined when the path does not continue from it, or is long. */
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

function itemOfEntry(stored: StoredEntry, maxChars: number): Item | undefined {
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
    ...defined({ turnId }),
  };
}

/** Arguments up to this length are kept, since they show what a call was about. Characters. */
const KEPT_ARGUMENT = 200;

function shortCall(call: ToolCallPart, text: string): ToolCallPart {
  const values = Object.entries(call.arguments).map(([name, value]) => [
    name,
    typeof value === "string" && value.length > KEPT_ARGUMENT ? text : value,
  ]);
  return { ...call, arguments: Object.fromEntries(values) as ToolCallPart["arguments"] };
}

/** The item with stubs in place of a result's text or of a call's long arguments; names and ids stay. */
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
