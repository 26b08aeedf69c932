/** Conversations of other programs, written as transcripts of ours and put in place as an import is. */
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { hash, randomUUID } from "node:crypto";
import { PagurusError } from "../../contract/errors.ts";
import { ensurePrivateDir, writeAll } from "../../platform/files.ts";
import type { Catalog } from "../catalog.ts";
import { exclusively, idExists, install, newHeader, sessionExists } from "../create.ts";
import { formatLine } from "../entry.ts";
import { writeFailure } from "../failures.ts";
import { copy } from "../import.ts";
import type { SessionRow } from "../index-rows.ts";
import { assertSessionKey, isSessionKey } from "../keys.ts";
import { assertUnlocked } from "../lock.ts";
import { Draft } from "./draft.ts";
import { paced, type ForeignSession } from "./source.ts";
import { Tally } from "./tally.ts";

/** Bytes that are collected before they are written. */
const BUFFER = 512 * 1024;

export interface ImportedSession {
  row: SessionRow;
  sourceId: string;
  tally: Tally;
}

/**
 * Writes one conversation under a key (default: its own). Throws `session_exists` for one that is here already,
 * `import_invalid` for one that says nothing, `store_write_failed`.
 */
export async function importConversation(
  catalog: Catalog,
  format: string,
  source: ForeignSession,
  sessionKey: string | undefined,
): Promise<ImportedSession> {
  const id = sessionIdOf(format, source.sourceId);
  const key = sessionKey ?? ownKey(source.key);
  assertSessionKey(key);
  assertFree(catalog, id, key);
  ensurePrivateDir(catalog.folder);
  const scratch = new Scratch(catalog.folder);
  try {
    const tally = await draw(format, source, catalog.now(), (bytes) => scratch.write(bytes));
    scratch.flush();
    const row = exclusively(catalog, key, () => {
      assertFree(catalog, id, key);
      const header = newHeader(catalog, key, source.cwd, id);
      const timestamp = new Date(Math.min(source.startedAt ?? catalog.now(), catalog.now())).toISOString();
      return install(catalog, id, whole(formatLine({ ...header, timestamp }), scratch));
    });
    return { row, sourceId: source.sourceId, tally };
  } finally {
    scratch.close();
  }
}

/**
 * Makes the entries of a conversation and hands them over; without `write` it is only seen what would be made. Throws
 * `import_invalid` for one that says nothing.
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
  // Nothing that can be read is not nothing.
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

function* whole(header: Uint8Array, entries: Scratch): Generator<Uint8Array> {
  yield header;
  yield* copy(entries.fd, 0, entries.size);
}

/** An empty session gives way. Throws `session_exists`, `session_locked` for one that is being written. */
function assertFree(catalog: Catalog, id: string, key: string): void {
  if (existsSync(catalog.paths(id).transcript)) throw idExists(catalog, id);
  const current = catalog.current(key);
  if (!current) return;
  if (current.entries > 0) throw sessionExists(`A session with the key ${key}`);
  assertUnlocked(catalog.paths(current.id).lock, key);
}

/** The same conversation has the same id here, so that it is not taken twice. */
export function sessionIdOf(format: string, sourceId: string): string {
  const id = `${format}-${sourceId}`;
  // No dot: the files of a session begin with its id and a dot.
  if (id.length <= 100 && /^[\w-]+$/.test(id)) return id;
  const plain = sourceId.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 60);
  return `${format}-${plain}-${hash("sha1", sourceId, "hex").slice(0, 12)}`;
}

/** A key of another program as one that is valid here. */
export function ownKey(key: string): string {
  if (isSessionKey(key)) return key;
  return key.replace(/[^\p{L}\p{N}._:@+/#=~-]+/gu, "-").slice(0, 180);
}

/** A file without a name: nothing of it stays, whatever happens to the process. */
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
    this.#parts.push(bytes);
    this.#waiting += bytes.length;
    if (this.#waiting >= BUFFER) this.flush();
  }

  flush(): void {
    try {
      writeAll(this.fd, Buffer.concat(this.#parts));
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
