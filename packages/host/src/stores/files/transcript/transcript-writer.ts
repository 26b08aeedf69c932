import { fsyncSync, ftruncateSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type {
  ContextSlice,
  EntryPlace,
  OpenNotice,
  SessionRecord,
  SessionWriter,
  RecordedTurn,
  UnfinalizedTurn,
} from "@pagurus/contract/session/writer";
import type { RewriteRequest, TranscriptRewriteResult } from "@pagurus/contract/engine/runtime-context";
import type { NewEntry, TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { writeAll } from "@pagurus/core/platform/atomic-files";
import { IdSource } from "@pagurus/core/platform/ids";
import { turnMessages, type ContextWindow, type MessageCache } from "./session-context.ts";
import { entryNotFound, openCursor } from "./cursor.ts";
import { wellFormedJson } from "@pagurus/core/data/well-formed";
import { summedLine } from "./line-sum.ts";
import { completeEntry, parseEntryJson } from "./transcript-entry.ts";
import { writeFailure } from "../failures.ts";
import { idBound } from "../index/session-catalog.ts";
import {
  isCommitted,
  isUnfinalized,
  lastEntryId,
  nextUnfinalized,
  spansOf,
  turnRow,
} from "../index/index-rows.ts";
import { FINALIZED_TYPE } from "../index/indexer.ts";
import type { SessionLease } from "../session-lease.ts";
import { LINE_LIMIT } from "./transcript-lines.ts";
import { TOOL_RUN_ENTRY } from "./recover.ts";
import { planRewrite } from "./rewrite.ts";
import { clip } from "./transcript-tree.ts";
import { leafAt, type Leaf, type SessionView } from "./session-view.ts";
import { defined } from "@pagurus/core/data/defined";

export interface WriterParts {
  view: SessionView;
  window: ContextWindow;
  cache: MessageCache;
  lock: SessionLease;
  now: () => number;
  notices: OpenNotice[];
  onClose: () => void;
}

/** Entries between index updates within a turn, which bounds the pending ones in memory. */
const FLUSH_EVERY = 512;

type NewCommit = Omit<Extract<NewEntry, { type: "turn_commit" }>, "type">;

/**
 * The one writer of a session. Every entry is one write at the file's end; what a failed write left is cut off again, so the file never has
 * a torn line in its middle.
 */
export class TranscriptWriter implements SessionWriter {
  readonly cursor: TranscriptCursor;
  readonly notices: readonly OpenNotice[];
  readonly #parts: WriterParts;
  readonly #view: SessionView;
  readonly #ids: IdSource;
  /** Turns whose marker this writer wrote; the index may not have them yet. */
  readonly #committed = new Set<string>();
  /** Turns that this writer committed as not taken, and those it marked as taken since; the index may not have them yet. */
  readonly #unfinalized = new Set<string>();
  readonly #finalized = new Set<string>();
  #unsynced = false;
  /** True while the rest of a failed write could not be cut off. */
  #leftover = false;
  /** Whether the index may lack the last turn's commit. */
  #isCommitPending = false;
  #closed = false;
  #listener: ((notice: OpenNotice) => void) | undefined;
  /** The record at closing; the store may be closed since. */
  #finalRecord: SessionRecord | undefined;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#view = parts.view;
    this.notices = parts.notices;
    this.cursor = openCursor(parts.view);
    const floor = parts.view.query(lastEntryId, idBound(parts.now()));
    this.#ids = new IdSource({ now: parts.now, ...defined({ floor: floor ?? undefined }) });
  }

  get record(): SessionRecord {
    return this.#finalRecord ?? this.#view.record();
  }

  get epoch(): number {
    return this.#parts.lock.epoch;
  }

  get leafId(): string | null {
    return this.#view.leafId;
  }

  contextMessages(limit?: { maxBytes: number }): ContextSlice {
    return this.#parts.window.slice(limit?.maxBytes);
  }

  prepareContext(limit?: { maxBytes: number }): Promise<void> {
    return this.#parts.window.prepare(limit?.maxBytes);
  }

  unfinalizedTurns(): Iterable<UnfinalizedTurn> {
    return { [Symbol.iterator]: () => this.#unfinalizedTurns() };
  }

  append(entry: NewEntry): TranscriptEntry {
    if (entry.type === "rewind") return this.#rewind(entry);
    if (entry.type === "turn_commit") {
      if (this.#isCommitted(entry.turnId)) {
        throw new PagurusError("internal", `The turn ${entry.turnId} is committed already; use commitTurn.`);
      }
      return this.#commit(entry);
    }
    // A compaction between turns has no marker that would make it final.
    const isFinal = entry.type === "compaction" && entry.turnId === undefined;
    // What a tool does must not come before its record; a local file has that as soon as it is written.
    const isBefore = entry.type === "custom" && entry.customType === TOOL_RUN_ENTRY;
    return this.#write(entry, { durably: isFinal || (isBefore && this.#parts.lock.store !== undefined) });
  }

  commitTurn(turn: NewCommit): boolean {
    if (this.#isCommitted(turn.turnId)) return false;
    this.#commit({ ...turn, type: "turn_commit" });
    return true;
  }

  recordedTurn(turnId: string): RecordedTurn | undefined {
    this.#view.flush();
    this.#isCommitPending = false;
    const row = this.#view.query(turnRow, turnId);
    if (!row) return undefined;
    const entries = [...this.#view.forward(clip(this.#view.tree.path(), row.start))];
    return {
      isOver: row.commit_end !== null,
      messages: turnMessages(entries, turnId, this.#parts.cache),
      leafBefore: entries.find(({ entry }) => entry.turnId === turnId)?.entry.parentId ?? null,
    };
  }

  markFinalized(turnId: string): void {
    if (this.#finalized.has(turnId)) return;
    const due = this.#unfinalized.has(turnId) || this.#view.query(isUnfinalized, turnId);
    if (!due) return;
    this.#write({ type: "custom", customType: FINALIZED_TYPE, data: { turnId } });
    this.#finalized.add(turnId);
  }

  rewind(targetId: string | null): void {
    this.#rewind({ type: "rewind", targetId });
  }

  rewrite(replacements: readonly RewriteRequest[], allowed?: readonly string[]): TranscriptRewriteResult {
    this.#assertOpen();
    const view = this.#view;
    const plan = planRewrite(
      {
        view,
        epoch: this.epoch,
        nextId: () => this.#ids.next(),
        isCommitted: (turnId) => this.#isCommitted(turnId),
      },
      replacements,
      allowed,
    );
    if ("reason" in plan) return { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason: plan.reason };
    // One write, so that a failed one is cut off as a whole.
    this.#writeBytes(Buffer.concat(plan.lines.map(({ bytes }) => bytes)), true);
    view.moveTo(plan.parent);
    for (const { entry, bytes } of plan.lines) view.added(entry, bytes, undefined);
    this.#parts.window.reset();
    view.flush(true);
    return { changed: true, bytesFreed: plan.bytesFreed, rewrittenEntries: replacements.length };
  }

  place(entryId: string): EntryPlace | undefined {
    const place = this.#view.find(entryId);
    if (!place) return undefined;
    const onPath = this.#view.tree.onPath(place.offset);
    return { rawSeq: place.line, messagePosition: onPath ? place.messages : undefined };
  }

  /** Calls `listener` with each notice after the opening: a read found a changed line. */
  listen(listener: (notice: OpenNotice) => void): void {
    this.#listener = listener;
  }

  notice(notice: OpenNotice): void {
    this.#parts.notices.push(notice);
    this.#listener?.(notice);
  }

  /** Indexes everything written and returns the view, for the new owner of the session. */
  handOver(): SessionView {
    this.#assertOpen();
    this.#parts.lock.assertHeld();
    this.#assertUnchanged();
    this.#view.flush();
    return this.#view;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#parts.lock.beginRelease?.();
    try {
      this.#view.flush(true);
      this.#finalRecord = this.#view.record();
      // Where the database has the bytes, the file is a copy.
      if (this.#unsynced && !this.#parts.lock.store) fsyncSync(this.#view.fd);
    } catch {
      // What was committed is on disk; the next opener of the session brings the index up to date.
      this.#unsynced = false;
    }
    this.#parts.lock.release();
    this.#parts.onClose();
  }

  *#unfinalizedTurns(): Generator<UnfinalizedTurn> {
    const { tree } = this.#view;
    this.#view.flush();
    for (let after = -1; ;) {
      if (this.#isCommitPending) this.#view.flush();
      this.#isCommitPending = false;
      const row = this.#view.query(nextUnfinalized, after);
      if (!row) return;
      after = row.start;
      if (this.#finalized.has(row.turn)) continue;
      const spans = this.#view.query(spansOf, row.turn);
      const at = spans.findLastIndex(({ end }) => end !== null && tree.onPath(end - 1));
      const ranges = spans
        .slice(0, at + 1)
        .flatMap(({ start, end }) => clip(tree.path(), start, end ?? undefined));
      if (ranges.length === 0) continue;
      const entries = [...this.#view.forward(ranges)];
      const heartbeat = entries.some(
        ({ entry }) => entry.type === "turn_commit" && entry.turnId === row.turn && entry.heartbeat === true,
      );
      yield { turnId: row.turn, messages: turnMessages(entries, row.turn, this.#parts.cache), heartbeat };
    }
  }

  #isCommitted(turnId: string): boolean {
    return this.#committed.has(turnId) || this.#view.query(isCommitted, turnId);
  }

  #commit(entry: Extract<NewEntry, { type: "turn_commit" }>): TranscriptEntry {
    const written = this.#write(entry, { durably: true });
    this.#committed.add(entry.turnId);
    if (entry.finalized === false) this.#unfinalized.add(entry.turnId);
    // The index is updated at the end of the session's turn, together with what follows the commit.
    this.#isCommitPending = true;
    return written;
  }

  #rewind(entry: Extract<NewEntry, { type: "rewind" }>): TranscriptEntry {
    const { targetId } = entry;
    const place = targetId === null ? undefined : this.#view.find(targetId);
    if (targetId !== null && (!place || place.type === "rewind"))
      throw entryNotFound(this.#view.sessionId, targetId);
    const leaf = leafAt(targetId, place);
    const written = this.#write(entry, { durably: true, leaf });
    this.#parts.window.reset();
    this.#view.flush(true);
    return written;
  }

  #write(entry: NewEntry, how: { durably?: boolean; leaf?: Leaf } = {}): TranscriptEntry {
    this.#assertOpen();
    const { json, bytes } = this.#line(entry);
    // The entry as a reader will see it: it shares no object with the caller, and what JSON drops is dropped.
    const stored = parseEntryJson(json);
    if ("problem" in stored)
      throw new PagurusError(
        "internal",
        `An entry of type ${entry.type} cannot be stored: ${stored.problem}.`,
      );
    this.#writeBytes(bytes, how.durably ?? false);
    this.#view.added(stored.entry, bytes, how.leaf);
    if (!how.leaf) this.#parts.window.push(stored.entry, bytes.length);
    if (this.#view.pendingCount % FLUSH_EVERY === 0) this.#view.flush(true);
    return stored.entry;
  }

  /** Throws `store_write_failed` for an entry that no reader could read. */
  #line(entry: NewEntry): { json: string; bytes: Buffer } {
    let bytes: Buffer | undefined;
    try {
      const json = wellFormedJson(this.#complete(entry));
      bytes = summedLine(json);
      if (bytes.length <= LINE_LIMIT) return { json, bytes };
    } catch (error) {
      // A text longer than JavaScript allows.
      if (!(error instanceof RangeError)) throw error;
    }
    const size = bytes ? `${bytes.length} bytes` : "more bytes than a text can have";
    throw new PagurusError(
      "store_write_failed",
      `An entry of type ${entry.type} has ${size}, and a line of a transcript ${LINE_LIMIT} at most; it was not written, make it smaller.`,
    );
  }

  #assertOpen(): void {
    if (!this.#closed) return;
    throw new PagurusError(
      "store_write_failed",
      `The session ${this.#view.sessionId} was closed; open it again.`,
    );
  }

  #complete(entry: NewEntry): TranscriptEntry {
    return completeEntry(entry, {
      id: this.#ids.next(),
      parentId: this.#view.leafId,
      timestamp: new Date(this.#parts.now()).toISOString(),
      epoch: this.epoch,
    });
  }

  #writeBytes(bytes: Buffer, durably: boolean): void {
    const view = this.#view;
    this.#parts.lock.assertHeld();
    this.#assertUnchanged();
    try {
      writeAll(view.fd, bytes);
      const { lock } = this.#parts;
      if (lock.store) lock.store(view.size, bytes, durably);
      else if (durably) fsyncSync(view.fd);
      this.#unsynced = !durably;
    } catch (error) {
      try {
        ftruncateSync(view.fd, view.size);
      } catch {
        // The rest is cut off before the next write, or set aside as a torn line at the next opening.
        this.#leftover = true;
      }
      throw writeFailure(error, view.file);
    }
  }

  #assertUnchanged(): void {
    if (this.#leftover) {
      try {
        ftruncateSync(this.#view.fd, this.#view.size);
      } catch (error) {
        throw writeFailure(error, this.#view.file);
      }
      this.#leftover = false;
    }
    const { size, nlink } = this.#view.stat();
    if (nlink > 0 && size === this.#view.size) return;
    throw new PagurusError(
      "lock_lost",
      `The transcript ${this.#view.file} was ${nlink === 0 ? "deleted" : "changed"} by another program; nothing more is written, open the session again.`,
      { details: { file: this.#view.file } },
    );
  }
}
