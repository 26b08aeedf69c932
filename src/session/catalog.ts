/** Which sessions there are: keys, generations, records. */
import { PagurusError } from "../contract/errors.ts";
import type { SessionRecord } from "../contract/writer.ts";
import type { Logger } from "../platform/log.ts";
import { IdSource } from "../platform/ids.ts";
import { generations, lastSessionId, standing, type SessionRow, type Standing } from "./index-rows.ts";
import { assertSessionKey } from "./keys.ts";
import { sessionPaths, type SessionPaths } from "./paths.ts";
import type { SessionIndex } from "./session-index.ts";

export class Catalog {
  readonly folder: string;
  readonly index: SessionIndex;
  readonly logger: Logger;
  readonly now: () => number;
  readonly #ids: IdSource;

  constructor(folder: string, index: SessionIndex, logger: Logger, now: () => number) {
    this.folder = folder;
    this.index = index;
    this.logger = logger;
    this.now = now;
    this.#ids = new IdSource({ now });
  }

  /** An id that no session has, newer than all that were made here. */
  nextId(): string {
    const last = this.index.use((db) => lastSessionId(db, idBound(this.now())));
    if (last !== null) this.#ids.raise(last);
    return this.#ids.next();
  }

  paths(sessionId: string): SessionPaths {
    return sessionPaths(this.folder, sessionId);
  }

  /** Every generation of a key, the current one first. Throws `session_key_invalid`. */
  generations(key: string): SessionRow[] {
    assertSessionKey(key);
    const read = (): SessionRow[] => this.index.use((db) => generations(db, key));
    const known = read();
    if (known.length > 0) return known;
    // A transcript that another program put there is not in the index yet.
    this.index.sync();
    return read();
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

  standing(row: SessionRow): Standing {
    return this.index.use((db) => standing(db, row));
  }

  isCurrent(row: SessionRow): boolean {
    return this.standing(row).current;
  }

  record(row: SessionRow): SessionRecord {
    return {
      sessionKey: row.key,
      sessionId: row.id,
      file: this.paths(row.id).transcript,
      cwd: row.cwd,
      createdAt: row.created,
      updatedAt: row.updated,
      entryCount: row.entries,
      bytes: row.bytes,
      ...(row.name === null ? {} : { name: row.name }),
      ...this.standing(row),
    };
  }

  /** Every session and generation, the last used first. */
  list(): SessionRecord[] {
    this.index.sync();
    const rows = this.index.use((db) =>
      db.all<SessionRow>("SELECT * FROM sessions ORDER BY updated DESC, id DESC"),
    );
    return rows.map((row) => this.record(row));
  }
}

/** An id that is greater than each one made in the next hundred years: what is beyond was not made here. */
export function idBound(now: number): string {
  return (now + 100 * 365 * 24 * 3_600_000).toString(36).padStart(9, "0");
}

export function notFound(key: string, sessionId?: string): PagurusError {
  const what =
    sessionId === undefined
      ? `No session has the key ${key}`
      : `The session ${key} has no generation ${sessionId}`;
  return new PagurusError("session_not_found", `${what}; \`pagurus sessions list\` shows the keys.`, {
    details: { sessionKey: key, ...(sessionId === undefined ? {} : { sessionId }) },
  });
}
