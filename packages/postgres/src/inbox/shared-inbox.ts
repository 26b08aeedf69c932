/**
 * The inbox in a database that several hosts share. A host claims the first open work of a session for as long as it renews the claim; what it
 * writes about the work is accepted only while it has it. Each change is one statement, so a cut connection leaves none half done.
 */
import { toPagurusError } from "@pagurus/contract/errors";
import { IdSource } from "@pagurus/core/platform/ids";
import {
  workDigest,
  idempotencyConflict,
  workNotFound,
  type Accepted,
  type Alongside,
  type Begun,
  type Inbox,
  type WorkWatcher,
} from "@pagurus/inbox/inbox";
import { workOf, type WorkRow } from "@pagurus/inbox/rows";
import { takeTogether, withoutImages } from "@pagurus/inbox/work-images";
import type { NewWork, Work, WorkEnd, WorkPlace, WorkState } from "@pagurus/inbox/work";
import { Claims, type ClaimsParts } from "./claims.ts";
import type { SharedEvents } from "./shared-events.ts";
import { placeDigest } from "./work-feed.ts";
import { assertStorable, COLUMNS, postedWork, storedImages, WITH_EVENT } from "./work-rows.ts";
import { defined } from "@pagurus/core/data/defined";

/** Rows of ended work that one call removes at most. */
const PRUNED_AT_ONCE = 500;

const NOTIFY = "pg_notify($1, $2)";

const POST = `WITH asked AS (SELECT * FROM json_to_recordset($3::json) AS x(n int, id text, place text, agent text, session text,
     kind text, request text, images text, policy text, origin text, token text, authority text, idempotency text, digest text)),
 counter AS (UPDATE {s}.counters SET events = events + $4 WHERE tenant = current_user RETURNING events - $4 AS base),
 posted AS (INSERT INTO {s}.work (id, seq, place, agent, session, kind, request, images, policy, origin, token, authority, idempotency, digest, state, posted)
   SELECT id, base + n, place, agent, session, kind, request, images, policy, origin, token, authority, idempotency, digest, 'waiting', $5
   FROM asked, counter ORDER BY n ON CONFLICT DO NOTHING RETURNING id, seq, place, agent, session, kind, origin),
 event AS (INSERT INTO {s}.events (seq, work, agent, session, type, data)
   SELECT seq, id, agent, session, 'work.accepted', json_build_object('kind', kind, 'origin', origin)::text FROM posted)
 SELECT id, seq::float8 AS seq, pg_notify($1, $2 || ' ' || place || ' ') FROM posted`;

const WAIT = `WITH changed AS (UPDATE {s}.work SET state = 'waiting'
   WHERE tenant = current_user AND id = $3 AND host = $4 AND state = 'running'
   RETURNING id AS work, agent, session, 'work.waiting' AS event_type, $5 AS event_data),
 ${WITH_EVENT}
 SELECT ${NOTIFY} FROM changed`;

function ending(condition: string): string {
  return `WITH changed AS (UPDATE {s}.work SET state = 'ended', outcome = $3, error = $4, ended = $5, claim_until = NULL
   WHERE tenant = current_user AND id = $6 AND ${condition}
   RETURNING id AS work, agent, session, 'work.ended' AS event_type, $7 AS event_data),
 ${WITH_EVENT}
 SELECT work, ${NOTIFY} FROM changed`;
}

const END = ending("state <> 'ended' AND (host IS NULL OR host = $8 OR state <> 'running')");
const WITHDRAW = ending("state = 'waiting'");

const ASK_STOP = `WITH changed AS (UPDATE {s}.work SET stop_asked = true
   WHERE tenant = current_user AND agent = $3 AND session = $4 AND state = 'running' RETURNING id),
 counter AS (UPDATE {s}.counters SET events = events + 1 WHERE tenant = current_user AND EXISTS (SELECT FROM changed))
 SELECT id, ${NOTIFY} FROM changed`;

const QUEUE_AGAIN = `WITH changed AS (UPDATE {s}.work SET state = 'waiting', into_work = NULL
   WHERE tenant = current_user AND id = $3 AND state = 'steering' RETURNING id),
 counter AS (UPDATE {s}.counters SET events = events + 1 WHERE tenant = current_user AND EXISTS (SELECT FROM changed))
 SELECT ${NOTIFY} FROM changed`;

interface Posting {
  work: NewWork;
  id: string;
  digest: string;
  alongside: Alongside | undefined;
  resolve(accepted: Accepted): void;
  reject(error: unknown): void;
}

export interface SharedInboxParts extends ClaimsParts {
  events: SharedEvents;
}

export class SharedInbox implements Inbox {
  readonly #parts: SharedInboxParts;
  readonly #ids: IdSource;
  readonly #claims: Claims;
  readonly #postings: Posting[] = [];
  #writing: Promise<void> | undefined;

  constructor(parts: SharedInboxParts) {
    this.#parts = parts;
    this.#ids = new IdSource({ now: parts.now });
    this.#claims = new Claims(parts);
  }

  post(work: NewWork, alongside?: Alongside): Promise<Accepted> {
    return new Promise((resolve, reject) => {
      assertStorable(work);
      this.#postings.push({
        work,
        id: this.#ids.next(),
        digest: workDigest(work),
        alongside,
        resolve,
        reject,
      });
      this.#writing ??= this.#write();
    });
  }

  /** What is posted while a statement runs is one statement together, up to the first long one. */
  async #write(): Promise<void> {
    await Promise.resolve();
    while (this.#postings.length > 0) {
      const postings = takeTogether(this.#postings);
      try {
        await this.#insert(postings);
      } catch (error) {
        // Only those that the database refuses fail; where it is away or full, all do.
        const { code } = toPagurusError(error);
        const isRefused = code !== "store_unreachable" && code !== "store_full" && postings.length > 1;
        if (isRefused) for (const each of postings) await this.#insert([each]).catch(each.reject);
        else for (const { reject } of postings) reject(error);
      }
    }
    this.#writing = undefined;
  }

  async #insert(postings: readonly Posting[]): Promise<void> {
    const { database, feed, host, now, events } = this.#parts;
    const postedAt = now();
    const rows = postings.map(({ work, id, digest }, at) => ({
      n: at + 1,
      id,
      digest,
      place: placeDigest(work),
      agent: work.agentId,
      session: work.sessionKey,
      kind: work.kind,
      request: JSON.stringify(withoutImages(work)),
      images: storedImages(work),
      policy: work.policy,
      origin: work.origin,
      token: work.authority.tokenId,
      authority: JSON.stringify(work.authority),
      idempotency: work.idempotencyKey ?? null,
    }));
    const values = [feed.channel, `work ${host}`, JSON.stringify(rows), rows.length, postedAt];
    const stored = await database.rows<{ id: string; seq: number }>("store_write_failed", POST, values);
    const seqs = new Map(stored.map(({ id, seq }) => [id, seq]));
    events.stored(postings.map(({ work, id }) => ({ ...work, workId: id })));
    for (const posting of postings) {
      const { work, id, alongside, resolve, reject } = posting;
      const seq = seqs.get(id);
      try {
        if (seq === undefined) await this.#known(posting);
        else {
          alongside?.({ workId: id, isNew: true });
          resolve({ work: postedWork(work, { id, seq, postedAt }), isNew: true });
        }
      } catch (error) {
        reject(error);
      }
    }
  }

  /** The row is there: of an earlier post with the key, or of a try whose connection was cut. */
  async #known({ work, id, digest, alongside, resolve, reject }: Posting): Promise<void> {
    const [row] = await this.#rows(
      `SELECT ${COLUMNS} FROM {s}.work WHERE tenant = current_user AND (id = $1 OR (token = $2 AND idempotency = $3))`,
      [id, work.authority.tokenId, work.idempotencyKey ?? null],
    );
    if (!row) return reject(workNotFound(id));
    if (row.digest !== digest) return reject(idempotencyConflict(work.idempotencyKey ?? "", row.id));
    const isNew = row.id === id;
    alongside?.({ workId: row.id, isNew });
    resolve({ work: workOf(row), isNew });
  }

  async #rows(text: string, values: readonly unknown[]): Promise<WorkRow[]> {
    return this.#parts.database.rows<WorkRow>("store_read_failed", text, values);
  }

  /** Runs a statement that changes work; its first two values notify the other hosts. Returns the rows that changed. */
  async #change<R extends object>(text: string, message: string, values: readonly unknown[]): Promise<R[]> {
    const { database, feed } = this.#parts;
    return database.rows<R>("store_write_failed", text, [feed.channel, message, ...values]);
  }

  #message(kind: "work" | "events", work: WorkPlace & { id?: string }): string {
    return this.#parts.feed.message(kind, placeDigest(work), work.id);
  }

  async find(id: string): Promise<Work | undefined> {
    const [row] = await this.#rows(
      `SELECT ${COLUMNS} FROM {s}.work WHERE tenant = current_user AND id = $1`,
      [id],
    );
    return row && workOf(row);
  }

  async get(id: string): Promise<Work> {
    const work = await this.find(id);
    if (work) return work;
    throw workNotFound(id);
  }

  async open(place?: WorkPlace): Promise<Work[]> {
    const ofSession = place ? "AND agent = $1 AND session = $2" : "";
    const rows = await this.#rows(
      `SELECT ${COLUMNS} FROM {s}.work WHERE tenant = current_user AND state <> 'ended' ${ofSession} ORDER BY seq`,
      place ? [place.agentId, place.sessionKey] : [],
    );
    return rows.map(workOf);
  }

  async openTokens(): Promise<string[]> {
    const rows = await this.#parts.database.rows<{ token: string }>(
      "store_read_failed",
      "SELECT DISTINCT token FROM {s}.work WHERE tenant = current_user AND state <> 'ended'",
      [],
    );
    return rows.map(({ token }) => token);
  }

  async ofSession({ agentId, sessionKey }: WorkPlace, limit: number): Promise<Work[]> {
    const rows = await this.#rows(
      `SELECT ${COLUMNS} FROM {s}.work WHERE tenant = current_user AND agent = $1 AND session = $2 ORDER BY seq DESC LIMIT $3`,
      [agentId, sessionKey, limit],
    );
    return rows.map(workOf);
  }

  async ahead({ agentId, sessionKey, seq }: Work): Promise<number> {
    const [row] = await this.#parts.database.rows<{ n: number }>(
      "store_read_failed",
      `SELECT count(*)::int AS n FROM {s}.work
       WHERE tenant = current_user AND agent = $1 AND session = $2 AND seq < $3 AND state <> 'ended'`,
      [agentId, sessionKey, seq],
    );
    return row?.n ?? 0;
  }

  async begin(place: WorkPlace): Promise<Begun | undefined> {
    const begun = await this.#claims.begin(place);
    if (begun) this.#stored(begun.work);
    return begun;
  }

  async waits(work: Work, reason?: { code: string; message: string }): Promise<void> {
    if (!reason) return void (await this.#moves(work, { from: ["running"], to: "waiting" }));
    const values = [work.id, this.#parts.host, JSON.stringify(reason)];
    await this.#change(WAIT, this.#message("events", work), values);
    this.#stored(work);
  }

  /** A try whose connection was cut may have changed it. */
  retries(work: Work): Promise<boolean> {
    return this.#moves(work, { from: ["waiting", "running"], to: "running" });
  }

  async #moves({ id }: Work, { from, to }: { from: WorkState[]; to: WorkState }): Promise<boolean> {
    const changed = await this.#parts.database.rows(
      "store_write_failed",
      `UPDATE {s}.work SET state = $3 WHERE tenant = current_user AND id = $1 AND host = $2 AND state = ANY($4) RETURNING id`,
      [id, this.#parts.host, to, from],
    );
    return changed.length > 0;
  }

  async steers({ id }: Work, into: string): Promise<void> {
    await this.#parts.database.rows(
      "store_write_failed",
      `UPDATE {s}.work SET state = 'steering', into_work = $2 WHERE tenant = current_user AND id = $1 AND state = 'waiting'`,
      [id, into],
    );
  }

  async queuesAgain(id: string): Promise<void> {
    const work = await this.get(id);
    await this.#change(QUEUE_AGAIN, this.#message("work", work), [id]);
  }

  async ended(work: Work, end: WorkEnd): Promise<boolean> {
    // Its events come before its end.
    await this.#parts.events.flush();
    return this.#ends(END, work, end, [this.#parts.host]);
  }

  async #ends(
    statement: string,
    work: Work,
    { outcome, error }: WorkEnd,
    more: readonly string[] = [],
  ): Promise<boolean> {
    const { held, now } = this.#parts;
    const data = JSON.stringify({ outcome, ...defined({ error }) });
    const values = [outcome, error ? JSON.stringify(error) : null, now(), work.id, data, ...more];
    const changed = await this.#change(statement, this.#message("events", work), values);
    held.delete(work.id);
    this.#stored(work);
    return changed.length > 0;
  }

  #stored(work: Work): void {
    this.#parts.events.stored([{ ...work, workId: work.id }]);
  }

  async withdraw(id: string): Promise<boolean> {
    const work = await this.get(id);
    return work.state === "waiting" && this.#ends(WITHDRAW, work, { outcome: "withdrawn" });
  }

  async askStop(place: WorkPlace): Promise<boolean> {
    const { agentId, sessionKey } = place;
    return (await this.#change(ASK_STOP, this.#message("work", place), [agentId, sessionKey])).length > 0;
  }

  async placeAfter({ agentId, sessionKey }: WorkPlace): Promise<WorkPlace | undefined> {
    const [row] = await this.#parts.database.rows<WorkPlace>(
      "store_read_failed",
      `SELECT agent AS "agentId", session AS "sessionKey" FROM {s}.work
       WHERE tenant = current_user AND (agent, session) > ($1, $2) ORDER BY agent, session LIMIT 1`,
      [agentId, sessionKey],
    );
    return row;
  }

  async hasEnded({ agentId, sessionKey }: WorkPlace, before: number): Promise<boolean> {
    const found = await this.#parts.database.rows(
      "store_read_failed",
      `SELECT 1 AS found FROM {s}.work
       WHERE tenant = current_user AND agent = $1 AND session = $2 AND state = 'ended' AND ended < $3 LIMIT 1`,
      [agentId, sessionKey, before],
    );
    return found.length > 0;
  }

  async forget({ agentId, sessionKey }: WorkPlace): Promise<void> {
    await this.#remove("agent = $1 AND session = $2 AND state = 'ended'", [agentId, sessionKey]);
  }

  /** One statement: a look at each session would take a round trip for each. */
  async forgetDeleted(endedBefore: number): Promise<void> {
    await this.#remove(
      `id IN (SELECT w.id FROM {s}.work AS w WHERE w.tenant = current_user AND w.state = 'ended' AND w.ended < $1
         AND NOT EXISTS (SELECT FROM {s}.sessions AS s
           WHERE s.tenant = w.tenant AND s.agent = w.agent AND s.key = w.session) LIMIT ${PRUNED_AT_ONCE})`,
      [endedBefore],
    );
  }

  prune(endedBefore: number): Promise<number> {
    return this.#remove(
      `id IN (SELECT id FROM {s}.work WHERE tenant = current_user AND state = 'ended' AND ended < $1 ORDER BY ended LIMIT ${PRUNED_AT_ONCE})`,
      [endedBefore],
    );
  }

  async #remove(where: string, values: readonly unknown[]): Promise<number> {
    const removed = await this.#parts.database.rows(
      "store_write_failed",
      `WITH old AS (DELETE FROM {s}.work WHERE tenant = current_user AND ${where} RETURNING id),
       events AS (DELETE FROM {s}.events WHERE tenant = current_user AND work IN (SELECT id FROM old)),
       approvals AS (DELETE FROM {s}.approvals WHERE tenant = current_user AND work IN (SELECT id FROM old))
       SELECT id FROM old`,
      values,
    );
    return removed.length;
  }

  watch({ look, left, lost }: WorkWatcher): void {
    const { events, held } = this.#parts;
    events.start({
      look,
      left,
      lost: (workId) => {
        held.delete(workId);
        lost(workId);
      },
    });
  }

  /** What this host still claims is free for the others at once. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#claims.settled();
    const { host, held, feed } = this.#parts;
    if (held.size > 0)
      await this.#change(
        `WITH changed AS (UPDATE {s}.work SET claim_until = NULL, host = NULL
           WHERE tenant = current_user AND host = $3 AND state <> 'ended' RETURNING place)
         SELECT pg_notify($1, $2 || place || ' ') FROM changed`,
        feed.message("work", ""),
        [host],
      ).catch(() => undefined);
    held.clear();
  }
}
