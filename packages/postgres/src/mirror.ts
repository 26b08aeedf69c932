/** Brings a local file of a session to the bytes that the database has. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
} from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import { writeAll } from "@pagurus/core/platform/atomic-files";
import type { Database } from "./connections.ts";
import type { Mirrored, MirrorRequest, StreamName } from "./shared-rows.ts";

/** Fetched at once: the chunks that begin in so many bytes. A turn's chunk is short, so a number of them would take many round trips. */
const MIRROR_SLICE_BYTES = 4 * 1024 * 1024;
/** Of the bytes that are known to be the same, this many are compared all the same: a database restored from a backup has others. */
const CHECKED_BYTES = 64 * 1024;
const COPY_BYTES = 1024 * 1024;

/** What can be read now; a writer of another host may add more meanwhile. */
const chunksOf = (
  table: string,
  columns: string,
): string => `SELECT c.at, c.bytes, ${columns} FROM {s}.sessions AS s LEFT JOIN LATERAL (
     SELECT at, bytes FROM {s}.${table} AS k
     WHERE k.tenant = s.tenant AND k.agent = s.agent AND k.session_id = s.session_id AND k.at >= coalesce(
       (SELECT max(b.at) FROM {s}.${table} AS b
        WHERE b.tenant = s.tenant AND b.agent = s.agent AND b.session_id = s.session_id AND b.at <= $3), 0)
       AND k.at < $3::bigint + ${MIRROR_SLICE_BYTES}) AS c ON true
 WHERE s.tenant = current_user AND s.agent = $1 AND s.session_id = $2 ORDER BY c.at`;

const CHUNKS: Readonly<Record<StreamName, string>> = {
  transcript: chunksOf("chunks", "s.bytes AS size, s.revision"),
  receipts: chunksOf("receipts", "s.receipt_bytes AS size, '0' AS revision"),
};

interface ChunkRow {
  at: string | null;
  bytes: Buffer | null;
  size: string;
  revision: string;
}

/**
 * Compares what is not known to be the same and fetches what is missing. Local bytes that the database does not have are moved to the file
 * of unsent ones, durably; receipts that follow those of the database stay, since they may be on their way. A file whose every byte the
 * database had (`confirmed`), and replaced since, is dropped. Undefined: the database has no such session. Throws `store_read_failed`, and
 * the system's errors.
 */
export async function mirror(database: Database, request: MirrorRequest): Promise<Mirrored | undefined> {
  let fd = openSync(request.file, constants.O_RDWR | constants.O_CREAT, 0o600);
  let setAside = 0;
  try {
    let at = Math.max(0, Math.min(request.confirmed, fstatSync(fd).size) - CHECKED_BYTES);
    let revision: string | undefined;
    for (;;) {
      const values = [request.agent, request.sessionId, at];
      const rows = await database.rows<ChunkRow>("store_read_failed", CHUNKS[request.stream], values);
      const [first] = rows;
      if (!first) return undefined;
      const isReplaced = revision !== undefined && revision !== first.revision;
      revision = first.revision;
      const taken = isReplaced ? undefined : takeChunks(fd, at, rows);
      if (taken === undefined) {
        // The file has another history: it is kept, unless the database had all of it, and fetched again.
        const { size } = fstatSync(fd);
        const isKnown = isReplaced || size === request.confirmed;
        setAside += isKnown ? 0 : size;
        closeSync(fd);
        if (isKnown) rmSync(request.file);
        else renameSync(request.file, freeFile(request.unsent));
        fd = openSync(request.file, constants.O_RDWR | constants.O_CREAT, 0o600);
        at = 0;
        continue;
      }
      const bytes = Number(first.size);
      if (taken < bytes && taken > at) {
        at = taken;
        continue;
      }
      if (taken < bytes) throw incomplete(database, request, taken);
      if (request.stream === "transcript") setAside += cutTail(fd, bytes, request.unsent);
      fsyncSync(fd);
      return { bytes, revision: Number(first.revision), setAside };
    }
  } finally {
    closeSync(fd);
  }
}

function incomplete(database: Database, { sessionId }: MirrorRequest, at: number): PagurusError {
  const { place } = database.target;
  return new PagurusError(
    "store_read_failed",
    `The database ${place} lacks a part of the session ${sessionId} from byte ${at} on; restore it from a backup.`,
    { details: { sessionId, at } },
  );
}

/** Writes what the file lacks; returns the end of the chunks. Undefined: the file has other bytes. */
function takeChunks(fd: number, from: number, rows: readonly ChunkRow[]): number | undefined {
  const { size } = fstatSync(fd);
  let end = from;
  for (const { at: offset, bytes } of rows) {
    if (offset === null || bytes === null) continue;
    const at = Number(offset);
    const present = bytes.subarray(0, Math.max(0, Math.min(bytes.length, size - at)));
    const local = Buffer.alloc(present.length);
    readSync(fd, local, 0, local.length, at);
    if (!local.equals(present)) return undefined;
    if (present.length < bytes.length) writeAll(fd, bytes.subarray(present.length), at + present.length);
    end = Math.max(end, at + bytes.length);
  }
  return end;
}

/** Moves what follows `size` to the end of `unsent`; returns its bytes. */
function cutTail(fd: number, size: number, unsent: string): number {
  const { size: present } = fstatSync(fd);
  if (present <= size) return 0;
  const aside = openSync(unsent, "a", 0o600);
  try {
    for (let at = size; at < present; at += COPY_BYTES) {
      const part = Buffer.alloc(Math.min(COPY_BYTES, present - at));
      readSync(fd, part, 0, part.length, at);
      writeAll(aside, part);
    }
    fsyncSync(aside);
  } finally {
    closeSync(aside);
  }
  ftruncateSync(fd, size);
  return present - size;
}

function freeFile(file: string): string {
  for (let copy = 1; ; copy += 1) {
    const name = `${file}-${copy}`;
    if (!existsSync(name)) return name;
  }
}
