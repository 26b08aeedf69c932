/** Whole transcripts into the database, and out of it, in one transaction each. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import { SESSION } from "@pagurus/host/stores/files/spend/spend-scopes";
import { isDuplicate, type Database } from "./connections.ts";
import { nameOf, type Holder, type PublishRequest } from "./shared-rows.ts";

const CHUNK_BYTES = 1024 * 1024;

const OF_SESSION = "tenant = current_user AND agent = $1 AND session_id = $2";

/** The lease under which a session is published; without one the session must not have a live writer. */
export interface PublishedBy {
  epoch: number;
  /** Of a session that is new. */
  holder: Holder | null;
}

type Run = <R extends object>(text: string, values: readonly unknown[]) => Promise<R[]>;

/** Stores a transcript; it becomes the current one of its key. Throws `session_exists`, `lock_lost`, `store_write_failed`. */
export async function publish(
  database: Database,
  request: PublishRequest,
  lease: PublishedBy | undefined,
): Promise<{ bytes: number; revision: number }> {
  const { agent, sessionId, nonce } = request;
  try {
    return await database.transaction("store_write_failed", async (run) => {
      const [done] = await run<{ bytes: string; revision: string }>(
        `SELECT bytes, revision FROM {s}.sessions WHERE ${OF_SESSION} AND published = $3`,
        [agent, sessionId, nonce],
      );
      // The connection was cut after the commit of an earlier try.
      if (done) return { bytes: Number(done.bytes), revision: Number(done.revision) };
      const revision = await placeRow(run, request, { lease, leaseMs: database.target.leaseMs });
      const bytes = await insertChunks(run, request, lease?.epoch ?? 0);
      await run(`UPDATE {s}.sessions SET bytes = $3 WHERE ${OF_SESSION}`, [agent, sessionId, bytes]);
      return { bytes, revision };
    });
  } catch (error) {
    if (!(error instanceof PagurusError) || !isDuplicate(error.cause)) throw error;
    const text = `A session with the key ${request.key}, or the session ${sessionId}, was made on another host meanwhile; choose another key, or delete it first.`;
    throw new PagurusError("session_exists", text, { cause: error.cause, details: { sessionId } });
  }
}

async function placeRow(
  run: Run,
  request: PublishRequest,
  { lease, leaseMs }: { lease: PublishedBy | undefined; leaseMs: number },
): Promise<number> {
  const { agent, sessionId, key, generation, precedence, folder, replaces, nonce, mirror } = request;
  const [newest] = await run<{ precedence: string | null }>(
    `SELECT max(coalesce(precedence, generation)) AS precedence FROM {s}.sessions
     WHERE tenant = current_user AND agent = $1 AND key = $3 AND session_id <> $2`,
    [agent, sessionId, key],
  );
  const isCurrent = precedence >= Number(newest?.precedence ?? 0);
  if (isCurrent)
    await run(
      `UPDATE {s}.sessions SET is_current = false, changed = pg_current_xact_id()::text::bigint
       WHERE tenant = current_user AND agent = $1 AND key = $3 AND session_id <> $2 AND is_current`,
      [agent, sessionId, key],
    );
  const place = [agent, sessionId, key, generation, precedence, isCurrent, folder, nonce];
  if (!replaces) {
    await run(`DELETE FROM {s}.removed WHERE ${OF_SESSION}`, [agent, sessionId]);
    const { holder = null } = lease ?? {};
    const held = [lease?.epoch ?? 0, holder && nameOf(holder), holder, holder ? leaseMs : null];
    await run(
      `INSERT INTO {s}.sessions (agent, session_id, key, generation, precedence, is_current, folder,
         published, epoch, holder, holder_facts, lease_until, mirror, moved)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp() + $12 * interval '1 millisecond', $13, $9)`,
      [...place, ...held, mirror],
    );
    return 0;
  }
  const [replaced] = await run<{ revision: string }>(
    `UPDATE {s}.sessions SET key = $3, generation = $4, precedence = $5, is_current = $6, folder = $7,
       published = $8, revision = revision + 1, changed = pg_current_xact_id()::text::bigint,
       mirror = $10, moved = CASE WHEN mirror = $10 THEN moved ELSE epoch END
     WHERE ${OF_SESSION} AND CASE WHEN $9::bigint IS NULL THEN lease_until IS NULL OR lease_until <= clock_timestamp()
       ELSE epoch = $9 END
     RETURNING revision`,
    [...place, lease?.epoch ?? null, mirror],
  );
  if (!replaced)
    throw new PagurusError(
      "lock_lost",
      `The session ${sessionId} is being written by another host, so its transcript is not replaced; open it again.`,
      { details: { sessionId } },
    );
  await run(`DELETE FROM {s}.chunks WHERE ${OF_SESSION}`, [agent, sessionId]);
  return Number(replaced.revision);
}

async function insertChunks(
  run: Run,
  { agent, sessionId, file }: PublishRequest,
  epoch: number,
): Promise<number> {
  const fd = openSync(file, "r");
  try {
    const { size } = fstatSync(fd);
    for (let at = 0; at < size; at += CHUNK_BYTES) {
      const bytes = Buffer.alloc(Math.min(CHUNK_BYTES, size - at));
      readSync(fd, bytes, 0, bytes.length, at);
      await run("INSERT INTO {s}.chunks (agent, session_id, at, epoch, bytes) VALUES ($1, $2, $3, $4, $5)", [
        agent,
        sessionId,
        at,
        epoch,
        bytes,
      ]);
    }
    return size;
  } finally {
    closeSync(fd);
  }
}

/** Work that servers have accepted for a key without a session, with its events and questions. */
const REMOVE_WORK = `WITH old AS (DELETE FROM {s}.work WHERE tenant = current_user AND agent = $1 AND session = $2 AND state = 'ended'
     AND NOT EXISTS (SELECT FROM {s}.sessions WHERE tenant = current_user AND agent = $1 AND key = $2) RETURNING id),
   events AS (DELETE FROM {s}.events WHERE tenant = current_user AND work IN (SELECT id FROM old))
 DELETE FROM {s}.approvals WHERE tenant = current_user AND work IN (SELECT id FROM old)`;

/** Removes sessions with all that belongs to them; the day's costs stay. `epochs`: of the leases that are held, by session id. Throws `lock_lost`, `store_write_failed`. */
export async function remove(
  database: Database,
  agent: string,
  epochs: readonly { sessionId: string; epoch: number }[],
): Promise<void> {
  await database.transaction("store_write_failed", async (run) => {
    const keys = new Set<string>();
    for (const { sessionId, epoch } of epochs) {
      for (const table of ["chunks", "receipts", "bindings"])
        await run(`DELETE FROM {s}.${table} WHERE ${OF_SESSION}`, [agent, sessionId]);
      await run("DELETE FROM {s}.spend WHERE tenant = current_user AND agent = $1 AND scope = $2", [
        agent,
        `${SESSION}${sessionId}`,
      ]);
      const [gone] = await run<{ key: string }>(
        `DELETE FROM {s}.sessions WHERE ${OF_SESSION} AND epoch = $3 RETURNING key`,
        [agent, sessionId, epoch],
      );
      if (gone) keys.add(gone.key);
      const [known] = gone
        ? [gone]
        : await run(`SELECT FROM {s}.sessions WHERE ${OF_SESSION}`, [agent, sessionId]);
      if (!gone && known)
        throw new PagurusError(
          "lock_lost",
          `Another host took over the session ${sessionId}; nothing was deleted, try again.`,
          { details: { sessionId } },
        );
      // After the session's row, which is locked while its words are added.
      for (const table of ["passages", "indexed"])
        await run(`DELETE FROM {s}.${table} WHERE ${OF_SESSION}`, [agent, sessionId]);
      await run(
        `INSERT INTO {s}.removed (agent, session_id) VALUES ($1, $2)
         ON CONFLICT (tenant, agent, session_id) DO UPDATE SET changed = excluded.changed`,
        [agent, sessionId],
      );
    }
    for (const key of keys) await run(REMOVE_WORK, [agent, key]);
  });
}
