/** Reads a session file, of this host or of another program, as a sequence of model calls. The file is only read. */
import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { repairPairs } from "@pagurus/core/compaction/tool-pairing";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Pace } from "@pagurus/core/platform/pace";
import { readFailure } from "@pagurus/host/stores/files/failures";
import { parseEntry } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { linesForward, readAt } from "@pagurus/host/stores/files/transcript/transcript-lines";
import { entryId, growthOf, type ModelCall, type RecordedSession } from "./recorded-session.ts";

/** Bytes of a path's entries that are read at most, the newest ones: a session of any length takes bounded memory. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Limits on provider tokens for each estimated one: further off, the reported usage was of something else. */
const LEAST_FACTOR = 0.5;
const MOST_FACTOR = 3;

export interface ReadSession extends RecordedSession {
  /** Program that wrote the file, for example `claude-code`. */
  format: string;
  /** The session is longer than what is replayed: its older part is left out. */
  isShortened: boolean;
}

/**
 * Undefined for a file that is no session, or without a model call after an input. Throws `import_invalid`, `store_read_failed`,
 * `turn_aborted` as `pace`.
 */
export async function readSession(path: string, pace: Pace): Promise<ReadSession | undefined> {
  // Most turns need no importer.
  const { drawFile } = await import("@pagurus/importers/sessions/draw-file");
  const folder = mkdtempSync(join(tmpdir(), "pagurus-replay-"));
  const drawn = join(folder, "drawn.jsonl");
  try {
    const fd = openSync(drawn, "wx", 0o600);
    let format: string | undefined;
    try {
      format = await drawFile(path, (bytes) => void writeSync(fd, bytes));
    } finally {
      closeSync(fd);
    }
    if (format === undefined) return undefined;
    const { turns, isShortened } = await pathOf(format === "pagurus" ? path : drawn, pace);
    const session = recorded(basename(path).replace(/\.jsonl$/, ""), turns);
    return session.calls.length === 0 ? undefined : { ...session, format, isShortened };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Placed {
  parent: string | null;
  offset: number;
  length: number;
  isMessage: boolean;
}

interface TurnMessage {
  message: AgentMessage;
  turnId: string | undefined;
}

/** Messages of the active path, oldest first. */
async function pathOf(path: string, pace: Pace): Promise<{ turns: TurnMessage[]; isShortened: boolean }> {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    throw readFailure(error, path);
  }
  try {
    const { entries, leaf } = await placesIn(fd, pace);
    const places: Placed[] = [];
    let bytes = 0;
    let at = leaf === null ? undefined : entries.get(leaf);
    for (; at && bytes < MOST_BYTES; at = at.parent === null ? undefined : entries.get(at.parent)) {
      if (!at.isMessage) continue;
      places.push(at);
      bytes += at.length;
    }
    const turns: TurnMessage[] = [];
    await pace.each(places.reverse(), ({ offset, length }) => {
      const parsed = parseEntry(lineAt(fd, offset, length));
      if (!("entry" in parsed) || parsed.entry.type !== "message") return;
      const { message, turnId, timestamp } = parsed.entry;
      turns.push({ message: { timestamp: Date.parse(timestamp), ...message }, turnId });
    });
    return { turns, isShortened: at !== undefined };
  } finally {
    closeSync(fd);
  }
}

function lineAt(fd: number, offset: number, length: number): Buffer {
  const line = readAt(fd, offset, length);
  return line.at(-1) === 10 ? line.subarray(0, -1) : line;
}

/** Where each entry is, and the end of the active path. */
async function placesIn(
  fd: number,
  pace: Pace,
): Promise<{ entries: Map<string, Placed>; leaf: string | null }> {
  const entries = new Map<string, Placed>();
  let leaf: string | null = null;
  await pace.each(linesForward(fd, 0, fstatSync(fd).size), ({ bytes, offset, length }) => {
    const parsed = parseEntry(bytes);
    if (!("entry" in parsed)) return;
    const { entry } = parsed;
    if (entry.type === "rewind") leaf = entry.targetId;
    else {
      entries.set(entry.id, { parent: entry.parentId, offset, length, isMessage: entry.type === "message" });
      leaf = entry.id;
    }
  });
  return { entries, leaf };
}

/** Each output of the agent is a model call; a user's message that is no part of a running turn begins the next turn. */
function recorded(name: string, turns: readonly TurnMessage[]): RecordedSession {
  const first = turns.findIndex(({ message }) => message.role === "user");
  const turnIds = new Map(turns.map(({ message, turnId }) => [message, turnId]));
  const read = repairPairs(first < 0 ? [] : turns.slice(first).map(({ message }) => message));
  const messages = read.map((message, index) => ({ ...message, entryId: entryId(index) }));
  const calls: ModelCall[] = [];
  let liveStart = 0;
  let turnId: string | undefined;
  for (const [end, message] of messages.entries()) {
    const own = turnIds.get(read[end] ?? message);
    if (message.role === "user" && messages[end - 1]?.role !== "user") {
      if (own === undefined || own !== turnId) liveStart = end;
      turnId = own;
    }
    if (message.role === "assistant") calls.push(callAt(messages, { end, liveStart, index: calls.length }));
  }
  const { reported, estimated } = growthOf({ messages, calls });
  const measured = estimated === 0 ? 1 : reported / estimated;
  return { name, messages, calls, factor: Math.min(MOST_FACTOR, Math.max(LEAST_FACTOR, measured || 1)) };
}

function callAt(
  messages: readonly AgentMessage[],
  { end, liveStart, index }: { end: number; liveStart: number; index: number },
): ModelCall {
  const output = messages[end];
  const usage = output?.role === "assistant" ? output.usage : undefined;
  const { input = 0, cacheRead = 0, cacheWrite = 0 } = usage ?? {};
  const reportedInput = input + cacheRead + cacheWrite;
  return {
    index,
    turnId: `t${liveStart}`,
    end,
    liveStart,
    at: output?.timestamp ?? 0,
    ...(reportedInput === 0 ? {} : { reportedInput }),
  };
}
