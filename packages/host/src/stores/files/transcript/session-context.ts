/**
 * The end of the active path as messages. The window is read once from the file's tail and then grows with what the writer appends; the
 * message objects stay the same, so that values cached for one (its tokens) stay valid.
 */
import { REWOUND_ENTRY } from "@pagurus/contract/host/checkpoints";
import type { AgentMessage } from "@pagurus/contract/message";
import { FRAGMENT_ENTRY, FRAGMENT_SET_ENTRY } from "@pagurus/contract/fragment";
import type { ContextNote, ContextSlice } from "@pagurus/contract/session/writer";
import { renderSummary } from "@pagurus/contract/engine/summary";
import type { CompactionEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { LONG_BYTES, Pace } from "@pagurus/core/platform/pace";
import { clip } from "./transcript-tree.ts";
import type { Place, PlacedEntry, SessionView } from "./session-view.ts";

/** Bytes of lines that a window may hold beyond the requested ones before its old end is dropped. */
const SLACK_BYTES = 8 * 1024 * 1024;
/** Of a window with this many times the requested bytes the old end is dropped: a read that was too small asks for four times as many. */
const KEPT = 8;

/** The message object of each entry, one per process while it is in use. */
export class MessageCache {
  readonly #messages = new Map<string, WeakRef<AgentMessage>>();
  #sweepAt = 4096;

  of(entryId: string, make: () => AgentMessage): AgentMessage {
    const known = this.#messages.get(entryId)?.deref();
    if (known) return known;
    const message = make();
    this.#messages.set(entryId, new WeakRef(message));
    if (this.#messages.size > this.#sweepAt) this.#sweep();
    return message;
  }

  #sweep(): void {
    for (const [id, reference] of this.#messages) if (!reference.deref()) this.#messages.delete(id);
    this.#sweepAt = Math.max(4096, this.#messages.size * 2);
  }
}

interface Item {
  id: string;
  offset: number;
  length: number;
  turnId: string | undefined;
  message: AgentMessage | undefined;
  note: Pick<ContextNote, "customType" | "data"> | undefined;
  supersedes: string | undefined;
  /** True when it replaces another entry at that entry's place; looked up once. */
  moved: boolean | undefined;
}

/** Messages before the kept ones, from the last compaction. */
interface Head {
  summary: AgentMessage;
  input: AgentMessage | undefined;
  /** Turn id of the input. */
  turnId: string | undefined;
}

export class ContextWindow {
  readonly #view: SessionView;
  readonly #cache: MessageCache;
  #items: Item[] | undefined;
  #head: Head | undefined;
  /** True when `items` reach back to the first kept message, or to the root. */
  #whole = false;
  #bytes = 0;
  /** Offset of the first line that `items` reach back to, and of the first that a context may have. */
  #reached = 0;
  #floor = 0;
  /** Changes when the window is dropped or grows. */
  #version = 0;

  constructor(view: SessionView, cache: MessageCache) {
    this.#view = view;
    this.#cache = cache;
  }

  /** Appends an entry that became the leaf. */
  push(entry: TranscriptEntry, length: number): void {
    this.#version += 1;
    // The input before the summary may be superseded by this entry, or by one that it supersedes.
    const replacesInput = entry.type === "message" && entry.supersedes !== undefined && this.#head?.input;
    if (entry.type === "compaction" || replacesInput) this.reset();
    if (!this.#items) return;
    this.#items.push(this.#item(entry, { offset: this.#view.size - length, length }));
    this.#bytes += length;
  }

  /** Drops the window; the next slice reads the tail again. */
  reset(): void {
    this.#version += 1;
    this.#items = undefined;
    this.#head = undefined;
  }

  /** Reads what `slice` returns, in pieces between which others run. */
  async prepare(maxBytes = Number.POSITIVE_INFINITY): Promise<void> {
    if (this.#items && this.#startOf(this.#items, maxBytes) !== undefined) return;
    const pace = new Pace();
    // One line may fill a slice, and what came before has filled this one.
    if (this.#view.size > LONG_BYTES) await pace.rest();
    const reading = this.#reading(maxBytes);
    for (let version = this.#version; !reading.next().done;) {
      if (!pace.due) continue;
      await pace.rest();
      // The entries that were read are not the end of the path any more.
      if (version !== this.#version) return;
    }
  }

  slice(maxBytes = Number.POSITIVE_INFINITY): ContextSlice {
    let items = this.#items;
    let start = items ? this.#startOf(items, maxBytes) : undefined;
    if (!items || start === undefined) {
      for (const reading = this.#reading(maxBytes); !reading.next().done;);
      items = this.#items ?? [];
      start = this.#startOf(items, maxBytes) ?? 0;
    }
    const { messages, notes } = this.#messages(items, start);
    const complete = start === 0 && this.#whole;
    if (start > 0 && this.#bytes > KEPT * maxBytes && this.#bytes > SLACK_BYTES) {
      this.#items = items.slice(start - 1);
      this.#bytes = this.#items.reduce((sum, item) => sum + item.length, 0);
      this.#reached = this.#items[0]?.offset ?? 0;
      this.#whole = false;
    }
    return { messages, complete, ...(notes.length === 0 ? {} : { notes }) };
  }

  /** Index of the first item of a slice; undefined when the window does not reach back far enough. */
  #startOf(items: readonly Item[], maxBytes: number): number | undefined {
    if (this.#whole && this.#bytes < maxBytes) return 0;
    let bytes = 0;
    for (let at = items.length - 1; at >= 0; at -= 1) {
      const item = items[at];
      bytes += item?.length ?? 0;
      const older = items[at - 1];
      if (item && older && bytes >= maxBytes && this.#isTurnStart(older, item)) return at;
    }
    return this.#whole ? 0 : undefined;
  }

  /** Reads backward from where the window begins, one line a step. `isSure`: the index was already rebuilt. */
  *#reading(maxBytes: number, isSure = false): Generator<void> {
    const view = this.#view;
    const known = this.#items;
    const compaction = known ? undefined : view.lastCompaction();
    if (!known) this.#begin(compaction);
    const newestFirst = known?.toReversed() ?? [];
    let bytes = known ? this.#bytes : 0;
    let isWhole = true;
    const end = known ? this.#reached : undefined;
    for (const placed of view.backward(clip(view.tree.path(), this.#floor, end), isNote)) {
      const isNewer = placed.entry.type === "compaction" && placed.offset > (compaction?.offset ?? -1);
      if (!known && isNewer && !isSure) {
        view.reindex();
        return yield* this.#reading(maxBytes, true);
      }
      const item = this.#item(placed.entry, placed);
      const newer = newestFirst.at(-1);
      const isEnd = newer !== undefined && bytes >= maxBytes && this.#isTurnStart(item, newer);
      newestFirst.push(item);
      bytes += item.length;
      // Keeps one older item, so that the same request finds the boundary again.
      if (isEnd) {
        isWhole = false;
        break;
      }
      yield;
    }
    this.#items = newestFirst.reverse();
    this.#bytes = bytes;
    this.#whole = isWhole;
    this.#reached = this.#items[0]?.offset ?? 0;
  }

  /** Reads the last compaction. */
  #begin(compaction: Place | undefined): void {
    this.#floor = 0;
    this.#head = undefined;
    const entry = compaction && this.#view.read(compaction);
    if (!compaction || entry?.type !== "compaction") return;
    const kept = this.#view.findKept(entry.firstKeptEntryId)?.offset ?? compaction.offset;
    this.#floor = Math.min(kept, compaction.offset);
    this.#head = this.#makeHead(entry, this.#floor);
  }

  #makeHead(entry: CompactionEntry, floor: number): Head {
    const summary = this.#cache.of(entry.id, () => ({
      role: "user",
      content: renderSummary(entry.summary),
      timestamp: Date.parse(entry.timestamp) || 0,
      entryId: entry.id,
    }));
    const place =
      entry.splitTurnInputId === undefined ? undefined : this.#view.findInput(entry.splitTurnInputId);
    // An input among the kept messages is not repeated.
    const input = place && place.offset < floor ? this.#view.readNewest(place) : undefined;
    return { summary, input: input && entryMessage(input, this.#cache), turnId: input?.turnId };
  }

  #item(entry: TranscriptEntry, { offset, length }: Pick<PlacedEntry, "offset" | "length">): Item {
    return {
      id: entry.id,
      offset,
      length,
      turnId: entry.turnId,
      message: entryMessage(entry, this.#cache),
      note: entryNote(entry),
      supersedes: entry.type === "message" ? entry.supersedes : undefined,
      moved: undefined,
    };
  }

  #messages(items: readonly Item[], start: number): { messages: AgentMessage[]; notes: ContextNote[] } {
    const replacements = new Map<string, Item>();
    for (const item of items) if (item.supersedes !== undefined) replacements.set(item.supersedes, item);
    const newest = (item: Item): AgentMessage | undefined => {
      if (replacements.size === 0) return item.message;
      let current = item;
      const seen = new Set<string>();
      for (;;) {
        seen.add(current.id);
        const next = replacements.get(current.id);
        if (!next || seen.has(next.id)) return current.message;
        current = next;
      }
    };
    const messages: AgentMessage[] = [];
    const shown = items.slice(start);
    const notes = shown.some(({ note }) => note !== undefined) ? new NotePlaces() : undefined;
    const add = (message: AgentMessage | undefined, turnId: string | undefined): void => {
      if (!message) return;
      messages.push(message);
      notes?.passed(message, turnId);
    };
    if (this.#head) {
      add(this.#head.input, this.#head.turnId);
      messages.push(this.#head.summary);
    }
    for (const item of shown) {
      if (item.note) notes?.add(item.id, item.note, item.turnId);
      if (this.#isMoved(item)) continue;
      add(newest(item), item.turnId);
    }
    return { messages, notes: notes?.found() ?? [] };
  }

  /** A turn starts where the turn id changes; without ids, at a user message. */
  #isTurnStart(older: Item, item: Item): boolean {
    if (item.turnId !== undefined) return older.turnId !== item.turnId;
    return item.message?.role === "user" && !this.#isMoved(item);
  }

  #isMoved(item: Item): boolean {
    if (item.supersedes === undefined) return false;
    item.moved ??= this.#isReplacement(item.supersedes);
    return item.moved;
  }

  /** True when the superseded entry is on the path: its place is the message's place, kept or summarized. */
  #isReplacement(id: string): boolean {
    const place = this.#view.find(id);
    return place !== undefined && this.#view.tree.onPath(place.offset);
  }
}

function entryNote(entry: TranscriptEntry): Item["note"] {
  if (entry.type !== "custom") return undefined;
  const { customType, data } = entry;
  return isNote(customType) ? { customType, data } : undefined;
}

function isNote(customType: string): boolean {
  return [FRAGMENT_ENTRY, FRAGMENT_SET_ENTRY, REWOUND_ENTRY].includes(customType);
}

/** Finds the messages that notes come before, in one pass over the path. */
class NotePlaces {
  readonly #notes: { note: ContextNote; turnId: string | undefined }[] = [];
  /** Index of the first note that no message has followed yet. */
  #open = 0;
  /** The first user message of each turn. */
  readonly #inputs = new Map<string, string>();

  add(entryId: string, note: Pick<ContextNote, "customType" | "data">, turnId: string | undefined): void {
    this.#notes.push({ note: { entryId, ...note }, turnId });
  }

  passed({ entryId, role }: AgentMessage, turnId: string | undefined): void {
    if (entryId === undefined) return;
    if (role === "user" && turnId !== undefined && !this.#inputs.has(turnId))
      this.#inputs.set(turnId, entryId);
    if (role === "toolResult") return;
    for (; this.#open < this.#notes.length; this.#open += 1) {
      const open = this.#notes[this.#open];
      if (open) open.note.nextEntryId = entryId;
    }
  }

  found(): ContextNote[] {
    return this.#notes.map(({ note, turnId }) => {
      const inputEntryId = turnId === undefined ? undefined : this.#inputs.get(turnId);
      return inputEntryId === undefined ? note : { ...note, inputEntryId };
    });
  }
}

/** The message of an entry in a context; undefined for entries that a model never sees. */
function entryMessage(entry: TranscriptEntry, cache: MessageCache): AgentMessage | undefined {
  if (entry.type === "message") {
    const { message } = entry;
    return cache.of(entry.id, () => ({ ...message, entryId: entry.id }));
  }
  if (entry.type !== "custom_message") return undefined;
  return cache.of(entry.id, () => ({
    role: "user",
    content: entry.content,
    timestamp: Date.parse(entry.timestamp) || 0,
    entryId: entry.id,
  }));
}

/** The messages of one turn that are on the active path. */
export function turnMessages(
  entries: Iterable<PlacedEntry>,
  turnId: string,
  cache: MessageCache,
): AgentMessage[] {
  const messages: AgentMessage[] = [];
  for (const { entry } of entries) {
    if (entry.turnId !== turnId) continue;
    const message = entryMessage(entry, cache);
    if (message) messages.push(message);
  }
  return messages;
}
