/** Catalog of the sessions: keys, generations, records. */
import { dirname } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { Logger } from "@pagurus/core/platform/log";
import { DeletionLog } from "@pagurus/core/platform/deletions";
import { IdSource } from "@pagurus/core/platform/ids";
import {
  allSessions,
  assertKeysFound,
  generations,
  lastSessionId,
  keyPosition,
  keyPositions,
  turnCount,
  turnCounts,
  type SessionRow,
  type KeyPosition,
} from "./index-rows.ts";
import { assertSessionKey } from "../keys.ts";
import { SessionLock } from "../lock.ts";
import type { LeaseRequest, SessionLease, SharedLog } from "../session-lease.ts";
import { sessionPaths, type SessionPaths } from "../session-paths.ts";
import type { SessionIndex } from "./session-index.ts";
import { defined } from "@pagurus/core/data/defined";

export class Catalog {
  readonly folder: string;
  readonly index: SessionIndex;
  readonly logger: Logger;
  readonly now: () => number;
  /** Where several hosts share the sessions. */
  readonly shared: SharedLog | undefined;
  /** Deletions that a crash may have interrupted. */
  readonly deletions: DeletionLog;
  readonly #ids: IdSource;

  constructor(
    folder: string,
    index: SessionIndex,
    logger: Logger,
    rest: { now: () => number; shared?: SharedLog | undefined },
  ) {
    const { now, shared } = rest;
    this.folder = folder;
    this.index = index;
    this.logger = logger;
    this.now = now;
    this.shared = shared;
    this.deletions = new DeletionLog(dirname(folder));
    this.#ids = new IdSource({ now });
  }

  /** A new id, greater than all ids made here. */
  nextId(): string {
    const last = this.index.use(lastSessionId, idBound(this.now()));
    if (last !== null) this.#ids.raise(last);
    return this.#ids.next();
  }

  /** Acquires the right to write a session. Throws `session_locked`, `store_read_failed`, `store_write_failed`. */
  lease(session: { id: string; key: string }, epoch: number, deadlineMs: number): SessionLease {
    const request: LeaseRequest = {
      file: this.paths(session.id).lock,
      sessionId: session.id,
      sessionKey: session.key,
      epoch,
      deadlineMs,
      now: this.now,
    };
    const lock = SessionLock.acquire(request);
    if (!this.shared) return lock;
    try {
      return this.shared.lease(lock, request);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  paths(sessionId: string): SessionPaths {
    return sessionPaths(this.folder, sessionId);
  }

  /** Every generation of a key, the current one first. Throws `session_key_invalid`. */
  generations(key: string): SessionRow[] {
    assertSessionKey(key);
    const read = (): SessionRow[] => this.index.use(generations, key);
    const known = read();
    if (known.length > 0) return known;
    const { isReadAtOnce } = this.index;
    // A transcript that another program created is not in the index yet.
    this.index.syncNew();
    return this.index.use((db) => {
      const rows = generations(db, key);
      if (rows.length === 0 && isReadAtOnce) assertKeysFound(db);
      return rows;
    });
  }

  /** The current generation of a key according to the index. */
  known(key: string): SessionRow | undefined {
    return this.index.use((db) => generations(db, key)[0]);
  }

  current(key: string): SessionRow | undefined {
    return this.generations(key)[0];
  }

  /** The current generation, or the one with an id. Throws `session_not_found`. */
  require(key: string, sessionId?: string): SessionRow {
    const rows = this.generations(key);
    const row = sessionId === undefined ? rows[0] : rows.find((candidate) => candidate.id === sessionId);
    if (row) return row;
    throw notFound(key, sessionId);
  }

  keyPosition(row: SessionRow): KeyPosition {
    return this.index.use(keyPosition, row);
  }

  isCurrent(row: SessionRow): boolean {
    return this.keyPosition(row).current;
  }

  record(row: SessionRow): SessionRecord {
    // Counted on demand: a count reads all turns, and a turn only needs the session's identity.
    let turns: number | undefined;
    const countTurns = (): number => (turns ??= this.index.isClosed ? 0 : this.index.use(turnCount, row.num));
    return {
      get turnCount() {
        return countTurns();
      },
      ...this.#facts(row),
      ...this.keyPosition(row),
    };
  }

  #facts(row: SessionRow): Omit<SessionRecord, "turnCount" | keyof KeyPosition> {
    return {
      sessionKey: row.key,
      sessionId: row.id,
      file: this.paths(row.id).transcript,
      cwd: row.cwd,
      createdAt: row.created,
      updatedAt: row.updated,
      entryCount: row.entries,
      bytes: row.bytes,
      ...defined({
        name: row.name ?? undefined,
        title: row.title ?? undefined,
        folder: row.folder ?? undefined,
      }),
    };
  }

  /** A record for a list, which is complete when the store is closed. */
  counted(row: SessionRow): SessionRecord {
    return { ...this.record(row) };
  }

  /** Every session and generation, last used first. A few statements for all of them: a list may have thousands. */
  list(): SessionRecord[] {
    this.index.sync();
    const { rows, turns } = this.index.use((db) => ({ rows: allSessions(db), turns: turnCounts(db) }));
    const positions = keyPositions(rows);
    return rows.map((row) => ({
      turnCount: turns.get(row.num) ?? 0,
      ...this.#facts(row),
      ...(positions.get(row.num) ?? this.keyPosition(row)),
    }));
  }
}

/** An id greater than any made in the next hundred years: a greater one was not made here. */
export function idBound(now: number): string {
  return (now + 100 * 365 * 24 * 3_600_000).toString(36).padStart(9, "0");
}

export function notFound(key: string, sessionId?: string): PagurusError {
  const what =
    sessionId === undefined
      ? `No session has the key ${key}`
      : `The session ${key} has no generation ${sessionId}`;
  return new PagurusError("session_not_found", `${what}; \`pagurus sessions list\` shows the keys.`, {
    details: { sessionKey: key, ...defined({ sessionId }) },
  });
}
