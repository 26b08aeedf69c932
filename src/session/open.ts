/** Opening a session: as its one writer, or read-only. */
import { constants } from "node:fs";
import type { OpenNotice, SessionReader, SessionWriter } from "../contract/writer.ts";
import { notFound, type Catalog } from "./catalog.ts";
import { ContextWindow, MessageCache } from "./context.ts";
import { createSession } from "./create.ts";
import { openCursor } from "./cursor.ts";
import { writeFailure } from "./failures.ts";
import { openTurns, type SessionRow } from "./index-rows.ts";
import { liveOwner, SessionLock } from "./lock.ts";
import { assertKnownVersion } from "./version.ts";
import {
  INTERRUPTED_RESULT,
  interruptedTurns,
  recordUnreadable,
  setTornAside,
  tornNotice,
  unreadableNotices,
} from "./recover.ts";
import { SessionView } from "./view.ts";
import { TranscriptWriter } from "./writer.ts";

/** Sessions whose window stays in memory after their writer closed. */
const WARM_SESSIONS = 8;

interface WarmSession {
  view: SessionView;
  window: ContextWindow;
}

/** What a process keeps of sessions between openings, so that the next turn starts where the last one ended. */
export class WarmSessions {
  readonly #sessions = new Map<string, WarmSession>();
  readonly #caches = new Map<string, MessageCache>();

  /** The window of a closed writer while the file is still what it was. */
  take(row: SessionRow): WarmSession | undefined {
    const warm = this.#sessions.get(row.id);
    this.#sessions.delete(row.id);
    return warm?.view.matches(row) ? warm : undefined;
  }

  keep(sessionId: string, warm: WarmSession): void {
    this.#sessions.set(sessionId, warm);
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= WARM_SESSIONS) break;
      this.#sessions.delete(oldest);
    }
  }

  messages(sessionId: string): MessageCache {
    let cache = this.#caches.get(sessionId);
    if (!cache) {
      cache = new MessageCache();
      this.#caches.set(sessionId, cache);
    }
    return cache;
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#caches.delete(sessionId);
  }
}

export interface WriterOptions {
  cwd: string;
  create?: boolean;
  deadlineMs?: number;
}

export function openWriter(
  catalog: Catalog,
  warm: WarmSessions,
  key: string,
  options: WriterOptions,
): SessionWriter {
  for (;;) {
    let row = catalog.current(key);
    if (!row && options.create === false) throw notFound(key);
    row ??= createSession(catalog, key, { cwd: options.cwd, present: "take" });
    assertKnownVersion(catalog, row);
    const locked = acquire(catalog, row, options.deadlineMs ?? 0, (held) => catalog.isCurrent(held));
    if (!locked) continue;
    try {
      const { view, writer, notices } = startWriter(catalog, warm, locked);
      try {
        closeInterrupted(view, writer, notices, catalog.now);
      } catch (error) {
        view.close();
        throw error;
      }
      return writer;
    } catch (error) {
      locked.lock.release();
      throw error;
    }
  }
}

export interface LockedSession {
  lock: SessionLock;
  row: SessionRow;
  notices: OpenNotice[];
}

/**
 * Takes the lock and brings the file in order. Undefined: while it waited the session was removed, or `wanted` no
 * longer takes it. Throws `session_locked`, `store_write_failed`.
 */
export function acquire(
  catalog: Catalog,
  candidate: SessionRow,
  deadlineMs: number,
  wanted: (row: SessionRow) => boolean,
): LockedSession | undefined {
  const paths = catalog.paths(candidate.id);
  let { epoch } = candidate;
  for (;;) {
    const lock = SessionLock.acquire({
      file: paths.lock,
      sessionKey: candidate.key,
      epoch,
      deadlineMs,
      now: catalog.now,
    });
    try {
      const notices = lockNotices(lock);
      // The writer that ended may have made the next generation and not told the index.
      if (lock.takenFrom !== undefined) catalog.index.sync();
      let state = catalog.index.ensure(candidate.id);
      if (state?.torn) {
        const notice = setTornAside(paths, state.torn);
        if (notice) notices.push(notice);
        state = catalog.index.ensure(candidate.id);
      }
      if (!state || !wanted(state.row)) {
        lock.release();
        return undefined;
      }
      // Its former owner may have written under an epoch that was not in the index yet.
      if (state.row.epoch < lock.epoch) return { lock, row: state.row, notices };
      epoch = state.row.epoch;
      lock.release();
    } catch (error) {
      lock.release();
      throw error;
    }
  }
}

function lockNotices(lock: SessionLock): OpenNotice[] {
  if (lock.takenFrom === undefined) return [];
  const detail = `The lock of ${lock.takenFrom} was taken over: that writer has ended.`;
  return [{ kind: "stale_lock_taken", detail }];
}

/** Opens the file of a session whose lock is held. */
export function startWriter(
  catalog: Catalog,
  warm: WarmSessions,
  locked: LockedSession,
): { view: SessionView; writer: TranscriptWriter; notices: OpenNotice[] } {
  const { lock, row } = locked;
  const paths = catalog.paths(row.id);
  const indexNotices = takeIndexNotices(catalog, warm, row);
  const cache = warm.messages(row.id);
  const kept = warm.take(row);
  const view = kept?.view ?? newView(catalog, row);
  const window = kept?.window ?? new ContextWindow(view, cache);
  try {
    view.open(constants.O_RDWR | constants.O_APPEND);
  } catch (error) {
    throw writeFailure((error as { cause?: unknown }).cause ?? error, paths.transcript);
  }
  try {
    const notices = [...indexNotices, ...locked.notices];
    notices.push(...recordUnreadable(view, paths, catalog.now));
    const onClose = (): void => {
      view.close();
      warm.keep(row.id, { view, window });
    };
    const writer = new TranscriptWriter({ view, window, cache, lock, now: catalog.now, notices, onClose });
    if (indexNotices.length > 0) catalog.index.forgetNotices(row.id);
    return { view, writer, notices };
  } catch (error) {
    view.close();
    throw error;
  }
}

/** Ends the turns that a crash cut off: open tool calls get a result that says so, then the marker. */
function closeInterrupted(
  view: SessionView,
  writer: SessionWriter,
  notices: OpenNotice[],
  now: () => number,
): void {
  for (const { turnId, openCalls } of interruptedTurns(view)) {
    for (const call of openCalls) {
      writer.append({
        type: "message",
        turnId,
        message: {
          role: "toolResult",
          toolCallId: call.id,
          toolName: call.name,
          content: [{ type: "text", text: INTERRUPTED_RESULT }],
          isError: true,
          timestamp: now(),
        },
      });
    }
    // No engine has seen it: it is offered before the next turn.
    writer.commitTurn({ turnId, outcome: "interrupted", finalized: false });
    const closed = openCalls.length === 0 ? "" : `; ${openCalls.length} open tool calls were closed`;
    notices.push({
      kind: "interrupted_turn",
      detail: `The turn ${turnId} was interrupted${closed}.`,
      turnId,
    });
  }
}

export function openReader(
  catalog: Catalog,
  warm: WarmSessions,
  key: string,
  sessionId?: string,
): SessionReader {
  const { id } = catalog.require(key, sessionId);
  const { lock } = catalog.paths(id);
  // Before and after: a turn that begins or ends meanwhile has entries without a marker too.
  const before = liveOwner(lock);
  const state = catalog.index.ensure(id);
  const runningIn = before ?? liveOwner(lock);
  if (!state) throw notFound(key, sessionId);
  const { row, torn } = state;
  assertKnownVersion(catalog, row);
  const indexNotices = takeIndexNotices(catalog, warm, row);
  const view = newView(catalog, row);
  view.open("r");
  const window = new ContextWindow(view, warm.messages(row.id));
  const notices = [...indexNotices, ...unreadableNotices(view)];
  // The last line of a running turn may be half written at this moment.
  if (torn && !torn.entry && !runningIn)
    notices.push(tornNotice(torn, "will be set aside when the session is next written"));
  return {
    record: view.record(),
    cursor: openCursor(view),
    leafId: view.leafId,
    notices,
    contextMessages: (limit) => window.slice(limit?.maxBytes),
    ...(runningIn ? { runningIn } : {}),
    interruptedTurns: () => {
      if (runningIn) return [];
      const turns = view.ask((db, session) => openTurns(db, session)).map((turn) => turn.turn);
      // A writer closes what it finds interrupted, so while one is alive an open turn is the one that it runs.
      return turns.length === 0 || liveOwner(lock) ? [] : turns;
    },
    close: () => view.close(),
  };
}

/** Messages that are kept by entry id are not those of a file that another program changed. */
function takeIndexNotices(catalog: Catalog, warm: WarmSessions, row: SessionRow): OpenNotice[] {
  const notices = catalog.index.takeNotices(row.id);
  if (notices.length > 0) warm.forget(row.id);
  return notices;
}

function newView(catalog: Catalog, row: SessionRow): SessionView {
  return new SessionView(catalog.index, row, catalog.paths(row.id).transcript, (session) =>
    catalog.standing(session),
  );
}
