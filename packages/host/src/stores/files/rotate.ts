/** Rotation: a compaction makes another transcript the current generation of a key. */
import { closeSync, fstatSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { Successor } from "@pagurus/contract/session/store";
import type { NewEntry } from "@pagurus/contract/session/transcript";
import type { SessionWriter } from "@pagurus/contract/session/writer";
import type { Catalog } from "./index/session-catalog.ts";
import { exclusively, idExists, moveIntoPlace, newHeader } from "./create.ts";
import { formatLine, type StoredHeader } from "./transcript/transcript-entry.ts";
import { readFailure, systemCode, writeFailure } from "./failures.ts";
import { openTurns, nextKeyPosition, sessionRow, type SessionRow } from "./index/index-rows.ts";
import { ROTATED_CODE, readHeader } from "./index/indexer.ts";
import { isSessionId } from "./keys.ts";
import { acquire, startWriter, type LockedSession, type WarmSessions } from "./open-session.ts";
import {
  storedSource,
  successorBytes,
  writtenSource,
  type SuccessorSource,
} from "./transcript/successor-transcript.ts";
import type { SessionView } from "./transcript/session-view.ts";
import { TranscriptWriter } from "./transcript/transcript-writer.ts";

interface Rotation {
  catalog: Catalog;
  warm: WarmSessions;
  writer: TranscriptWriter;
  /** The present generation. */
  view: SessionView;
  key: string;
  successor: Successor;
  carry: readonly NewEntry[];
}

/**
 * Writes the new transcript, the engine's lines and the live turn's, to a temporary file, and then moves it into the folder: its header
 * says that it is the current generation, so that one step is decisive. Its lock is acquired before. The live turn is closed in the old
 * transcript afterwards, which is then read-only.
 */
export function rotateSession(
  catalog: Catalog,
  warm: WarmSessions,
  writer: SessionWriter,
  successor: Successor,
  carry: readonly NewEntry[],
): SessionWriter {
  if (!(writer instanceof TranscriptWriter))
    throw new PagurusError(
      "internal",
      "A session can only be rotated with the writer that its store opened.",
    );
  const view = writer.handOver();
  const { sessionId } = successor;
  if (!isSessionId(sessionId) || sessionId === view.sessionId)
    throw refused(sessionId, sessionId === view.sessionId ? "is the present one" : "cannot name a session");
  const rotation = { catalog, warm, writer, view, key: view.sessionKey, successor, carry };
  const next = successor.file === undefined ? toStored(rotation) : toFile(rotation, successor.file);
  retire(rotation);
  return next;
}

function refused(sessionId: string, why: string): PagurusError {
  const name = JSON.stringify(sessionId.slice(0, 130));
  return new PagurusError("import_invalid", `The successor ${name} ${why}; the session stays as it is.`, {
    details: { sessionId },
  });
}

/** Rotates to a transcript that an engine wrote. */
function toFile(rotation: Rotation, file: string): SessionWriter {
  const { catalog, warm, writer, view, key, successor } = rotation;
  const { sessionId } = successor;
  const fd = openFile(file, sessionId);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw refused(sessionId, `cannot be taken: ${file} is no file`);
    if (isSame(stat, view.file)) throw refused(sessionId, "has the present transcript as its file");
    const source = writtenSource(fd, stat.size, file, sessionId);
    const paths = catalog.paths(sessionId);
    const lock = catalog.lease({ id: sessionId, key }, Math.max(writer.epoch, source.epoch), 0);
    try {
      const row = exclusively(catalog, key, () => {
        assertCurrent(catalog, view);
        if (catalog.index.use(sessionRow, sessionId)) throw idExists(catalog, sessionId);
        const { timestamp, cwd } = source.header;
        const header = newHeader(catalog, key, cwd ?? writer.record.cwd, sessionId);
        if (timestamp !== undefined) header.timestamp = timestamp;
        // An engine may have written it at the session's own path.
        const replace = isSame(stat, paths.transcript);
        return moveIntoPlace(catalog, sessionId, contentOf(rotation, source, header, lock), { replace });
      });
      try {
        return startWriter(catalog, warm, { lock, row, notices: [] }).writer;
      } catch (error) {
        // The key returns to the old generation, which is complete.
        rmSync(paths.transcript, { force: true });
        catalog.index.ensure(sessionId);
        throw error;
      }
    } catch (error) {
      lock.release();
      throw error;
    }
  } finally {
    closeSync(fd);
  }
}

/** Rotates back to a generation that the key has already. */
function toStored(rotation: Rotation): SessionWriter {
  const { catalog, warm, writer, key, view, successor } = rotation;
  const { sessionId } = successor;
  const present = catalog.generations(key).find((row) => row.id === sessionId);
  if (!present) throw refused(sessionId, `is no session of the key ${key}, and there is no file for it`);
  const candidate: SessionRow = { ...present, epoch: Math.max(present.epoch, writer.epoch) };
  const locked = acquire(catalog, candidate, 0, () => true);
  if (!locked) throw refused(sessionId, "is gone");
  const { lock } = locked;
  try {
    const source = storedSource(catalog, locked.row);
    try {
      return orAsBefore(catalog, sessionId, () => {
        const row = exclusively(catalog, key, () => {
          assertCurrent(catalog, view);
          const header = promotedHeader(catalog, locked.row);
          return moveIntoPlace(catalog, sessionId, contentOf(rotation, source, header, lock), {
            replace: true,
          });
        });
        // The change of its header is ours.
        catalog.index.forgetNotices(sessionId);
        warm.forget(sessionId);
        return startWriter(catalog, warm, { ...locked, row }).writer;
      });
    } finally {
      closeSync(source.fd);
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Keeps the transcript that `work` replaces until it is done; restores it after a failure. */
function orAsBefore<T>(catalog: Catalog, sessionId: string, work: () => T): T {
  const { transcript } = catalog.paths(sessionId);
  const former = join(catalog.folder, `.${sessionId}.${process.pid}.former.tmp`);
  try {
    rmSync(former, { force: true });
    linkSync(transcript, former);
  } catch (error) {
    throw writeFailure(error, former);
  }
  try {
    return work();
  } catch (error) {
    renameSync(former, transcript);
    catalog.index.ensure(sessionId);
    catalog.index.forgetNotices(sessionId);
    throw error;
  } finally {
    rmSync(former, { force: true });
  }
}

function contentOf(
  rotation: Rotation,
  source: SuccessorSource,
  header: StoredHeader,
  lock: LockedSession["lock"],
): Iterable<Uint8Array> {
  const { catalog, view, carry } = rotation;
  return successorBytes({
    source,
    header: formatLine(header),
    view,
    carry,
    epoch: lock.epoch,
    now: catalog.now,
  });
}

/** Throws `lock_lost` when the key was renewed meanwhile: the user's new generation stays current. */
function assertCurrent(catalog: Catalog, view: SessionView): void {
  if (catalog.current(view.sessionKey)?.id === view.sessionId) return;
  throw new PagurusError(
    "lock_lost",
    `The session ${view.sessionId} is not the current one of ${view.sessionKey} any more, so it gets no successor.`,
  );
}

/** The header of an earlier generation that becomes the current one; a lost one is written again. */
function promotedHeader(catalog: Catalog, row: SessionRow): StoredHeader {
  const { precedence } = catalog.index.use(nextKeyPosition, row.key);
  const written = row.header_length > 0 ? readHeader(catalog.paths(row.id).transcript) : undefined;
  const header: StoredHeader = written ?? {
    type: "session",
    version: 3,
    id: row.id,
    timestamp: row.created,
    cwd: row.cwd,
  };
  return { ...header, key: row.key, generation: row.generation, precedence };
}

/** Records in the old transcript that the live turn continued elsewhere, so that no reader takes it for interrupted. */
function retire({ writer, view, catalog }: Rotation): void {
  try {
    for (const { turn } of view.ask(openTurns))
      writer.commitTurn({ turnId: turn, outcome: "interrupted", code: ROTATED_CODE });
  } catch (error) {
    // Only a notice: the generation is complete without it, and no engine is offered a turn of an earlier generation.
    catalog.logger.warn("The former transcript got no note of its successor.", {
      sessionId: view.sessionId,
      code: systemCode(error),
    });
  }
  writer.close();
}

function openFile(file: string, sessionId: string): number {
  try {
    return openSync(file, "r");
  } catch (error) {
    const { message } = readFailure(error, file);
    throw new PagurusError("import_invalid", `The successor ${sessionId} cannot be taken: ${message}`, {
      cause: error,
      details: { sessionId, file },
    });
  }
}

function isSame(stat: { dev: number; ino: number }, file: string): boolean {
  const other = statSync(file, { throwIfNoEntry: false });
  return other?.dev === stat.dev && other.ino === stat.ino;
}
