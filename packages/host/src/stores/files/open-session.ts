/** Opens a session: as its one writer, or read-only. */
import { constants } from "node:fs";
import type { OpenNotice, SessionReader, SessionWriter } from "@pagurus/contract/session/writer";
import { RecentMap } from "@pagurus/core/data/recent-map";
import { notFound, type Catalog } from "./index/session-catalog.ts";
import { ContextWindow, MessageCache } from "./transcript/session-context.ts";
import { createSession } from "./create.ts";
import { openCursor } from "./transcript/cursor.ts";
import { writeFailure } from "./failures.ts";
import { openTurns, type SessionRow } from "./index/index-rows.ts";
import { assertNotHeld } from "./hold.ts";
import { liveOwner } from "./lock.ts";
import type { SessionLease } from "./session-lease.ts";
import { assertKnownVersion } from "./transcript-version.ts";
import {
  INTERRUPTED_RESULT,
  interruptedTurns,
  recordUnreadable,
  setTornAside,
  tornNotice,
  unreadableNotices,
} from "./transcript/recover.ts";
import { SessionView } from "./transcript/session-view.ts";
import { TranscriptWriter } from "./transcript/transcript-writer.ts";
import { defined } from "@pagurus/core/data/defined";

/** Sessions whose window stays in memory after their writer closed. */
const WARM_SESSIONS = 8;
/** Sessions whose messages are the same objects for all readers; those of others are only while one window is open. */
const CACHED_SESSIONS = 64;

interface WarmSession {
  view: SessionView;
  window: ContextWindow;
}

/** Cache of session state between openings, so that the next turn starts where the last one ended. */
export class WarmSessions {
  readonly #sessions = new RecentMap<string, WarmSession>(WARM_SESSIONS);
  readonly #caches = new RecentMap<string, MessageCache>(CACHED_SESSIONS);

  /** The window of a closed writer, if the file has not changed. */
  take(row: SessionRow): WarmSession | undefined {
    const warm = this.#sessions.get(row.id);
    this.#sessions.delete(row.id);
    return warm?.view.matches(row) ? warm : undefined;
  }

  keep(sessionId: string, warm: WarmSession): void {
    this.#sessions.set(sessionId, warm);
  }

  messages(sessionId: string): MessageCache {
    return this.#caches.of(sessionId, () => new MessageCache());
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
  continues?: string | undefined;
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
    assertNotHeld(catalog, key);
    row ??= createSession(catalog, key, { cwd: options.cwd, present: "take" });
    assertKnownVersion(catalog, row);
    const locked = acquire(catalog, row, options.deadlineMs ?? 0, (held) => catalog.isCurrent(held));
    if (!locked) continue;
    try {
      // Another program may have taken it just now.
      assertNotHeld(catalog, key);
      const { view, writer, notices } = startWriter(catalog, warm, locked);
      try {
        closeInterrupted({ view, writer, notices, now: catalog.now }, options.continues);
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
  lock: SessionLease;
  row: SessionRow;
  notices: OpenNotice[];
}

/**
 * Acquires the lock and repairs the file. Undefined: during the wait the session was removed, or `wanted` no longer accepts it. Throws
 * `session_locked`, `store_write_failed`.
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
    const lock = catalog.lease(candidate, epoch, deadlineMs);
    try {
      const notices = [...(lock.notices ?? [])];
      if (lock.takenFrom !== undefined) {
        const detail = `The lock of ${lock.takenFrom} was taken over: that writer has ended.`;
        notices.unshift({ kind: "stale_lock_taken", detail });
      }
      // The former writer may have created the next generation without updating the index.
      if (lock.takenFrom !== undefined) catalog.index.sync();
      let state = catalog.index.ensure(candidate.id);
      // The index may have the state of the file before a newer version wrote to it.
      if (state) assertKnownVersion(catalog, state.row);
      if (state?.torn) {
        const notice = setTornAside(paths, state.torn, lock);
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
    view.onUnreadable = () => {
      for (const notice of recordUnreadable(view, paths, catalog.now)) writer.notice(notice);
    };
    if (indexNotices.length > 0) catalog.index.forgetNotices(row.id);
    return { view, writer, notices };
  } catch (error) {
    view.close();
    throw error;
  }
}

interface Reopened {
  view: SessionView;
  writer: SessionWriter;
  notices: OpenNotice[];
  now: () => number;
}

/** Ends the turns that a crash cut off: open tool calls get a result with that information, then the marker, except one that continues. */
function closeInterrupted({ view, writer, notices, now }: Reopened, continues: string | undefined): void {
  const interrupted = interruptedTurns(view);
  const others = interrupted.some(({ turnId }) => turnId !== continues);
  // A host that stalled wants to continue a turn that another one has ended since: the turn that was cut off after it is not this host's.
  if (others && continues !== undefined && writer.recordedTurn(continues)?.isOver === true) return;
  for (const { turnId, openCalls } of interrupted) {
    const closed = turnId === continues ? openCalls.filter(({ isBegun }) => isBegun) : openCalls;
    for (const call of closed) {
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
    if (turnId !== continues) writer.commitTurn({ turnId, outcome: "interrupted", finalized: false });
    const calls = closed.length === 0 ? "" : `; ${closed.length} open tool calls were closed`;
    const detail = `The turn ${turnId} was interrupted${turnId === continues ? " and is continued" : ""}${calls}.`;
    notices.push({
      kind: "interrupted_turn",
      detail,
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
  // Checked before and after: a turn that begins or ends meanwhile has entries without a marker too.
  const owner = (): SessionReader["runningIn"] => liveOwner(lock) ?? catalog.shared?.runningIn(id);
  const before = owner();
  const state = catalog.index.ensure(id);
  const runningIn = before ?? owner();
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
    ...defined({ runningIn }),
    interruptedTurns: () => {
      if (runningIn) return [];
      const turns = view.ask(openTurns).map((turn) => turn.turn);
      // A writer closes interrupted turns, so while one is alive an open turn is the one that it runs.
      return turns.length === 0 || owner() ? [] : turns;
    },
    close: () => view.close(),
  };
}

/** Messages cached by entry id are not those of a file that another program changed. */
function takeIndexNotices(catalog: Catalog, warm: WarmSessions, row: SessionRow): OpenNotice[] {
  const notices = catalog.index.takeNotices(row.id);
  if (notices.length > 0) warm.forget(row.id);
  return notices;
}

function newView(catalog: Catalog, row: SessionRow): SessionView {
  return new SessionView(catalog.index, row, catalog.paths(row.id).transcript, (session) =>
    catalog.keyPosition(session),
  );
}
