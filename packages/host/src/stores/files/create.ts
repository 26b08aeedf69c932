/** Creation of session files: empty ones, further generations, forks. */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { nextSlice } from "@pagurus/core/platform/pace";
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
    return moveIntoPlace(catalog, header.id, [formatLine(header)]);
  });
}

/**
 * Creates a session with the lines of another's path, byte for byte, in slices: a long conversation keeps no other request waiting.
 * Throws `session_exists`, `session_not_found` (the source was deleted meanwhile), `entry_not_found`, `store_write_failed`.
 */
export async function forkSession(
  catalog: Catalog,
  source: SessionRow,
  newKey: string,
  options: { entryId?: string; sessionId?: string } = {},
): Promise<SessionRow> {
  const { entryId, sessionId } = options;
  if (sessionId !== undefined) assertSessionId(sessionId);
  exclusively(catalog, newKey, () => assertUnused(catalog, newKey));
  while (catalog.index.ensurePart(source.id)) await nextSlice();
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
    const bytes = forkedBytes(view, header, place ? place.offset + place.length : 0);
    return await installFork(catalog, row, { id: header.id, key: newKey }, bytes);
  } finally {
    view.close();
  }
}

async function installFork(
  catalog: Catalog,
  source: SessionRow,
  { id, key }: { id: string; key: string },
  bytes: Iterable<Uint8Array>,
): Promise<SessionRow> {
  const temporary = temporaryFile(catalog, id);
  try {
    await writeInSlices(temporary, bytes, catalog.paths(id).transcript);
    await nextSlice();
    const made = exclusively(catalog, key, () => {
      assertUnused(catalog, key);
      // Deleted words stay deleted.
      if (!catalog.index.ensure(source.id)) throw sessionGone(source);
      return place(catalog, id, temporary, { indexesLater: true });
    });
    return await indexInSlices(catalog, made);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Indexes the lines of a session that was installed with `indexesLater`, in slices; returns its row with them. */
export async function indexInSlices(catalog: Catalog, made: SessionRow): Promise<SessionRow> {
  do await nextSlice();
  while (catalog.index.ensurePart(made.id));
  return catalog.index.use(sessionRow, made.id) ?? made;
}

async function writeInSlices(
  temporary: string,
  bytes: Iterable<Uint8Array>,
  transcript: string,
): Promise<void> {
  try {
    const handle = await open(temporary, "w", 0o600);
    try {
      for (const part of bytes) await handle.writeFile(part);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw writeFailure(error, transcript);
  }
}

function assertUnused(catalog: Catalog, key: string): void {
  if (catalog.current(key)) throw sessionExists(`A session with the key ${key}`);
}

function sessionGone({ key }: SessionRow): PagurusError {
  return new PagurusError(
    "session_not_found",
    `The session ${JSON.stringify(key)} was deleted while it was copied; there is no copy.`,
  );
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

/** How a transcript gets its place. */
interface Placing {
  /** Called before the file gets its name. */
  beforeLink?: () => void;
  /** Replaces a file of that name. */
  replace?: boolean;
  /** The caller indexes the lines, in later turns of the event loop. */
  indexesLater?: boolean;
}

/**
 * Writes a transcript to a temporary file, durably, then moves it into place in one step: readers see all of it or nothing, and after a
 * failure it does not exist. Throws `session_exists` when the id is taken, `store_write_failed`.
 */
export function moveIntoPlace(
  catalog: Catalog,
  sessionId: string,
  bytes: Iterable<Uint8Array>,
  how: Placing = {},
): SessionRow {
  const temporary = temporaryFile(catalog, sessionId);
  try {
    writeDurably(temporary, bytes, catalog.paths(sessionId).transcript);
    return place(catalog, sessionId, temporary, how);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** For example `.l3k9x0q2a1b2.4711.tmp` in the folder of the sessions; a leftover of a process that died is removed at an opening. */
function temporaryFile(catalog: Catalog, sessionId: string): string {
  return join(catalog.folder, `.${sessionId}.${process.pid}.tmp`);
}

function writeDurably(temporary: string, bytes: Iterable<Uint8Array>, transcript: string): void {
  try {
    const fd = openSync(temporary, "w", 0o600);
    try {
      for (const part of bytes) writeAll(fd, part);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw writeFailure(error, transcript);
  }
}

/** Moves a durable file into the place of a session's transcript. */
function place(catalog: Catalog, sessionId: string, temporary: string, how: Placing): SessionRow {
  const paths = catalog.paths(sessionId);
  catalog.index.whileIncomplete(() => {
    try {
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
    }
    if (how.indexesLater) catalog.index.begin(sessionId, how.replace);
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
