/** New session files: empty ones, further generations, forks. */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError } from "../contract/errors.ts";
import { ensurePrivateDir, fsyncDir, writeAll } from "../platform/files.ts";
import type { Catalog } from "./catalog.ts";
import { entryNotFound } from "./cursor.ts";
import { formatLine, type StoredHeader } from "./entry.ts";
import { systemCode, writeFailure } from "./failures.ts";
import { nextStanding, sessionRow, type SessionRow } from "./index-rows.ts";
import { assertSessionId, assertSessionKey, isOwnId } from "./keys.ts";
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

/**
 * A new empty session. Where the key has one already: `take` returns that, `refuse` throws `session_exists`, `renew`
 * makes a further generation.
 */
export function createSession(
  catalog: Catalog,
  key: string,
  options: { cwd: string; present: "take" | "refuse" | "renew"; sessionId?: string },
): SessionRow {
  const { cwd, present, sessionId } = options;
  if (sessionId !== undefined) assertSessionId(sessionId);
  return exclusively(catalog, key, () => {
    const current = present === "renew" ? undefined : catalog.current(key);
    if (current && present === "take") return current;
    if (current) throw sessionExists(`A session with the key ${key}`);
    const header = newHeader(catalog, key, cwd, sessionId);
    return install(catalog, header.id, [formatLine(header)]);
  });
}

/** A new session with the lines of another's path, byte for byte. Throws `session_exists`, `entry_not_found`. */
export function forkSession(
  catalog: Catalog,
  source: SessionRow,
  newKey: string,
  options: { entryId?: string; sessionId?: string } = {},
): SessionRow {
  const { entryId, sessionId } = options;
  if (sessionId !== undefined) assertSessionId(sessionId);
  return exclusively(catalog, newKey, () => {
    if (catalog.current(newKey)) throw sessionExists(`A session with the key ${newKey}`);
    const row = catalog.index.ensure(source.id)?.row ?? source;
    assertKnownVersion(catalog, row);
    const view = new SessionView(catalog.index, row, catalog.paths(row.id).transcript, (session) =>
      catalog.standing(session),
    );
    view.open("r");
    try {
      const at = entryId ?? view.leafId;
      const place = at === null ? undefined : view.find(at);
      if (at !== null && (!place || place.type === "rewind")) throw entryNotFound(row.id, at);
      const header = newHeader(catalog, newKey, row.cwd, sessionId);
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

/** The header of the next generation of a key. */
export function newHeader(catalog: Catalog, key: string, cwd: string, sessionId?: string): StoredHeader {
  const { generation, precedence } = catalog.index.use((db) => nextStanding(db, key));
  const id = sessionId ?? catalog.nextId();
  const timestamp = new Date(catalog.now()).toISOString();
  const order = precedence === generation ? {} : { precedence };
  const name = isOwnId(id) ? {} : { storedAs: id };
  return { type: "session", version: 3, id, timestamp, cwd, key, generation, ...order, ...name };
}

/**
 * Writes a transcript beside its place, durably, then puts it there in one step: it is seen whole or not at all, and
 * after a failure it is not there. With `replace` it takes the place of a file that has the name. Throws
 * `session_exists` when the id is taken, `store_write_failed`.
 */
export function install(
  catalog: Catalog,
  sessionId: string,
  bytes: Iterable<Uint8Array>,
  how: { beforeLink?: () => void; replace?: boolean } = {},
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
      how.beforeLink?.();
      if (how.replace) {
        renameSync(temporary, paths.transcript);
        fsyncDir(catalog.folder);
      } else link(temporary, paths.transcript);
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

/** Links a file; when that did not get onto the disk the link is taken back. */
function link(temporary: string, file: string): void {
  linkSync(temporary, file);
  try {
    fsyncDir(dirname(file));
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
}
