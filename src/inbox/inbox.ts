/**
 * The inbox: work is a durable row before it is acknowledged, once for each idempotency key, and ends exactly once. Rows that are
 * posted together are written in one transaction, so that many clients share an fsync.
 */
import { createHash } from "node:crypto";
import { PagurusError } from "../contract/errors.ts";
import { attempt } from "../data/attempt.ts";
import type { Database } from "../data/sqlite.ts";
import { IdSource } from "../platform/ids.ts";
import type { EventLog } from "./event-log.ts";
import type {
  NewWork,
  Work,
  WorkEnd,
  WorkKind,
  WorkOutcome,
  WorkPlace,
  WorkPolicy,
  WorkState,
} from "./work.ts";

/** Rows of ended work that one call removes at most. */
const PRUNED_AT_ONCE = 500;

interface WorkRow {
  seq: number;
  id: string;
  agent: string;
  session: string;
  kind: WorkKind;
  request: string;
  policy: WorkPolicy;
  origin: string;
  token: string;
  idempotency: string | null;
  digest: string;
  state: WorkState;
  into_work: string | null;
  outcome: WorkOutcome | null;
  error: string | null;
  posted: number;
  started: number | null;
  ended: number | null;
}

/** Writes of the poster that belong to the same transaction. */
export type Alongside = (accepted: { workId: string; isNew: boolean }) => void;

interface Posting {
  work: NewWork;
  alongside: Alongside | undefined;
  digest: string;
  resolve(accepted: Accepted): void;
  reject(error: unknown): void;
}

export interface Accepted {
  work: Work;
  /** False where the idempotency key had been used for the same work. */
  isNew: boolean;
}

function workOf(row: WorkRow): Work {
  return {
    seq: row.seq,
    id: row.id,
    agentId: row.agent,
    sessionKey: row.session,
    kind: row.kind,
    request: JSON.parse(row.request) as Work["request"],
    policy: row.policy,
    origin: row.origin,
    tokenId: row.token,
    ...(row.idempotency === null ? {} : { idempotencyKey: row.idempotency }),
    state: row.state,
    ...(row.into_work === null ? {} : { intoWork: row.into_work }),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
    ...(row.error === null ? {} : { error: JSON.parse(row.error) as NonNullable<Work["error"]> }),
    postedAt: row.posted,
    ...(row.started === null ? {} : { startedAt: row.started }),
    ...(row.ended === null ? {} : { endedAt: row.ended }),
  };
}

function digestOf({ agentId, sessionKey, kind, request, policy }: NewWork): string {
  return createHash("sha256")
    .update(JSON.stringify([agentId, sessionKey, kind, request, policy]))
    .digest("base64url");
}

export interface InboxOptions {
  db: Database;
  events: EventLog;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

export class Inbox {
  readonly #db: Database;
  readonly #events: EventLog;
  readonly #now: () => number;
  readonly #ids: IdSource;
  #postings: Posting[] = [];

  constructor({ db, events, now = Date.now }: InboxOptions) {
    this.#db = db;
    this.#events = events;
    this.#now = now;
    const last = db.get<{ id: string }>("SELECT id FROM work ORDER BY seq DESC LIMIT 1");
    this.#ids = new IdSource({ now, ...(last ? { floor: last.id } : {}) });
  }

  /**
   * Resolves when the work is on disk, with what `alongside` writes. Throws `idempotency_conflict`, `store_write_failed`: then nothing
   * is written.
   */
  post(work: NewWork, alongside?: Alongside): Promise<Accepted> {
    return new Promise((resolve, reject) => {
      if (this.#postings.length === 0) setImmediate(() => this.#write());
      this.#postings.push({ work, alongside, digest: digestOf(work), resolve, reject });
    });
  }

  #write(): void {
    const postings = this.#postings;
    this.#postings = [];
    const done: (() => void)[] = [];
    try {
      this.#db.transaction(() => {
        for (const posting of postings) done.push(this.#insert(posting));
      });
    } catch (error) {
      const failure = new PagurusError(
        "store_write_failed",
        `The work was not accepted, as the inbox cannot be written: ${error instanceof Error ? error.message : String(error)}.`,
        { cause: error },
      );
      for (const { reject } of postings) reject(failure);
      return;
    }
    this.#events.written();
    for (const answer of done) answer();
  }

  #insert({ work, alongside, digest, resolve, reject }: Posting): () => void {
    const { agentId, sessionKey, kind, request, policy, origin, tokenId, idempotencyKey = null } = work;
    const known =
      idempotencyKey === null
        ? undefined
        : this.#db.get<WorkRow>(
            "SELECT * FROM work WHERE token = ? AND idempotency = ?",
            tokenId,
            idempotencyKey,
          );
    if (known && known.digest !== digest) return () => reject(conflict(idempotencyKey ?? "", known.id));
    if (known) {
      alongside?.({ workId: known.id, isNew: false });
      return () => resolve({ work: workOf(known), isNew: false });
    }
    const id = this.#ids.next();
    this.#db.run(
      `INSERT INTO work (id, agent, session, kind, request, policy, origin, token, idempotency, digest, state, posted)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', ?)`,
      id,
      agentId,
      sessionKey,
      kind,
      JSON.stringify(request),
      policy,
      origin,
      tokenId,
      idempotencyKey,
      digest,
      this.#now(),
    );
    this.#events.insert({ workId: id, agentId, sessionKey, type: "work.accepted", data: { kind, origin } });
    alongside?.({ workId: id, isNew: true });
    return () => resolve({ work: this.get(id), isNew: true });
  }

  find(id: string): Work | undefined {
    const row = this.#db.get<WorkRow>("SELECT * FROM work WHERE id = ?", id);
    return row && workOf(row);
  }

  /** Throws `work_not_found`. */
  get(id: string): Work {
    const work = this.find(id);
    if (work) return work;
    throw new PagurusError("work_not_found", `The inbox has no work ${id}; check the id.`, {
      details: { id },
    });
  }

  /** Work that has not ended, of a session or of all, in the order of acceptance. */
  open(place?: WorkPlace): Work[] {
    const rows = place
      ? this.#db.all<WorkRow>(
          "SELECT * FROM work WHERE agent = ? AND session = ? AND state <> 'ended' ORDER BY seq",
          place.agentId,
          place.sessionKey,
        )
      : this.#db.all<WorkRow>("SELECT * FROM work WHERE state <> 'ended' ORDER BY seq");
    return rows.map(workOf);
  }

  /** The newest work of a session first, at most `limit`. */
  ofSession(place: WorkPlace, limit: number): Work[] {
    return this.#db
      .all<WorkRow>(
        "SELECT * FROM work WHERE agent = ? AND session = ? ORDER BY seq DESC LIMIT ?",
        place.agentId,
        place.sessionKey,
        limit,
      )
      .map(workOf);
  }

  /** Work of a session before this one that has not ended. */
  ahead({ agentId, sessionKey, seq }: Work): number {
    const row = this.#db.get<{ n: number }>(
      "SELECT count(*) AS n FROM work WHERE agent = ? AND session = ? AND seq < ? AND state <> 'ended'",
      agentId,
      sessionKey,
      seq,
    );
    return row?.n ?? 0;
  }

  /** The work begins, or begins again after a crash. */
  started(work: Work, isAgain: boolean): void {
    this.#db.transaction(() => {
      this.#db.run("UPDATE work SET state = 'running', started = ? WHERE id = ?", this.#now(), work.id);
      this.#event(work, isAgain ? "work.resumed" : "work.started", {});
    });
    this.#events.written();
  }

  /** It waits again: nothing of it has begun. */
  waits(work: Work, reason: { code: string; message: string }): void {
    this.#db.transaction(() => {
      this.#db.run("UPDATE work SET state = 'waiting' WHERE id = ?", work.id);
      this.#event(work, "work.waiting", reason);
    });
    this.#events.written();
  }

  /** It joins the turn of `into`. */
  steers(work: Work, into: string): void {
    this.#db.run("UPDATE work SET state = 'steering', into_work = ? WHERE id = ?", into, work.id);
  }

  /** It has not joined a turn, and waits for one of its own. */
  queuesAgain(id: string): void {
    this.#db.run(
      "UPDATE work SET state = 'waiting', into_work = NULL WHERE id = ? AND state = 'steering'",
      id,
    );
  }

  /** Ends it, with its last event, in one step; false where it had ended before. */
  ended(work: Work, { outcome, error }: WorkEnd): boolean {
    const isFirst = this.#db.transaction(() => {
      const changed = this.#db.run(
        "UPDATE work SET state = 'ended', outcome = ?, error = ?, ended = ? WHERE id = ? AND state <> 'ended'",
        outcome,
        error ? JSON.stringify(error) : null,
        this.#now(),
        work.id,
      );
      if (changed > 0) this.#event(work, "work.ended", { outcome, ...(error ? { error } : {}) });
      return changed > 0;
    });
    this.#events.written();
    return isFirst;
  }

  /** Takes waiting work out. Throws `work_not_found`; false where it has begun or ended. */
  withdraw(id: string): boolean {
    const work = this.get(id);
    if (work.state !== "waiting") return false;
    return this.ended(work, { outcome: "withdrawn" });
  }

  /** The first session with work after another one, in the order of agents and keys. */
  placeAfter({ agentId, sessionKey }: WorkPlace): WorkPlace | undefined {
    return this.#db.get(
      `SELECT agent AS agentId, session AS sessionKey FROM work WHERE (agent, session) > (?, ?)
       ORDER BY agent, session LIMIT 1`,
      agentId,
      sessionKey,
    );
  }

  /** Whether work of a session ended before a time (ms since the epoch). */
  hasEnded({ agentId, sessionKey }: WorkPlace, before: number): boolean {
    const found = this.#db.get(
      "SELECT 1 FROM work WHERE agent = ? AND session = ? AND state = 'ended' AND ended < ? LIMIT 1",
      agentId,
      sessionKey,
      before,
    );
    return found !== undefined;
  }

  /** Removes all ended work of a session that was deleted, with its events and questions: they contain its text. */
  forget({ agentId, sessionKey }: WorkPlace): void {
    this.#remove("agent = ? AND session = ? AND state = 'ended'", [agentId, sessionKey]);
  }

  /**
   * Removes work that ended before a time (ms since the epoch), with its events, questions and idempotency keys. Looks at the oldest
   * rows only, so that a call's cost does not grow with their number. Returns how many were removed.
   */
  prune(endedBefore: number): number {
    const oldest = `seq IN (SELECT seq FROM work ORDER BY seq LIMIT ${PRUNED_AT_ONCE})`;
    return this.#remove(`${oldest} AND state = 'ended' AND ended < ?`, [endedBefore]);
  }

  #remove(where: string, values: readonly (string | number)[]): number {
    const ids = `SELECT id FROM work WHERE ${where}`;
    return this.#db.transaction(() => {
      this.#db.run(`DELETE FROM events WHERE work IN (${ids})`, ...values);
      this.#db.run(`DELETE FROM approvals WHERE work IN (${ids})`, ...values);
      return this.#db.run(`DELETE FROM work WHERE ${where}`, ...values);
    });
  }

  #event({ id, agentId, sessionKey }: Work, type: string, data: object): void {
    this.#events.insert({ workId: id, agentId, sessionKey, type, data });
  }

  /** Writes what is posted, before the database closes. */
  flush(): void {
    if (this.#postings.length > 0) attempt(() => this.#write());
  }
}

function conflict(key: string, id: string): PagurusError {
  return new PagurusError(
    "idempotency_conflict",
    `The idempotency key ${JSON.stringify(key)} was used for other work (${id}); send the same body again, or take another key.`,
    { details: { id } },
  );
}
