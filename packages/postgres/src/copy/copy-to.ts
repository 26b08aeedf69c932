/**
 * `pagurus store copy --to`: the embedded store's transcripts into PostgreSQL. Each key is one transaction with all its generations, so that
 * after a kill a key is there as a whole or not at all, and the next run continues with the first one that is missing.
 */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { SessionStore } from "@pagurus/contract/session/store";
import { readHeader } from "@pagurus/host/stores/files/index/indexer";
import { openSessionStore } from "@pagurus/host/stores/files/session-store";
import type { Queries } from "../connections.ts";
import { requireTables } from "../store-status.ts";
import { receiptsTo, RECEIPTS_DIFFER } from "./copy-receipts.ts";
import {
  holdKey,
  Refused,
  reportedCopy,
  sessionsOf,
  type CopiedKey,
  type CopyOptions,
  type Written,
} from "./copy-report.ts";
import { spendTo } from "./copy-spend.ts";
import { withTranscript, type LocalTranscript } from "./local-transcript.ts";
import { StoredSessions, type StoredSession } from "./stored-sessions.ts";

/** Throws what the database throws, `store_read_failed`. */
export async function copyTo(db: Queries, { home, schema, tell }: CopyOptions): Promise<CopiedKey[]> {
  await requireTables(db, schema);
  const copied: CopiedKey[] = [];
  for (const agent of localAgents(home)) {
    const agentDir = join(home, "agents", agent);
    const store = openSessionStore({ agentDir, agentId: agent });
    const stored = new StoredSessions(db, schema, agent);
    try {
      for (const [key, records] of byKey(store.list())) {
        const work = (): Promise<Written> => heldKey({ db, store, stored, key, records });
        const one = await reportedCopy(agent, key, records.length, work);
        tell(one);
        copied.push(one);
      }
      await spendTo({ db, schema, agent, agentDir }, sessionsOf(store, agent, copied));
    } finally {
      store.close();
    }
  }
  return copied;
}

function localAgents(home: string): string[] {
  const folder = join(home, "agents");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, "sessions")))
    .toSorted();
}

/** Keys in order, each with its generations, the current one last. */
function byKey(records: readonly SessionRecord[]): [string, SessionRecord[]][] {
  const keys = Map.groupBy(records, ({ sessionKey }) => sessionKey);
  return [...keys]
    .map(([key, all]): [string, SessionRecord[]] => [
      key,
      all.toSorted(
        (one, other) => Number(one.current) - Number(other.current) || one.generation - other.generation,
      ),
    ])
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}

interface KeyCopy {
  db: Queries;
  store: SessionStore;
  stored: StoredSessions;
  key: string;
  records: SessionRecord[];
}

async function heldKey(copy: KeyCopy): Promise<Written> {
  const hold = holdKey(copy.store, copy.key);
  try {
    const current = copy.records.find((record) => record.current);
    if (copy.store.find(copy.key)?.sessionId !== current?.sessionId)
      throw new Refused("in_use", `Another program has just changed the session ${copy.key}.`);
    await copy.db.query("begin");
    try {
      const written = await copyKey(copy);
      await copy.db.query("commit");
      return written;
    } catch (error) {
      await copy.db.query("rollback");
      throw error;
    }
  } finally {
    hold.release();
  }
}

async function copyKey({ stored, key, records }: KeyCopy): Promise<Written> {
  const present = await stored.ofKey(key, "lock");
  const here = new Set(records.map(({ sessionId }) => sessionId));
  const isContinuedThere = present.some(({ id }) => !here.has(id));
  let bytes = 0;
  let torn = 0;
  let differ = false;
  for (const record of records) {
    const there = present.find(({ id }) => id === record.sessionId);
    await withTranscript(record.file, async (transcript) => {
      const missing = await missingBytes(stored, record, there, transcript);
      torn += transcript.torn;
      if (missing === 0) return;
      if (isContinuedThere)
        throw new Refused("different", `The key ${key} has a conversation in the database that is not here.`);
      bytes += missing;
      await write(stored, record, there, transcript);
    });
    const receipts = await receiptsTo(stored, dirname(record.file), record.sessionId);
    bytes += receipts.bytes;
    differ ||= receipts.differ;
  }
  const current = records.find((record) => record.current);
  if (current && !isContinuedThere) await stored.makeCurrent(key, current.sessionId);
  const details = [
    ...(torn > 0 ? [`A torn last line of ${torn} bytes stays here; the next opening sets it aside.`] : []),
    ...(differ ? [RECEIPTS_DIFFER] : []),
  ];
  return details.length === 0 ? { bytes } : { bytes, detail: details.join(" ") };
}

/** Throws `Refused` where the database has other content, or a host that uses a session of which bytes are missing. */
async function missingBytes(
  stored: StoredSessions,
  { sessionId, sessionKey }: SessionRecord,
  there: StoredSession | undefined,
  { read, size }: LocalTranscript,
): Promise<number> {
  if (!there) {
    const other = await stored.byId(sessionId);
    if (other)
      throw new Refused(
        "different",
        `The session ${sessionId} of ${sessionKey} has the key ${other.key} there.`,
      );
    return size;
  }
  const { agrees, stored: length } = await stored.compare(sessionId, read, size);
  if (!agrees || length !== there.bytes)
    throw new Refused(
      "different",
      `The session ${sessionId} of ${sessionKey} has other content in the database.`,
    );
  if (length >= size) return 0;
  if (there.isLeased)
    throw new Refused(
      "in_use",
      `The session ${sessionId} of ${sessionKey} is in use by a host of the database.`,
    );
  return size - length;
}

async function write(
  stored: StoredSessions,
  record: SessionRecord,
  there: StoredSession | undefined,
  { read, size, epoch }: LocalTranscript,
): Promise<void> {
  const { sessionId: id, sessionKey: key, generation, folder, createdAt } = record;
  const precedence = readHeader(record.file)?.precedence ?? generation;
  if (!there) await stored.insert({ id, key, generation, precedence, folder, createdAt });
  await stored.append(id, { read, from: there?.bytes ?? 0, to: size, epoch });
  const verified = await stored.compare(id, read, size);
  if (verified.agrees && verified.stored === size) return;
  throw new PagurusError(
    "store_write_failed",
    `The session ${id} of ${key} differs after it was copied; try again.`,
    {
      details: { sessionKey: key, sessionId: id },
    },
  );
}
