/**
 * `pagurus store copy --from`: transcripts of PostgreSQL into the embedded store. A transcript is written to a temporary file, verified, and
 * moved into place in one step, so that after a kill it is there as a whole or not at all; the next run continues.
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import { fsyncDir, sweepTemporaries, writeAll } from "@pagurus/core/platform/atomic-files";
import { silentLogger } from "@pagurus/core/platform/log";
import { readHeader } from "@pagurus/host/stores/files/index/indexer";
import { SessionIndex } from "@pagurus/host/stores/files/index/session-index";
import { writeKeyFile } from "@pagurus/host/stores/files/key-file";
import { isSessionId, isSessionKey } from "@pagurus/host/stores/files/keys";
import { withMutex } from "@pagurus/host/stores/files/mutex";
import { sessionPaths } from "@pagurus/host/stores/files/session-paths";
import { openSessionStore } from "@pagurus/host/stores/files/session-store";
import type { Queries } from "../connections.ts";
import { requireTables } from "../store-status.ts";
import { receiptsFrom, RECEIPTS_DIFFER } from "./copy-receipts.ts";
import {
  holdKey,
  Refused,
  reportedCopy,
  sessionsOf,
  type CopiedKey,
  type CopyOptions,
  type Written,
} from "./copy-report.ts";
import { spendFrom } from "./copy-spend.ts";
import { onDisk, withTranscript } from "./local-transcript.ts";
import { storedAgents, StoredSessions, type StoredSession } from "./stored-sessions.ts";

/** Throws what the database throws, `store_read_failed`, `store_write_failed`. */
export async function copyFrom(
  db: Queries,
  options: CopyOptions & { agentDir(agent: string): string },
): Promise<CopiedKey[]> {
  await requireTables(db, options.schema);
  const copied: CopiedKey[] = [];
  for (const agent of await storedAgents(db, options.schema)) {
    const target = openTarget(options.agentDir(agent), agent);
    const stored = new StoredSessions(db, options.schema, agent);
    try {
      for (const key of await stored.keys()) {
        const one = await snapshot(db, async () => {
          const sessions = await stored.ofKey(key, "read");
          return await reportedCopy(agent, key, sessions.length, () =>
            heldKey({ target, stored, key, sessions }),
          );
        });
        options.tell(one);
        copied.push(one);
      }
      await spendFrom(
        { db, schema: options.schema, agent, agentDir: options.agentDir(agent) },
        sessionsOf(target.store, agent, copied),
      );
    } finally {
      target.index.close();
      target.store.close();
    }
  }
  return copied;
}

/** The embedded store of one agent. */
interface Target {
  folder: string;
  store: SessionStore;
  index: SessionIndex;
  /** Keys of the sessions that were here before, by id. */
  keys: ReadonlyMap<string, string>;
}

function openTarget(agentDir: string, agentId: string): Target {
  const folder = join(agentDir, "sessions");
  const store = openSessionStore({ agentDir, agentId });
  const keys = new Map(store.list().map(({ sessionId, sessionKey }) => [sessionId, sessionKey]));
  return { folder, store, index: new SessionIndex(agentDir, folder, silentLogger), keys };
}

/** Runs work that sees the database as it is now, whatever hosts write meanwhile. */
async function snapshot<T>(db: Queries, work: () => Promise<T>): Promise<T> {
  await db.query("begin isolation level repeatable read read only");
  try {
    return await work();
  } finally {
    // A reading transaction has nothing to commit, and a failed one can only be rolled back.
    await db.query("rollback");
  }
}

interface KeyCopy {
  target: Target;
  stored: StoredSessions;
  key: string;
  sessions: StoredSession[];
}

async function heldKey({ target, stored, key, sessions }: KeyCopy): Promise<Written> {
  if (!isSessionKey(key)) throw new Refused("different", "The key is not one that this program allows.");
  const leased = sessions.find(({ isLeased }) => isLeased);
  if (leased)
    throw new Refused("in_use", `The session ${leased.id} of ${key} is in use by a host of the database.`);
  const hold = holdKey(target.store, key);
  try {
    const there = new Set(sessions.map(({ id }) => id));
    const isContinuedHere = [...target.keys].some(([id, own]) => own === key && !there.has(id));
    let bytes = 0;
    let differ = false;
    // The current generation last: until then the key has its former one.
    for (const session of sessions.toSorted(
      (one, other) => Number(one.isCurrent) - Number(other.isCurrent),
    )) {
      const from = await presentBytes(stored, session, target);
      if (from < session.bytes) {
        if (isContinuedHere)
          throw new Refused("different", `The key ${key} has a conversation here that is not there.`);
        await fetchTranscript(stored, session, target);
        bytes += session.bytes - Math.max(0, from);
      }
      const receipts = await receiptsFrom(stored, target.folder, session.id);
      bytes += receipts.bytes;
      differ ||= receipts.differ;
    }
    return differ ? { bytes, detail: RECEIPTS_DIFFER } : { bytes };
  } finally {
    hold.release();
  }
}

/** Bytes of a session that are here; -1 for none. Throws `Refused` where the file has other content. */
async function presentBytes(
  stored: StoredSessions,
  { id, key }: StoredSession,
  target: Target,
): Promise<number> {
  if (!isSessionId(id))
    throw new Refused("different", `A session of ${key} has an id that cannot name a file.`);
  const own = target.keys.get(id);
  if (own !== undefined && own !== key)
    throw new Refused("different", `The session ${id} of ${key} has the key ${own} here.`);
  const { transcript } = sessionPaths(target.folder, id);
  if (!existsSync(transcript)) return -1;
  return await withTranscript(transcript, async ({ read, size, torn }) => {
    const { agrees, stored: length } = await stored.compare(id, read, size);
    if (!agrees || (torn > 0 && length > size))
      throw new Refused("different", `The session ${id} of ${key} has other content here.`);
    return size;
  });
}

async function fetchTranscript(
  stored: StoredSessions,
  session: StoredSession,
  target: Target,
): Promise<void> {
  const { id, key } = session;
  const { folder, index } = target;
  const paths = sessionPaths(folder, id);
  // Of a run that was killed.
  sweepTemporaries(join(folder, id));
  const temporary = join(folder, `.${id}.${process.pid}.tmp`);
  try {
    const fd = onDisk(temporary, () => openSync(temporary, "w", 0o600));
    try {
      for await (const part of stored.bytes(id)) onDisk(temporary, () => writeAll(fd, part));
      onDisk(temporary, () => fsyncSync(fd));
    } finally {
      closeSync(fd);
    }
    await verify(stored, session, temporary);
    index.whileIncomplete(() =>
      withMutex(folder, () =>
        onDisk(paths.transcript, () => {
          writeKey(session, temporary, paths.key);
          // Unlike a rename, a link never replaces what another program has just created.
          if (target.keys.has(id)) renameSync(temporary, paths.transcript);
          else linkSync(temporary, paths.transcript);
          fsyncDir(folder);
        }),
      ),
    );
    index.ensure(id);
  } catch (error) {
    if (isPagurusError(error) && error.details["code"] === "EEXIST")
      throw new Refused("different", `Another program has just created the session ${id} of ${key}.`);
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

async function verify(
  stored: StoredSessions,
  { id, key, bytes }: StoredSession,
  file: string,
): Promise<void> {
  await withTranscript(file, async ({ read, size }) => {
    const { agrees, stored: length } = await stored.compare(id, read, size);
    if (agrees && length === size && size === bytes) return;
    throw new PagurusError(
      "store_write_failed",
      `The session ${id} of ${key} differs after it was copied; try again.`,
      {
        details: { sessionKey: key, sessionId: id },
      },
    );
  });
}

/** Writes the key beside the transcript where the header has another one or is lost. */
function writeKey({ key, generation, precedence }: StoredSession, transcript: string, keyFile: string): void {
  const header = readHeader(transcript);
  if (header?.key === key) return;
  writeKeyFile(keyFile, { key, ...(header ? {} : { order: { generation, precedence } }) });
}
