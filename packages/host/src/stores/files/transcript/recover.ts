/** Repairs by a writer that opens a session: a torn end, unreadable lines, turns that were cut off. */
import { appendFileSync, closeSync, fsyncSync, ftruncateSync, openSync, readFileSync } from "node:fs";
import type { OpenNotice } from "@pagurus/contract/session/writer";
import type { MessageEntry } from "@pagurus/contract/session/transcript";
import { fieldOf, stringOf } from "@pagurus/core/data/record-fields";
import { writeAll } from "@pagurus/core/platform/atomic-files";
import { systemCode, writeFailure } from "../failures.ts";
import { openTurns } from "../index/index-rows.ts";
import { HEADER_LOST_AT, type TornLine } from "../index/indexer.ts";
import { readAt } from "./transcript-lines.ts";
import type { SessionLease } from "../session-lease.ts";
import type { SessionPaths } from "../session-paths.ts";
import { clip } from "./transcript-tree.ts";
import type { SessionView } from "./session-view.ts";
import { defined } from "@pagurus/core/data/defined";

export function tornNotice(torn: TornLine, done: string): OpenNotice {
  const where = `(${torn.length} bytes at ${torn.offset})`;
  const detail = torn.branch
    ? `A rewrite at the end of the transcript ${where} was cut off and ${done}; the conversation is as it was before.`
    : `The last line of the transcript ${where} is torn and ${done}.`;
  return { kind: "torn_line", detail };
}

/**
 * Moves a torn last line to the `.torn` file, durably, and cuts it off; a complete entry that only lacks its newline gets it. The caller
 * holds the lock. Throws `store_write_failed`.
 */
export function setTornAside(
  paths: SessionPaths,
  torn: TornLine,
  lease: SessionLease,
): OpenNotice | undefined {
  try {
    const fd = openSync(paths.transcript, "r+");
    try {
      if (torn.entry) {
        const newline = Buffer.from("\n");
        writeAll(fd, newline, torn.offset + torn.length);
        lease.store?.(torn.offset + torn.length, newline, true);
        return undefined;
      }
      const bytes = readAt(fd, torn.offset, torn.length);
      const aside = openSync(paths.torn, "a", 0o600);
      try {
        writeAll(aside, bytes.at(-1) === 10 ? bytes : Buffer.concat([bytes, Buffer.from("\n")]));
        fsyncSync(aside);
      } finally {
        closeSync(aside);
      }
      ftruncateSync(fd, torn.offset);
      fsyncSync(fd);
      return tornNotice(torn, `was moved to ${paths.torn}`);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw writeFailure(error, paths.transcript);
  }
}

interface UnreadableRow {
  offset: number;
  length: number;
  problem: string;
}

function unreadableRows(view: SessionView, reported: 0 | 1): UnreadableRow[] {
  return view.ask((db, session) =>
    db.all<UnreadableRow>(
      "SELECT offset, length, problem FROM unreadable WHERE session = ? AND reported <= ? ORDER BY offset",
      session,
      reported,
    ),
  );
}

function notices(view: SessionView, rows: readonly UnreadableRow[]): OpenNotice[] {
  const found: OpenNotice[] = [];
  const lines = rows.filter((row) => row.offset !== HEADER_LOST_AT);
  if (lines.length < rows.length) {
    const detail = `The header (first line) of the transcript is missing or cannot be read; the session continues under the key ${view.sessionKey}, and nothing is deleted.`;
    found.push({ kind: "header_lost", detail });
  }
  const [first] = lines;
  if (first) {
    const count = lines.length === 1 ? "A line" : `${lines.length} lines`;
    const where = `the first has ${first.length} bytes at ${first.offset}: ${first.problem}`;
    const detail = `${count} of the transcript cannot be read and ${lines.length === 1 ? "is" : "are"} skipped, nothing is deleted (${where}).`;
    found.push({ kind: "quarantined_line", detail });
  }
  return found;
}

/** Notices of every unreadable line in the index, and of a lost header; changes nothing. */
export function unreadableNotices(view: SessionView): OpenNotice[] {
  return notices(view, unreadableRows(view, 1));
}

/** Records lines that became unreadable since the last writer in the `.quarantine` file, once each. */
export function recordUnreadable(view: SessionView, paths: SessionPaths, now: () => number): OpenNotice[] {
  const rows = unreadableRows(view, 0);
  if (rows.length === 0) return [];
  try {
    const known = recordedOffsets(paths.quarantine);
    const at = new Date(now()).toISOString();
    const lines = rows
      .filter((row) => row.offset !== HEADER_LOST_AT && !known.has(row.offset))
      .map((row) => {
        const { offset, length, problem } = row;
        const entry = indexedEntryId(view, offset);
        return `${JSON.stringify({ offset, length, problem, at, ...defined({ entry }) })}\n`;
      });
    if (lines.length > 0) appendFileSync(paths.quarantine, lines.join(""), { mode: 0o600 });
  } catch (error) {
    throw writeFailure(error, paths.quarantine);
  }
  view.ask((db, session) => db.run("UPDATE unreadable SET reported = 1 WHERE session = ?", session));
  return notices(view, rows);
}

/** Id of the entry that the index had at an offset: its text may be in the engine's store. */
function indexedEntryId(view: SessionView, offset: number): string | undefined {
  return view.query(
    (db, session) =>
      db.get<{ id: string }>("SELECT id FROM entries WHERE session = ? AND offset = ?", session, offset)?.id,
  );
}

function recordedOffsets(file: string): Set<number> {
  try {
    const offsets = readFileSync(file, "utf8").matchAll(/^\{"offset":(\d+),/gm);
    return new Set(Array.from(offsets, (match) => Number(match[1])));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return new Set();
    throw error;
  }
}

/** Custom entry of a turn that can be continued: a tool call that may change something runs. */
export const TOOL_RUN_ENTRY = "pagurus.tool_run";
export const INTERRUPTED_RESULT =
  "The turn was interrupted before this tool call finished; its outcome is unknown.";

export interface InterruptedTurn {
  turnId: string;
  /** Tool calls on the active path without a result, in order. `isBegun`: recorded as running. */
  openCalls: { id: string; name: string; isBegun: boolean }[];
}

/** Turns with entries but no commit marker, in order of their start; one pass over the path finds their calls. */
export function interruptedTurns(view: SessionView): InterruptedTurn[] {
  const rows = view.ask(openTurns);
  const [first] = rows;
  if (!first) return [];
  const turns = new Map(rows.map((row) => [row.turn, new Map<string, OpenCall>()]));
  for (const { entry } of view.forward(clip(view.tree.path(), first.start))) {
    const calls = entry.turnId === undefined ? undefined : turns.get(entry.turnId);
    if (calls && entry.type === "message") takeCalls(calls, entry);
    if (calls && entry.type === "custom" && entry.customType === TOOL_RUN_ENTRY) noteBegun(calls, entry.data);
  }
  return [...turns].map(([turnId, calls]) => ({
    turnId,
    openCalls: [...calls.values()].map(({ id, name, isBegun }) => ({ id, name, isBegun })),
  }));
}

interface OpenCall {
  entryId: string;
  id: string;
  name: string;
  isBegun: boolean;
}

function noteBegun(calls: Map<string, OpenCall>, data: unknown): void {
  const call = calls.get(stringOf(fieldOf(data, "toolCallId")));
  if (call) call.isBegun = true;
}

function takeCalls(calls: Map<string, OpenCall>, entry: MessageEntry): void {
  // A call of a superseded message is no longer seen, so it needs no result.
  if (entry.supersedes !== undefined)
    for (const call of calls.values()) if (call.entryId === entry.supersedes) calls.delete(call.id);
  const { message } = entry;
  if (message.role === "toolResult") calls.delete(message.toolCallId);
  if (message.role !== "assistant") return;
  for (const part of message.content)
    if (part.type === "toolCall")
      calls.set(part.id, { entryId: entry.id, id: part.id, name: part.name, isBegun: false });
}
