/**
 * The transcript that an import writes. Readers add items in the order of their source, each with its key in the source; the draft assigns
 * ids and parents, and makes every branch valid for a model: a tool call is followed by its result before any other message.
 */
import type { AgentMessage, ToolResultMessage } from "@pagurus/contract/message";
import type { CompactionEntry, NewEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { formatLine } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { INTERRUPTED_RESULT } from "@pagurus/host/stores/files/transcript/recover";
import { ImportIds } from "./entry-ids.ts";
import type { Tally } from "./tally.ts";

/** `customType` of lines and parts that no field of an entry can represent, in their original form. */
export const IMPORTED_LINE = "pagurus.imported_line";

type Summary = Omit<CompactionEntry, "id" | "parentId" | "timestamp" | "firstKeptEntryId">;

export type DraftBody =
  | Exclude<NewEntry, { type: "compaction" }>
  /** `keptKey`: the first item that stays verbatim; absent: none does. */
  | (Summary & { keptKey?: string });

export interface DraftItem {
  /** Its key in the source; absent when nothing refers to it. */
  key?: string;
  /** Key of its parent; null at the beginning; undefined, or an unknown key: the item that was added last. */
  parent?: string | null | undefined;
  /** Milliseconds since the epoch; absent: that of the item before. */
  at?: number | undefined;
  /** Inserted directly after its parent: other children of the parent become children of this item, as with data and results. */
  inserted?: boolean;
  body: DraftBody;
}

export interface DraftOptions {
  /** Seed of the ids. */
  seed: string;
  /** Milliseconds since the epoch. */
  now: number;
  tally: Tally;
  write: (bytes: Uint8Array) => void;
  /** True while a result of the call is still to come in the source. */
  awaits?: (callId: string) => boolean;
}

interface OpenCall {
  name: string;
  /** The assistant message of the call. */
  owner: string;
}
type OpenCalls = ReadonlyMap<string, OpenCall>;

/** Most items that wait for the results that belong before them. */
const HELD_LIMIT = 2_000;
/** Most characters of waiting items. */
const HELD_SIZE_LIMIT = 64 * 1024 * 1024;
/** Key of the empty conversation. */
const ROOT = "";
const NO_CALLS: OpenCalls = new Map();

export class Draft {
  readonly #options: DraftOptions;
  readonly #ids: ImportIds;
  readonly #entryOf = new Map<string, string>();
  /** Next item of each entry's chain of results and data. Children of the entry are attached after the chain. */
  readonly #chain = new Map<string, string>();
  /** How far the chain of an entry was followed before. */
  readonly #skip = new Map<string, string>();
  /** Calls without a result, by entry. */
  readonly #openAt = new Map<string, OpenCalls>();
  /** The newest entry of each branch in which the call is open; the branch that was added to last comes last. */
  readonly #tips = new Map<string, string[]>();
  readonly #ownerOf = new Map<string, string>();
  #held: DraftItem[] = [];
  #heldSize = 0;
  #waits = true;
  #latest: string | null = null;
  #written: string | null = null;
  #at: number;
  #bytes = 0;

  constructor(options: DraftOptions) {
    this.#options = options;
    this.#ids = new ImportIds(options.seed, options.now);
    this.#at = 1;
  }

  /** Bytes written so far; a rough measure of a context. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The entry of a key; undefined while it has none. */
  entryId(key: string): string | undefined {
    return this.#entryOf.get(key);
  }

  add(item: DraftItem): void {
    if (this.#isResult(item)) {
      if (this.#placeResult(item)) this.#release();
      return;
    }
    if (this.#held.length > 0 || this.#mustWait(item)) this.#hold(item);
    else this.#place(item);
  }

  /** Adds data that no model sees, counted under `kind`. */
  keep(kind: string, data: Record<string, unknown>, where: Omit<DraftItem, "body"> = {}): void {
    this.#options.tally.keep(kind);
    this.add({ ...where, body: { type: "custom", customType: IMPORTED_LINE, data: { kind, ...data } } });
  }

  /** Ends the draft; the conversation ends at `leaf`, a key (null: before everything; absent: at the item that was added last). */
  finish(leaf?: string | null): void {
    this.#waits = false;
    this.#release();
    // Also on abandoned branches: they are complete when someone returns to one.
    for (const tip of [...this.#tips.values()].flat()) this.#closeCalls(this.#last(tip));
    if (this.#written === null) return;
    const named = leaf === null ? ROOT : leaf === undefined ? undefined : this.#entryOf.get(leaf);
    const end = this.#last(named ?? this.#latest ?? ROOT) || null;
    if (end !== this.#written) this.#append(end, { type: "rewind", targetId: end });
  }

  #isResult(item: DraftItem): item is DraftItem & { body: { type: "message"; message: ToolResultMessage } } {
    return item.body.type === "message" && item.body.message.role === "toolResult";
  }

  /** Data may come between a call and its result. */
  #mustWait(item: DraftItem): boolean {
    if (!this.#waits || isData(item.body)) return false;
    const parent = this.#parentOf(item);
    const calls = parent === null ? NO_CALLS : (this.#openAt.get(parent) ?? NO_CALLS);
    return [...calls.keys()].some((id) => this.#options.awaits?.(id) === true);
  }

  #hold(item: DraftItem): void {
    this.#held.push(item);
    this.#heldSize += JSON.stringify(item.body).length;
    if (this.#held.length < HELD_LIMIT && this.#heldSize < HELD_SIZE_LIMIT) return;
    this.#waits = false;
    this.#release();
    this.#waits = true;
  }

  #release(): void {
    for (let [first] = this.#held; first; [first] = this.#held) {
      if (this.#mustWait(first)) return;
      this.#held.shift();
      if (this.#isResult(first)) this.#placeResult(first);
      else this.#place(first);
    }
    this.#heldSize = 0;
  }

  #parentOf(item: DraftItem): string | null {
    const named = typeof item.parent === "string" ? this.#entryOf.get(item.parent) : undefined;
    const entry = item.parent === null ? null : (named ?? this.#latest);
    return this.#last(entry ?? ROOT) || null;
  }

  /** The last result or data item after an entry. */
  #last(entry: string): string {
    let at = this.#skip.get(entry) ?? entry;
    for (let next = this.#chain.get(at); next !== undefined; next = this.#chain.get(at)) at = next;
    if (at !== entry) this.#skip.set(entry, at);
    return at;
  }

  #place(item: DraftItem): void {
    const { key, body } = item;
    if (item.at !== undefined) this.#at = item.at;
    const open = this.#parentOf(item);
    const parent = isData(body) || open === null ? open : this.#closeCalls(open);
    const id = this.#append(parent, body);
    if (isData(body) || item.inserted === true) this.#chain.set(parent ?? ROOT, id);
    if (!isData(body)) this.#latest = id;
    if (key !== undefined) this.#entryOf.set(key, id);
    const calls = new Map(parent === null ? NO_CALLS : (this.#openAt.get(parent) ?? NO_CALLS));
    for (const call of draftCalls(body)) calls.set(call.id, { name: call.name, owner: id });
    this.#setOpen(id, calls, parent);
  }

  /** The calls are open at an entry, and no longer at its parent. */
  #setOpen(id: string, calls: OpenCalls, before: string | null): void {
    if (calls.size === 0) return;
    this.#openAt.set(id, calls);
    for (const call of calls.keys()) {
      const others = this.#tips.get(call)?.filter((tip) => tip !== before) ?? [];
      this.#tips.set(call, [...others, id]);
    }
  }

  /** True when the result found its call. */
  #placeResult(item: DraftItem & { body: { type: "message"; message: ToolResultMessage } }): boolean {
    const { key, body } = item;
    const { message } = body;
    const tip = this.#tips.get(message.toolCallId)?.at(-1);
    const call = tip === undefined ? undefined : this.#openAt.get(tip)?.get(message.toolCallId);
    if (tip === undefined || !call) {
      // Its call may be waiting.
      if (this.#held.some((held) => draftCalls(held.body).some((other) => other.id === message.toolCallId)))
        this.#held.push(item);
      else this.keep("tool result without a call", { message }, { at: item.at });
      return false;
    }
    if (item.at !== undefined) this.#at = item.at;
    const id = this.#result(tip, call, message);
    if (key !== undefined) this.#entryOf.set(key, id);
    return true;
  }

  #result(tip: string, call: OpenCall, message: ToolResultMessage): string {
    const parent = this.#last(tip);
    const named = { ...message, toolName: message.toolName === "" ? call.name : message.toolName };
    const id = this.#append(parent, { type: "message", message: named });
    this.#chain.set(parent, id);
    this.#ownerOf.set(id, call.owner);
    const calls = new Map(this.#openAt.get(tip));
    calls.delete(message.toolCallId);
    const elsewhere = this.#tips.get(message.toolCallId)?.filter((other) => other !== tip) ?? [];
    if (elsewhere.length > 0) this.#tips.set(message.toolCallId, elsewhere);
    else this.#tips.delete(message.toolCallId);
    this.#setOpen(id, calls, tip);
    if (this.#latest === tip || this.#latest === parent) this.#latest = id;
    return id;
  }

  /** Adds a result to the calls that are open at an entry; returns the new end of the branch. */
  #closeCalls(tip: string): string {
    let at = tip;
    for (const [toolCallId, call] of this.#openAt.get(tip) ?? NO_CALLS) {
      this.#options.tally.interrupted += 1;
      at = this.#result(at, call, {
        role: "toolResult",
        toolCallId,
        toolName: call.name,
        content: [{ type: "text", text: INTERRUPTED_RESULT }],
        isError: true,
      });
    }
    return at;
  }

  #append(parentId: string | null, body: DraftBody): string {
    const id = this.#ids.next(this.#at);
    const { type, ...rest } = body.type === "compaction" ? this.#compaction(body, id) : body;
    const timestamp = new Date(this.#at).toISOString();
    const entry = { type, id, parentId, timestamp, ...rest } as TranscriptEntry;
    this.#count(entry);
    const line = formatLine(entry);
    this.#options.write(line);
    this.#bytes += line.length;
    this.#written = type === "rewind" ? parentId : id;
    return id;
  }

  #compaction(
    { keptKey, ...summary }: Summary & { keptKey?: string },
    id: string,
  ): Omit<CompactionEntry, "id" | "parentId" | "timestamp"> {
    const kept = keptKey === undefined ? undefined : this.#entryOf.get(keptKey);
    // A result is kept with its call. With its own id nothing before the summary stays verbatim.
    const firstKeptEntryId = kept === undefined ? id : (this.#ownerOf.get(kept) ?? kept);
    return { ...summary, firstKeptEntryId };
  }

  #count(entry: TranscriptEntry): void {
    const { tally } = this.#options;
    if (entry.type === "message") tally.message(entry.message);
    else if (entry.type === "compaction") tally.summaries += 1;
    else if (entry.type === "custom_message") tally.notices += 1;
  }
}

/** True for what no model sees. */
function isData(body: DraftBody): boolean {
  return body.type !== "message" && body.type !== "custom_message" && body.type !== "compaction";
}

function draftCalls(body: DraftBody): { id: string; name: string }[] {
  if (body.type !== "message" || body.message.role !== "assistant") return [];
  return body.message.content.filter((part) => part.type === "toolCall");
}

/** True for a message without any content. */
export function isEmptyMessage(message: AgentMessage): boolean {
  if (typeof message.content === "string") return message.content === "";
  if (message.role === "toolResult") return false;
  return message.content.length === 0 && !("errorMessage" in message);
}
