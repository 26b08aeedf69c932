/** New session files: empty ones, further generations, forks. */
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "../contract/errors.ts";
import { ensurePrivateDir, fsyncDir, writeAll } from "../platform/files.ts";
import { IdSource } from "../platform/ids.ts";
import type { Catalog } from "./catalog.ts";
import { entryNotFound } from "./cursor.ts";
import { formatLine, type StoredHeader } from "./entry.ts";
import { systemCode, writeFailure } from "./failures.ts";
import { sessionRow, type SessionRow } from "./index-rows.ts";
import { assertSessionKey } from "./keys.ts";
import { readAt } from "./lines.ts";
import { withMutex } from "./mutex.ts";
import { assertKnownVersion } from "./version.ts";
import { SessionView } from "./view.ts";

const CHUNK = 1024 * 1024;

export function sessionExists(what: string): PagurusError {
  return new PagurusError(
    "session_exists",
    `${what} exists already; choose another key, or delete it first.`,
  );
}

/** A file whose session is here already: another key is no way out, because ids name files. */
export function idExists(catalog: Catalog, sessionId: string): PagurusError {
  const row = catalog.index.use((db) => sessionRow(db, sessionId));
  if (!row) return sessionExists(`The session ${sessionId}`);
  const advice = catalog.isCurrent(row)
    ? `is here already under the key ${row.key}; use \`pagurus sessions fork ${row.key} NEW\` for a copy, or delete it first`
    : `is here already as an earlier conversation of the key ${row.key}; delete that key first to import it again`;
  return new PagurusError("session_exists", `The session ${sessionId} ${advice}.`, {
    details: { sessionId, sessionKey: row.key },
  });
}

/** A new empty session. With `unlessExists` the key's current session where there is one. */
export function createSession(
  catalog: Catalog,
  key: string,
  options: { cwd: string; unlessExists: boolean },
): SessionRow {
  return exclusively(catalog, key, () => {
    if (options.unlessExists) {
      const present = catalog.current(key);
      if (present) return present;
    }
    const header = newHeader(catalog, key, options.cwd);
    return install(catalog, header.id, [formatLine(header)]);
  });
}

/** A new session with the lines of another's path, byte for byte. Throws `session_exists`, `entry_not_found`. */
export function forkSession(
  catalog: Catalog,
  source: SessionRow,
  newKey: string,
  entryId?: string,
): SessionRow {
  return exclusively(catalog, newKey, () => {
    if (catalog.current(newKey)) throw sessionExists(`A session with the key ${newKey}`);
    const row = catalog.index.ensure(source.id)?.row ?? source;
    assertKnownVersion(catalog, row);
    const view = new SessionView(catalog.index, row, catalog.paths(row.id).transcript, () => true);
    view.open("r");
    try {
      const at = entryId ?? view.leafId;
      const place = at === null ? undefined : view.find(at);
      if (at !== null && (!place || place.type === "rewind")) throw entryNotFound(row.id, at);
      const header = newHeader(catalog, newKey, row.cwd);
      if (at !== null) header.parentSession = { sessionId: row.id, entryId: at };
      return install(catalog, header.id, forkedBytes(view, header, place ? place.offset + place.length : 0));
    } finally {
      view.close();
    }
  });
}

function* forkedBytes(view: SessionView, header: StoredHeader, end: number): Generator<Uint8Array> {
  yield formatLine(header);
  for (const range of view.tree.pathTo(end)) {
    for (let at = range.start; at < range.end; at += CHUNK)
      yield readAt(view.fd, at, Math.min(CHUNK, range.end - at));
  }
}

/** Runs work in the folder's mutex, so that two processes never create one key twice. */
export function exclusively<T>(catalog: Catalog, key: string, work: () => T): T {
  assertSessionKey(key);
  ensurePrivateDir(catalog.folder);
  return withMutex(catalog.folder, () => {
    // Also what another process just created.
    catalog.index.sync();
    return work();
  });
}

function newHeader(catalog: Catalog, key: string, cwd: string): StoredHeader {
  const last = catalog.index.use((db) => db.get<{ id: string | null }>("SELECT max(id) AS id FROM sessions"));
  const ids = new IdSource({ now: catalog.now, ...(last?.id ? { floor: last.id } : {}) });
  const timestamp = new Date(catalog.now()).toISOString();
  return { type: "session", version: 3, id: ids.next(), timestamp, cwd, key };
}

/**
 * Writes a transcript beside its place, durably, then links it there: it is seen whole or not at all. Throws
 * `session_exists` when the id is taken, `store_write_failed`.
 */
export function install(
  catalog: Catalog,
  sessionId: string,
  bytes: Iterable<Uint8Array>,
  beforeLink: () => void = () => undefined,
): SessionRow {
  const paths = catalog.paths(sessionId);
  const temporary = join(catalog.folder, `.${sessionId}.${process.pid}.tmp`);
  catalog.index.whileIncomplete(() => {
    try {
      const fd = openSync(temporary, "w", 0o600);
      try {
        for (const part of bytes) writeAll(fd, part);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      beforeLink();
      linkSync(temporary, paths.transcript);
      fsyncDir(catalog.folder);
    } catch (error) {
      if (systemCode(error) === "EEXIST") throw idExists(catalog, sessionId);
      throw writeFailure(error, paths.transcript);
    } finally {
      rmSync(temporary, { force: true });
    }
    catalog.index.ensure(sessionId);
  });
  const row = catalog.index.use((db) => sessionRow(db, sessionId));
  if (row) return row;
  throw new PagurusError("internal", `The session ${sessionId} was created and is not in the index.`);
}
