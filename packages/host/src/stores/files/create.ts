/** Creation of session files: empty ones, further generations, forks. */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, fsyncDir, writeAll } from "@pagurus/core/platform/atomic-files";
import type { Catalog } from "./index/session-catalog.ts";
import { entryNotFound } from "./transcript/cursor.ts";
import { formatLine, type StoredHeader } from "./transcript/transcript-entry.ts";
import { systemCode, writeFailure } from "./failures.ts";
import { folderOfKey } from "./hold.ts";
import { generations, nextKeyPosition, sessionRow, type SessionRow } from "./index/index-rows.ts";
import { assertSessionId, assertSessionKey, isOwnId } from "./keys.ts";
import { readAt } from "./transcript/transcript-lines.ts";
import { withMutex } from "./mutex.ts";
import { assertKnownVersion } from "./transcript-version.ts";
import { SessionView } from "./transcript/session-view.ts";

const CHUNK = 1024 * 1024;

export function sessionExists(what: string): PagurusError {
  return new PagurusError(
    "session_exists",
    `${what} exists already; choose another key, or delete it first.`,
  );
}

/** Error for a file whose session exists already: another key does not help, because ids name files. */
export function idExists(catalog: Catalog, sessionId: string): PagurusError {
  const row = catalog.index.use(sessionRow, sessionId);
  if (!row) return sessionExists(`The session ${sessionId}`);
  const advice = catalog.isCurrent(row)
    ? `is here already under the key ${row.key}; use \`pagurus sessions fork ${row.key} NEW\` for a copy, or delete it first`
    : `is here already as an earlier conversation of the key ${row.key}; delete that key first to import it again`;
  return new PagurusError("session_exists", `The session ${sessionId} ${advice}.`, {
    details: { sessionId, sessionKey: row.key },
  });
}

/**
 * Creates an empty session. When the key has one already: `take` returns it, `refuse` throws `session_exists`, `renew` creates a further
 * generation.
 */
export function createSession(
  catalog: Catalog,
  key: string,
  options: { cwd: string; present: "take" | "refuse" | "renew"; sessionId?: string; folder?: string },
): SessionRow {
  const { cwd, present, sessionId, folder } = options;
  if (sessionId !== undefined) assertSessionId(sessionId);
  return exclusively(catalog, key, () => {
    const current = present === "renew" ? undefined : catalog.current(key);
    if (current && present === "take") return current;
    if (current) throw sessionExists(`A session with the key ${key}`);
    const header = newHeader(catalog, key, cwd, sessionId);
    if (folder !== undefined) header.folder = folder;
    return install(catalog, header.id, [formatLine(header)]);
  });
}

/** Creates a session with the lines of another's path, byte for byte. Throws `session_exists`, `entry_not_found`. */
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
      catalog.keyPosition(session),
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
    // Includes what another process just created, and not what it removed.
    catalog.index.syncNew();
    for (const { id } of catalog.index.use(generations, key)) catalog.index.ensure(id);
    return work();
  });
}

/** The header of the next generation of a key. */
export function newHeader(catalog: Catalog, key: string, cwd: string, sessionId?: string): StoredHeader {
  const { generation, precedence } = catalog.index.use(nextKeyPosition, key);
  const id = sessionId ?? catalog.nextId();
  const timestamp = new Date(catalog.now()).toISOString();
  const order = precedence === generation ? {} : { precedence };
  const name = isOwnId(id) ? {} : { storedAs: id };
  const owner = folderOfKey(catalog, key);
  const folder = owner === undefined ? {} : { folder: owner };
  return { type: "session", version: 3, id, timestamp, cwd, key, generation, ...order, ...name, ...folder };
}

/**
 * Writes a transcript to a temporary file, durably, then moves it into place in one step: readers see all of it or nothing, and after a
 * failure it does not exist. With `replace` it replaces a file of that name; with `indexesPart` the caller indexes the rest. Throws `session_exists` when the id is taken,
 * `store_write_failed`.
 */
export function install(
  catalog: Catalog,
  sessionId: string,
  bytes: Iterable<Uint8Array>,
  how: { beforeLink?: () => void; replace?: boolean; indexesPart?: boolean } = {},
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
      const replaces = how.replace === true;
      catalog.shared?.publish({ sessionId, file: temporary, keyFile: paths.key, replaces });
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
    if (how.indexesPart) catalog.index.ensurePart(sessionId, how.replace);
    else catalog.index.ensure(sessionId);
  });
  const row = catalog.index.use(sessionRow, sessionId);
  if (row) return row;
  throw new PagurusError("internal", `The session ${sessionId} was created and is not in the index.`);
}

/** Links a file; removes the link again when it could not be synced. */
function link(temporary: string, file: string): void {
  linkSync(temporary, file);
  try {
    fsyncDir(dirname(file));
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
}
