/** The inbox in the server's own database. Rows that are posted together are written in one transaction, so that many clients share an fsync. */
import { errorText } from "@pagurus/core/data/error-text";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import type { Database } from "@pagurus/core/data/sqlite";
import { IdSource } from "@pagurus/core/platform/ids";
import { nextSlice } from "@pagurus/core/platform/pace";
import {
  workDigest,
  idempotencyConflict,
  workNotFound,
  type Accepted,
  type Alongside,
  type Begun,
  type Inbox,
} from "./inbox.ts";
import type { LocalEvents } from "./local-events.ts";
import { workOf, type WorkRow } from "./rows.ts";
import { insertImages, readImages, takeTogether, withImages, withoutImages } from "./work-images.ts";
import type { NewWork, Work, WorkEnd, WorkPlace } from "./work.ts";
import { defined } from "@pagurus/core/data/defined";

/** Rows of ended work that one call removes at most. */
const PRUNED_AT_ONCE = 500;

interface Posting {
  work: NewWork;
  alongside: Alongside | undefined;
  digest: string;
  resolve(accepted: Accepted): void;
  reject(error: unknown): void;
}

export interface InboxOptions {
  db: Database;
  events: LocalEvents;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

export class LocalInbox implements Inbox {
  readonly #db: Database;
  readonly #events: LocalEvents;
  readonly #now: () => number;
  readonly #ids: IdSource;
  #postings: Posting[] = [];

  constructor({ db, events, now = Date.now }: InboxOptions) {
    this.#db = db;
    this.#events = events;
    this.#now = now;
    const last = db.get<{ id: string }>("SELECT id FROM work ORDER BY seq DESC LIMIT 1");
    this.#ids = new IdSource({ now, ...defined({ floor: last?.id }) });
  }

  post(work: NewWork, alongside?: Alongside): Promise<Accepted> {
    return new Promise((resolve, reject) => {
      if (this.#postings.length === 0) setImmediate(() => this.#write());
      this.#postings.push({ work, alongside, digest: workDigest(work), resolve, reject });
    });
  }

  #write(): void {
    const postings = takeTogether(this.#postings);
    if (this.#postings.length > 0) void nextSlice().then(() => this.#write());
    const done: (() => void)[] = [];
    try {
      this.#events.storing(() =>
        this.#db.transaction(() => {
          for (const posting of postings) done.push(this.#insert(posting));
        }),
      );
    } catch (error) {
      const failure = new PagurusError(
        "store_write_failed",
        `The work was not accepted, as the inbox cannot be written: ${errorText(error)}.`,
        { cause: error },
      );
      for (const { reject } of postings) reject(failure);
      return;
    }
    for (const answer of done) answer();
  }

  #insert({ work, alongside, digest, resolve, reject }: Posting): () => void {
    const { agentId, sessionKey, kind, policy, origin, authority, idempotencyKey = null } = work;
    const { tokenId } = authority;
    const known =
      idempotencyKey === null
        ? undefined
        : this.#db.get<WorkRow>(
            "SELECT * FROM work WHERE token = ? AND idempotency = ?",
            tokenId,
            idempotencyKey,
          );
    if (known && known.digest !== digest)
      return () => reject(idempotencyConflict(idempotencyKey ?? "", known.id));
    if (known) {
      alongside?.({ workId: known.id, isNew: false });
      return () => resolve({ work: workOf(known), isNew: false });
    }
    const id = this.#ids.next();
    this.#db.run(
      `INSERT INTO work (id, agent, session, kind, request, policy, origin, token, authority, idempotency, digest, state, posted)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', ?)`,
      id,
      agentId,
      sessionKey,
      kind,
      JSON.stringify(withoutImages(work)),
      policy,
      origin,
      tokenId,
      JSON.stringify(authority),
      idempotencyKey,
      digest,
      this.#now(),
    );
    insertImages(this.#db, id, work);
    this.#events.insert({ workId: id, agentId, sessionKey, type: "work.accepted", data: { kind, origin } });
    alongside?.({ workId: id, isNew: true });
    return () => resolve({ work: this.get(id), isNew: true });
  }

  find(id: string): Work | undefined {
    const row = this.#db.get<WorkRow>("SELECT * FROM work WHERE id = ?", id);
    return row && workOf(row);
  }

  get(id: string): Work {
    const work = this.find(id);
    if (work) return work;
    throw workNotFound(id);
  }

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

  openTokens(): string[] {
    return this.#db
      .all<{ token: string }>("SELECT DISTINCT token FROM work WHERE state <> 'ended'")
      .map(({ token }) => token);
  }

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

  ahead({ agentId, sessionKey, seq }: Work): number {
    const row = this.#db.get<{ n: number }>(
      "SELECT count(*) AS n FROM work WHERE agent = ? AND session = ? AND seq < ? AND state <> 'ended'",
      agentId,
      sessionKey,
      seq,
    );
    return row?.n ?? 0;
  }

  /** Turns and compactions are found in their session again; a command that a crash of the machine undid would run twice. */
  #change<T>({ kind }: Work, change: () => T): T {
    return this.#events.storing(() =>
      kind === "command" ? this.#db.transaction(change) : this.#db.unsynced(change),
    );
  }

  begin(place: WorkPlace): Begun | undefined {
    // One row: whoever waits after it may have written thousands.
    const row = this.#db.get<WorkRow>(
      `SELECT * FROM work WHERE agent = ? AND session = ? AND state <> 'ended' AND state <> 'steering' ORDER BY seq LIMIT 1`,
      place.agentId,
      place.sessionKey,
    );
    if (!row) return undefined;
    const work = workOf(row);
    const isAgain = work.state === "running";
    this.#change(work, () => {
      this.#db.run("UPDATE work SET state = 'running', started = ? WHERE id = ?", this.#now(), work.id);
      this.#event(work, isAgain ? "work.resumed" : "work.started", {});
    });
    return { work: withImages(work, readImages(this.#db, work)), isAgain };
  }

  waits(work: Work, reason?: { code: string; message: string }): void {
    this.#change(work, () => {
      const changed = this.#db.run(
        "UPDATE work SET state = 'waiting' WHERE id = ? AND state = 'running'",
        work.id,
      );
      if (changed > 0 && reason) this.#event(work, "work.waiting", reason);
    });
  }

  retries(work: Work): boolean {
    return this.#change(
      work,
      () => this.#db.run("UPDATE work SET state = 'running' WHERE id = ? AND state = 'waiting'", work.id) > 0,
    );
  }

  steers(work: Work, into: string): void {
    this.#db.run("UPDATE work SET state = 'steering', into_work = ? WHERE id = ?", into, work.id);
  }

  queuesAgain(id: string): void {
    this.#db.run(
      "UPDATE work SET state = 'waiting', into_work = NULL WHERE id = ? AND state = 'steering'",
      id,
    );
  }

  ended(work: Work, { outcome, error }: WorkEnd): boolean {
    return this.#change(work, () => {
      const changed = this.#db.run(
        "UPDATE work SET state = 'ended', outcome = ?, error = ?, ended = ? WHERE id = ? AND state <> 'ended'",
        outcome,
        error ? JSON.stringify(error) : null,
        this.#now(),
        work.id,
      );
      if (changed > 0) this.#event(work, "work.ended", { outcome, ...defined({ error }) });
      return changed > 0;
    });
  }

  withdraw(id: string): boolean {
    const work = this.get(id);
    if (work.state !== "waiting") return false;
    return this.ended(work, { outcome: "withdrawn" });
  }

  placeAfter({ agentId, sessionKey }: WorkPlace): WorkPlace | undefined {
    return this.#db.get(
      `SELECT agent AS agentId, session AS sessionKey FROM work WHERE (agent, session) > (?, ?)
       ORDER BY agent, session LIMIT 1`,
      agentId,
      sessionKey,
    );
  }

  hasEnded({ agentId, sessionKey }: WorkPlace, before: number): boolean {
    const found = this.#db.get(
      "SELECT 1 FROM work WHERE agent = ? AND session = ? AND state = 'ended' AND ended < ? LIMIT 1",
      agentId,
      sessionKey,
      before,
    );
    return found !== undefined;
  }

  forget({ agentId, sessionKey }: WorkPlace): void {
    this.#remove("agent = ? AND session = ? AND state = 'ended'", [agentId, sessionKey]);
  }

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

  /** There is no other host. */
  askStop(): boolean {
    return false;
  }

  close(): void {
    if (this.#postings.length > 0) attempt(() => this.#write());
  }
}
