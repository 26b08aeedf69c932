/** The receipts of a session that is copied: they follow its transcript, in either direction. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeAll } from "@pagurus/core/platform/atomic-files";
import { sessionPaths } from "@pagurus/host/stores/files/session-paths";
import { onDisk, withTranscript } from "./local-transcript.ts";
import type { StoredSessions } from "./stored-sessions.ts";

/** Detail of a key. */
export const RECEIPTS_DIFFER = "Receipts of its requests differ between the two sides and were not copied.";

/** What a copy of receipts did. `differ`: the two sides are not the beginning of each other, so nothing was written. */
export type CopiedReceipts = { bytes: number; differ: boolean };

const NOTHING: CopiedReceipts = { bytes: 0, differ: false };

/** Appends what the database lacks of a session whose transcript it has. */
export async function receiptsTo(
  stored: StoredSessions,
  folder: string,
  id: string,
): Promise<CopiedReceipts> {
  const { receipts } = sessionPaths(folder, id);
  if (!existsSync(receipts)) return NOTHING;
  return await withTranscript(receipts, async ({ read, size }) => {
    const { agrees, stored: length } = await stored.compare(id, read, size, "receipts");
    if (!agrees) return { bytes: 0, differ: true };
    if (length >= size) return NOTHING;
    const isDone = await stored.appendReceipts(id, { read, from: length, to: size });
    return isDone ? { bytes: size - length, differ: false } : NOTHING;
  });
}

/** Fetches what this machine lacks. A file is replaced in one step. */
export async function receiptsFrom(
  stored: StoredSessions,
  folder: string,
  id: string,
): Promise<CopiedReceipts> {
  const { receipts } = sessionPaths(folder, id);
  const isHere = existsSync(receipts);
  const here = isHere ? await compared(stored, receipts, id) : { agrees: true, size: 0 };
  if (!here.agrees) return { bytes: 0, differ: true };
  const temporary = join(folder, `.${id}.receipts.${process.pid}.tmp`);
  let bytes = 0;
  try {
    const fd = onDisk(temporary, () => openSync(temporary, "w", 0o600));
    try {
      for await (const part of stored.bytes(id, "receipts")) {
        onDisk(temporary, () => writeAll(fd, part));
        bytes += part.length;
      }
      onDisk(temporary, () => fsyncSync(fd));
    } finally {
      closeSync(fd);
    }
    if (bytes <= here.size) return NOTHING;
    onDisk(receipts, () => renameSync(temporary, receipts));
    return { bytes: bytes - here.size, differ: false };
  } finally {
    rmSync(temporary, { force: true });
  }
}

async function compared(
  stored: StoredSessions,
  file: string,
  id: string,
): Promise<{ agrees: boolean; size: number }> {
  return await withTranscript(file, async ({ read, size, torn }) => {
    const { agrees, stored: length } = await stored.compare(id, read, size, "receipts");
    // A torn line would be lost to a longer file.
    return { agrees: agrees && (torn === 0 || length <= size), size };
  });
}
