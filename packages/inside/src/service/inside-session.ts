/** One conversation of a program, stored as a session of Pagurus, and the engine's answers about it. */
import { randomUUID } from "node:crypto";
import type { Pagurus } from "@pagurus/contract/host/host";
import { PagurusError } from "@pagurus/contract/errors";
import { renderSummary } from "@pagurus/contract/engine/summary";
import type { CompactionEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { SessionReader } from "@pagurus/contract/session/writer";
import { asRecord, filledString } from "@pagurus/core/data/record-fields";
import { alignLists } from "./align.ts";
import { withWholePairs } from "./kept-indexes.ts";
import { agentMessages, markOf, type KnownCalls, type ProgramMessage } from "./program-message.ts";

/** Kind of the entries that keep the whole text of a large result. */
const RESULT_ENTRY = "pagurus.inside_result";
/** Kind of the entries that keep a summary which the program made itself. */
const FOREIGN_HEAD = "pagurus.inside_summary";
const LOCK_WAIT_MS = 1_500;

export interface SessionPlace {
  sessionKey: string;
  cwd: string;
}

/** Stored messages: a mark and an id for each, and the large results. */
interface Stored {
  leafId: string | null;
  marks: string[];
  ids: string[];
  /** Where the messages begin that the last compaction kept. */
  begins?: number;
  /** Turns that were stored under a key of the program, and where those begin that were not stored to their end. */
  keys: Set<string>;
  open: Map<string, number>;
  known: KnownCalls & { originals: Map<string, string> };
}

/** A stored message, and the message of the program's list that contains it. */
interface Listed {
  entryId: string;
  index: number;
}

export interface Compacted {
  /** Text in the place of all messages that are left out. */
  head: string;
  /** Indexes of the messages that stay as they are. */
  keep: number[];
  tokensBefore?: number;
  tokensAfter?: number;
}

export class InsideSession {
  readonly #pagurus: Pagurus;
  readonly #place: SessionPlace;
  #stored: Stored | undefined;
  /** The work before, of which each waits for its end: a program's requests of one conversation are served in order. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(pagurus: Pagurus, place: SessionPlace) {
    this.#pagurus = pagurus;
    this.#place = place;
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#before.then(work, work);
    this.#before = done.catch(() => undefined);
    return done;
  }

  /** Stores what is new of a list. `isWhole`: the list is all that the program holds; else it follows what was sent before. */
  append(list: readonly ProgramMessage[], isWhole: boolean): Promise<{ added: number }> {
    return this.#inOrder(async () => {
      const before = (await this.#load()).ids.length;
      const listed = await this.#take(list, isWhole);
      return { added: listed === undefined ? 0 : (this.#stored?.ids.length ?? 0) - before };
    });
  }

  /** Stores one turn under its key, whole and once, however often the program sends it. */
  commit(key: string, list: readonly ProgramMessage[]): Promise<{ status: "committed" | "duplicate" }> {
    return this.#inOrder(async () => {
      const stored = await this.#load();
      if (stored.keys.has(key)) return { status: "duplicate" };
      const parts = list.flatMap((message) => agentMessages(message, stored.known));
      this.#write((append, writer) => {
        // Removes the messages of an attempt that was interrupted.
        const begun = stored.open.get(key);
        if (begun !== undefined) {
          writer.rewind(stored.ids[begun - 1] ?? null);
          stored.marks.length = begun;
          stored.ids.length = begun;
        }
        for (const part of parts) {
          const { id } = append({
            type: "message",
            message: { timestamp: Date.now(), ...part },
            turnId: key,
          });
          stored.ids.push(id);
          stored.marks.push(markOf(part));
        }
        writer.commitTurn({ turnId: key, outcome: "completed" });
        stored.keys.add(key);
        stored.open.delete(key);
      });
      return { status: "committed" };
    });
  }

  /** Compacts what is stored, for a program that asks for the messages of each request. Throws as `compact`. */
  compactStored(focus: string | undefined): Promise<Omit<Compacted, "keep">> {
    return this.#inOrder(async () => {
      const { sessionKey, cwd } = this.#place;
      const report = await this.#pagurus.compact({ sessionKey, cwd, ...(focus ? { focus } : {}) });
      const made = report.compacted ? await this.#lastCompaction() : undefined;
      if (!made) throw nothing(report.reason ?? "the engine has nothing to compact");
      const { summary, tokensBefore, tokensAfter } = made.entry;
      const head = renderSummary(summary);
      return { head, tokensBefore, ...(tokensAfter === undefined ? {} : { tokensAfter }) };
    });
  }

  /**
   * The messages of a request: of the program's whole list those that the last compaction keeps and all after them, its head, and
   * the entries of the messages by their index. A list that is not known yet is stored.
   */
  context(list: readonly ProgramMessage[]): Promise<{ head?: string; keep?: number[]; ids: object }> {
    return this.#inOrder(async () => {
      const stored = await this.#load();
      if (stored.ids.length === 0) await this.#take(list, true);
      const { marks, ids, begins, known } = await this.#load();
      const parts = list.flatMap((message, index) =>
        agentMessages(message, known).map((part) => ({ index, mark: markOf(part) })),
      );
      const found = alignLists(
        marks,
        parts.map(({ mark }) => mark),
        begins,
      );
      const entries = parts.map(({ index }, n): Listed => {
        const at = found && n >= found.unknown && n < found.unknown + found.count ? n - found.unknown : -1;
        return { index, entryId: found && at >= 0 ? (ids[found.from + at] ?? "") : "" };
      });
      const named = Object.fromEntries(
        entries.filter(({ entryId }) => entryId !== "").map(({ index, entryId }) => [index, entryId]),
      );
      const made = found && found.unknown === 0 ? await this.#lastCompaction() : undefined;
      if (!made) return { ids: named };
      const kept = new Set(made.kept);
      const stays = entries.filter(({ entryId }) => entryId === "" || kept.has(entryId));
      const keep = withWholePairs(
        list,
        stays.map(({ index }) => index),
      );
      return keep ? { head: renderSummary(made.entry.summary), keep, ids: named } : { ids: named };
    });
  }

  /** Stores the whole list, compacts, and says what the program is to keep. Throws `nothing_to_compact` and the host's errors. */
  compact(list: readonly ProgramMessage[], focus: string | undefined): Promise<Compacted> {
    return this.#inOrder(async () => {
      const listed = await this.#take(list, true);
      const { sessionKey, cwd } = this.#place;
      const report = await this.#pagurus.compact({ sessionKey, cwd, ...(focus ? { focus } : {}) });
      if (!report.compacted) throw nothing(report.reason ?? "the engine has nothing to compact");
      const made = await this.#lastCompaction();
      const keep =
        made &&
        withWholePairs(
          list,
          made.kept.flatMap((id) => indexOf(listed, id)),
        );
      if (!made || !keep) throw nothing("all messages would stay");
      const { tokensBefore, tokensAfter } = made.entry;
      return {
        head: renderSummary(made.entry.summary),
        keep,
        tokensBefore,
        ...(tokensAfter === undefined ? {} : { tokensAfter }),
      };
    });
  }

  /** Stores the whole text of a result before its stub replaces it. Returns the id that brings it back. */
  keepResult(callId: string, text: string): Promise<string> {
    return this.#inOrder(async () => {
      const stored = await this.#load();
      const id = this.#write((writer) => {
        const data = { callId, text };
        const entry = writer({ type: "custom", customType: RESULT_ENTRY, data });
        return entry.id;
      });
      stored.known.originals.set(callId, text);
      return id;
    });
  }

  /** Whether a compaction has taken messages out of sight. */
  hasCompacted(): Promise<boolean> {
    return this.#inOrder(async () => (await this.#load()).begins !== undefined);
  }

  /** The exact text of an entry; undefined for an unknown id. */
  async expand(id: string): Promise<string | undefined> {
    return this.#read(async ({ cursor }) => {
      const entry = await cursor.get(id);
      if (entry?.type === "custom" && entry.customType === RESULT_ENTRY)
        return filledString(asRecord(entry.data)?.["text"]);
      return entry?.type === "message" ? wordsOf(entry) : undefined;
    });
  }

  /** Messages that the last compaction left out. */
  async leftOut(): Promise<{ messages: number; requests: string[] } | undefined> {
    const made = await this.#lastCompaction();
    if (!made) return undefined;
    const kept = new Set(made.kept);
    return this.#read(async ({ cursor }) => {
      let messages = 0;
      const requests: string[] = [];
      for await (const entry of cursor.forward()) {
        if (entry.type !== "message" || kept.has(entry.id)) continue;
        messages += 1;
        if (entry.message.role === "user") requests.push(`${entry.id} ${wordsOf(entry)}`);
      }
      return { messages, requests };
    });
  }

  /** Stores what the list has more than the session, and finds each of its messages there. */
  async #take(list: readonly ProgramMessage[], isWhole: boolean): Promise<Listed[] | undefined> {
    const stored = await this.#load();
    const { known } = stored;
    const all = list.flatMap((message, index) =>
      agentMessages(message, known).map((part) => ({ part, index, mark: markOf(part) })),
    );
    // A program may list what was before a compaction too; then the messages that it kept are there twice.
    const parts = all.slice(all.findLastIndex(({ mark }) => isOwnHead(mark)) + 1);
    if (parts.length === 0) return undefined;
    const marks = parts.map(({ mark }) => mark);
    const found = alignLists(stored.marks, marks, stored.begins);
    // A list that follows may begin with messages that are stored, and is never a sign of a rewind.
    const isEnd = found !== undefined && found.from + found.count === stored.marks.length;
    const at = isWhole || (isEnd && found.unknown === 0) ? found : undefined;
    const listed: Listed[] = [];
    for (let n = 0; at && n < at.count; n += 1)
      listed.push({ entryId: stored.ids[at.from + n] ?? "", index: parts[at.unknown + n]?.index ?? 0 });
    const added = at ? parts.slice(at.unknown + at.count) : parts;
    const heads = at && stored.marks.length > 0 ? parts.slice(0, at.unknown) : [];
    const end = at ? at.from + at.count : stored.marks.length;
    if (added.length === 0 && end === stored.marks.length) return listed;
    this.#write((append, writer) => {
      if (end < stored.marks.length) {
        writer.rewind(stored.ids[end - 1] ?? null);
        stored.marks.length = end;
        stored.ids.length = end;
      }
      for (const { part, index, mark } of heads) {
        const known = stored.marks.lastIndexOf(mark);
        const entryId = stored.ids[known];
        // The input of a divided turn is before the messages that it kept.
        if (entryId !== undefined) listed.push({ entryId, index });
        else if (part.role === "user")
          append({ type: "custom", customType: FOREIGN_HEAD, data: { content: part.content } });
      }
      let turnId = randomUUID();
      let size = 0;
      for (const { part, index, mark } of added) {
        if (part.role === "user" && size > 0) {
          size = 0;
          writer.commitTurn({ turnId, outcome: "completed" });
          turnId = randomUUID();
        }
        const { id } = append({ type: "message", message: { timestamp: Date.now(), ...part }, turnId });
        size += 1;
        stored.ids.push(id);
        stored.marks.push(mark);
        listed.push({ entryId: id, index });
      }
      // The end of a turn is written through to the disk.
      writer.commitTurn({ turnId, outcome: "completed" });
    });
    return listed;
  }

  #write<T>(
    work: (
      append: ReturnType<ReturnType<Pagurus["sessions"]>["openWriter"]>["append"],
      writer: ReturnType<ReturnType<Pagurus["sessions"]>["openWriter"]>,
    ) => T,
  ): T {
    const { sessionKey, cwd } = this.#place;
    const writer = this.#pagurus
      .sessions()
      .openWriter(sessionKey, { cwd, create: true, deadlineMs: LOCK_WAIT_MS });
    try {
      const result = work((entry) => writer.append(entry), writer);
      if (this.#stored) this.#stored.leafId = writer.leafId;
      return result;
    } catch (error) {
      // It is read again from the file.
      this.#stored = undefined;
      throw error;
    } finally {
      writer.close();
    }
  }

  async #read<T>(work: (reader: SessionReader) => Promise<T>): Promise<T> {
    const reader = this.#pagurus.sessions().openReader(this.#place.sessionKey);
    try {
      return await work(reader);
    } finally {
      reader.close();
    }
  }

  /** The stored messages, read again where another process has added some. */
  async #load(): Promise<Stored> {
    const { sessionKey } = this.#place;
    if (this.#pagurus.sessions().find(sessionKey) === undefined)
      return (this.#stored = { leafId: null, ...nothingStored() });
    return this.#read(async ({ leafId, cursor }) => {
      if (this.#stored?.leafId === leafId) return this.#stored;
      const stored: Stored = { leafId, ...nothingStored() };
      for await (const entry of cursor.forward()) takeStored(stored, entry);
      return (this.#stored = stored);
    });
  }

  /** The newest compaction on the path, and the ids of the messages that it keeps. */
  async #lastCompaction(): Promise<{ entry: CompactionEntry; kept: string[] } | undefined> {
    return this.#read(async ({ cursor }) => {
      let made: CompactionEntry | undefined;
      const kept: string[] = [];
      for await (const entry of cursor.backward()) {
        if (entry.type === "compaction") made ??= entry;
        if (entry.type === "message") kept.unshift(entry.id);
        if (made && entry.id === made.firstKeptEntryId)
          return { entry: made, kept: [...(made.splitTurnInputId ? [made.splitTurnInputId] : []), ...kept] };
      }
      return undefined;
    });
  }
}

function nothingStored(): Omit<Stored, "leafId"> {
  const known = { names: new Map<string, string>(), originals: new Map<string, string>() };
  return { marks: [], ids: [], keys: new Set(), open: new Map(), known };
}

function takeStored(stored: Stored, entry: TranscriptEntry): void {
  const { marks, ids, known } = stored;
  if (entry.type === "compaction") stored.begins = ids.indexOf(entry.firstKeptEntryId);
  if (entry.type === "custom" && entry.customType === RESULT_ENTRY) {
    const data = asRecord(entry.data);
    const callId = filledString(data?.["callId"]);
    if (callId !== undefined) known.originals.set(callId, filledString(data?.["text"]) ?? "");
  }
  if (entry.type === "turn_commit") {
    stored.keys.add(entry.turnId);
    stored.open.delete(entry.turnId);
  }
  if (entry.type !== "message") return;
  const { message, id } = entry;
  const turn = entry.turnId;
  if (turn !== undefined && !stored.keys.has(turn) && !stored.open.has(turn))
    stored.open.set(turn, ids.length);
  marks.push(markOf(message));
  ids.push(id);
  if (message.role !== "assistant") return;
  for (const part of message.content) if (part.type === "toolCall") known.names.set(part.id, part.name);
}

function indexOf(listed: readonly Listed[] | undefined, id: string): number[] {
  const found = listed?.find(({ entryId }) => entryId === id);
  return found ? [found.index] : [];
}

/** The head that an earlier compaction by the engine put into the program's list. */
function isOwnHead(mark: string): boolean {
  return mark.startsWith(`user ${renderSummary("").slice(0, "<conversation_summary>".length)}`);
}

function wordsOf(entry: Extract<TranscriptEntry, { type: "message" }>): string {
  const { content } = entry.message;
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      if (part.type === "text") return part.text;
      return part.type === "toolCall" ? `${part.name} ${JSON.stringify(part.arguments)}` : "";
    })
    .join("\n");
}

function nothing(reason: string): PagurusError {
  return new PagurusError("nothing_to_compact", `Nothing was compacted: ${reason}.`);
}
