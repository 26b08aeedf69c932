/** Conversations of other programs, converted to our transcripts and installed like an import. */
import { defined } from "@pagurus/core/data/defined";
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createHash, hash, randomUUID } from "node:crypto";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, writeAll } from "@pagurus/core/platform/atomic-files";
import { nextSlice } from "@pagurus/core/platform/pace";
import type { Catalog } from "@pagurus/host/stores/files/index/session-catalog";
import {
  exclusively,
  idExists,
  indexInSlices,
  moveIntoPlace,
  newHeader,
  sessionExists,
} from "@pagurus/host/stores/files/create";
import { formatLine } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { writeFailure } from "@pagurus/host/stores/files/failures";
import { copy } from "@pagurus/host/stores/files/transcript/checked-lines";
import type { SessionRow } from "@pagurus/host/stores/files/index/index-rows";
import { assertSessionKey, isSessionKey } from "@pagurus/host/stores/files/keys";
import { assertNotHeld } from "@pagurus/host/stores/files/hold";
import { readAt } from "@pagurus/host/stores/files/transcript/transcript-lines";
import { assertUnlocked } from "@pagurus/host/stores/files/lock";
import { Draft } from "./draft.ts";
import { paced, type ForeignSession } from "./foreign-source.ts";
import { Tally } from "./tally.ts";

/** Bytes that are buffered before they are written. */
const WRITE_BUFFER_BYTES = 512 * 1024;

export interface ImportedSession {
  row: SessionRow;
  sourceId: string;
  tally: Tally;
  /** Its entries before, when it has grown since an earlier import. */
  before?: number;
}

/**
 * Writes one conversation under a key (default: its own). Throws `session_exists` for one that exists already, `import_invalid` for one
 * without content, `store_write_failed`.
 */
export async function importConversation(
  catalog: Catalog,
  format: string,
  source: ForeignSession,
  sessionKey: string | undefined,
): Promise<ImportedSession> {
  const id = sessionIdOf(format, source.sourceId);
  const former = earlierImport(catalog, id, sessionKey);
  const key = former?.key ?? sessionKey ?? ownKey(source.key);
  assertSessionKey(key);
  if (!former) assertFree(catalog, id, key);
  ensurePrivateDir(catalog.folder);
  const scratch = new Scratch(catalog.folder);
  try {
    const tally = await draw(format, source, catalog.now(), (bytes) => scratch.write(bytes));
    scratch.flush();
    // The installation and what follows it take as long as the last slice of the conversion.
    await nextSlice();
    const made = exclusively(catalog, key, () => {
      if (former) return replacedImport(catalog, id, sessionKey, scratch);
      assertFree(catalog, id, key);
      const header = newHeader(catalog, key, source.cwd, id);
      const timestamp = new Date(Math.min(source.startedAt ?? catalog.now(), catalog.now())).toISOString();
      return moveIntoPlace(catalog, id, whole(formatLine({ ...header, timestamp }), scratch), {
        indexesLater: true,
      });
    });
    const row = await indexInSlices(catalog, made);
    // Its caller opens the session, which looks at the last line again.
    await nextSlice();
    return { row, sourceId: source.sourceId, tally, ...defined({ before: former?.entries }) };
  } finally {
    scratch.close();
  }
}

/**
 * Converts a conversation's entries and passes them to `write`; without `write` it is a dry run. Throws `import_invalid` for one without
 * content.
 */
export async function draw(
  format: string,
  source: ForeignSession,
  now: number,
  write: (bytes: Uint8Array) => void = () => undefined,
): Promise<Tally> {
  const tally = new Tally();
  const seed = `${format} ${source.sourceId}`;
  const awaits = source.awaits ? { awaits: source.awaits } : {};
  const draft = new Draft({ seed, now, tally, write, ...awaits });
  await paced(source.fill(draft, tally));
  if (tally.messageCount + tally.notices + tally.summaries > 0) return tally;
  const [first] = tally.unreadable;
  // Unreadable lines are content.
  if (first)
    throw new PagurusError(
      "import_invalid",
      `The session ${source.sourceId} has lines, and none that is a message can be read (line ${first.line}: ${first.problem}); nothing of it was imported.`,
    );
  throw new PagurusError(
    "import_invalid",
    `The session ${source.sourceId} holds no message; there is nothing to import.`,
    { details: { sourceId: source.sourceId } },
  );
}

/**
 * The session of an earlier import of the same conversation, if nothing was added to it here, so that it can be rewritten with what has
 * come since. Throws `session_locked` when it is in use.
 */
function earlierImport(catalog: Catalog, id: string, sessionKey: string | undefined): SessionRow | undefined {
  if (!existsSync(catalog.paths(id).transcript)) return undefined;
  const row = catalog.index.ensure(id)?.row;
  // Each entry written here has the epoch of its writer's lock.
  if (!row || row.epoch > 0 || row.header_length === 0 || !catalog.isCurrent(row)) return undefined;
  if (sessionKey !== undefined && sessionKey !== row.key) return undefined;
  assertNotHeld(catalog, row.key);
  assertUnlocked(catalog.paths(id).lock, row.key);
  return row;
}

/** Throws `session_exists` when the conversation has not grown. */
function replacedImport(
  catalog: Catalog,
  id: string,
  sessionKey: string | undefined,
  entries: Scratch,
): SessionRow {
  const row = earlierImport(catalog, id, sessionKey);
  if (!row) throw idExists(catalog, id);
  const fd = openSync(catalog.paths(id).transcript, "r");
  try {
    const { header_length: from, bytes } = row;
    const size = bytes - from;
    const isSame = size === entries.size && sumOf(fd, from, bytes) === sumOf(entries.fd, 0, size);
    if (isSame || entries.size < size) throw idExists(catalog, id);
    const header = readAt(fd, 0, from);
    const made = moveIntoPlace(catalog, id, whole(header, entries), { replace: true, indexesLater: true });
    // The change of the file is ours.
    catalog.index.forgetNotices(id);
    return made;
  } finally {
    closeSync(fd);
  }
}

function sumOf(fd: number, from: number, end: number): string {
  const sum = createHash("sha1");
  for (const part of copy(fd, from, end)) sum.update(part);
  return sum.digest("hex");
}

function* whole(header: Uint8Array, entries: Scratch): Generator<Uint8Array> {
  yield header;
  yield* copy(entries.fd, 0, entries.size);
}

/** An empty session is replaced. Throws `session_exists`, `session_locked` for one that is being written. */
function assertFree(catalog: Catalog, id: string, key: string): void {
  if (existsSync(catalog.paths(id).transcript)) throw idExists(catalog, id);
  const current = catalog.current(key);
  if (!current) return;
  if (current.entries > 0) throw sessionExists(`A session with the key ${key}`);
  assertUnlocked(catalog.paths(current.id).lock, key);
}

/** The same conversation always has the same id here, so that it is not imported twice. */
export function sessionIdOf(format: string, sourceId: string): string {
  const id = `${format}-${sourceId}`;
  // No dot: the files of a session begin with its id and a dot.
  if (id.length <= 100 && /^[\w-]+$/.test(id)) return id;
  const plain = sourceId.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 60);
  return `${format}-${plain}-${hash("sha1", sourceId, "hex").slice(0, 12)}`;
}

/** A key of another program, made valid here. */
export function ownKey(key: string): string {
  if (isSessionKey(key)) return key;
  return key.replace(/[^\p{L}\p{N}._:@+/#=~-]+/gu, "-").slice(0, 180);
}

/** A file without a name: it disappears whatever happens to the process. */
class Scratch {
  readonly fd: number;
  size = 0;
  readonly #folder: string;
  #parts: Uint8Array[] = [];
  #waiting = 0;

  constructor(folder: string) {
    this.#folder = folder;
    const file = join(folder, `.import-${randomUUID()}.tmp`);
    try {
      this.fd = openSync(file, "wx+", 0o600);
      rmSync(file);
    } catch (error) {
      throw writeFailure(error, file);
    }
  }

  write(bytes: Uint8Array): void {
    // A long line is written as it is, without a copy.
    if (bytes.length >= WRITE_BUFFER_BYTES) this.flush();
    this.#parts.push(bytes);
    this.#waiting += bytes.length;
    if (this.#waiting >= WRITE_BUFFER_BYTES) this.flush();
  }

  flush(): void {
    try {
      const [only] = this.#parts;
      writeAll(this.fd, only && this.#parts.length === 1 ? only : Buffer.concat(this.#parts));
    } catch (error) {
      throw writeFailure(error, this.#folder);
    }
    this.size += this.#waiting;
    this.#parts = [];
    this.#waiting = 0;
  }

  close(): void {
    closeSync(this.fd);
  }
}
