/** The statements on shared sessions, by name; runs in the thread that owns the connections. */
import { PagurusError } from "@pagurus/contract/errors";
import type { BoundThread } from "@pagurus/contract/session/shared-records";
import { acquire, acquireAhead } from "./acquire.ts";
import { AppendLane } from "./append-lane.ts";
import { BindingsTable, type BindingPlace, type BindRequest } from "./bindings-table.ts";
import { Database } from "./connections.ts";
import { Holds, type HoldRequest } from "./holds.ts";
import { mirror } from "./mirror.ts";
import { publish, remove, type PublishedBy } from "./publish.ts";
import { ReceiptsLanes } from "./receipts-lane.ts";
import { SearchIndex, type SearchRequest } from "./search/search-index.ts";
import { COLUMNS, LIVE, sessionOf, type SessionColumns } from "./session-rows.ts";
import type { Target } from "./settings.ts";
import { SpendTable, type SpendPlace, type SpendSums } from "./spend-table.ts";
import {
  type Acquired,
  type AcquireRequest,
  type Ahead,
  type AheadRequest,
  type AppendRequest,
  type Holder,
  type Look,
  type Mirrored,
  type MirrorRequest,
  type PublishRequest,
  type ReceiptsRequest,
  type SharedSession,
} from "./shared-rows.ts";

const STATEMENT_MS = 30_000;
/** A session has one writer, so few connections serve many. */
const CONNECTIONS = 4;

/**
 * A look asks for what changed in transactions that had not ended at the last one. A number that grows would miss a transaction that got its
 * number before the look and ended after it.
 */
const LOOK = `SELECT h.horizon, ${COLUMNS}, ${LIVE} FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon) AS h
 LEFT JOIN {s}.sessions AS s ON s.tenant = current_user AND s.agent = $1 AND ($2::bigint IS NULL OR s.changed >= $2)`;

const LOOK_AT_KEY = `SELECT ${COLUMNS}, ${LIVE} FROM {s}.sessions AS s WHERE tenant = current_user AND agent = $1 AND key = $2`;

const REMOVED = `SELECT session_id FROM {s}.removed
 WHERE tenant = current_user AND agent = $1 AND ($2::bigint IS NULL OR changed >= $2)`;

export class SharedDatabase {
  readonly #database: Database;
  readonly #holds: Holds;
  readonly #receipts: ReceiptsLanes;
  readonly #bindings: BindingsTable;
  readonly #spend: SpendTable;
  readonly #index: SearchIndex;
  readonly #lanes = new Map<string, AppendLane>();
  /** Leases of sessions that are not in the database yet. */
  readonly #coming = new Map<string, PublishedBy>();
  readonly #lost: (lane: string, error: unknown) => void;
  /** Nonces of the leases and holds that are being taken, and of those that nothing waits for any more. */
  readonly #taking = new Set<string>();
  readonly #givenUp = new Set<string>();

  /** `lost` gets the lane's name when a writer cannot write any more. */
  constructor(target: Target, lost: (lane: string, error: unknown) => void) {
    this.#database = new Database(target, { connections: CONNECTIONS, statementMs: STATEMENT_MS });
    this.#holds = new Holds(this.#database);
    this.#receipts = new ReceiptsLanes(this.#database, lost);
    this.#bindings = new BindingsTable(this.#database);
    this.#spend = new SpendTable(this.#database);
    this.#index = new SearchIndex(this.#database);
    this.#lost = lost;
  }

  /** Sessions that changed since a look. */
  async look({ agent, since = null }: { agent: string; since?: string | null }): Promise<Look> {
    type Row = Partial<SessionColumns> & { horizon: string };
    const rows = await this.#read<Row>(LOOK, [agent, since]);
    const removed = await this.#read<{ session_id: string }>(REMOVED, [agent, since]);
    return {
      sessions: rows.filter((row): row is Row & SessionColumns => Boolean(row.session_id)).map(sessionOf),
      removed: removed.map(({ session_id }) => session_id),
      horizon: rows[0]?.horizon ?? "0",
    };
  }

  /** All sessions of a key. */
  async lookAtKey({ agent, key }: { agent: string; key: string }): Promise<SharedSession[]> {
    return (await this.#read<SessionColumns>(LOOK_AT_KEY, [agent, key])).map(sessionOf);
  }

  /** The live writer of a session. */
  async holder({ agent, sessionId }: { agent: string; sessionId: string }): Promise<Holder | null> {
    const [row] = await this.#read<{ holder: Holder | null }>(
      `SELECT ${LIVE} FROM {s}.sessions AS s WHERE tenant = current_user AND agent = $1 AND session_id = $2`,
      [agent, sessionId],
    );
    return row?.holder ?? null;
  }

  acquire(request: AcquireRequest): Promise<Acquired> {
    return this.#take(request.holder, async () => {
      // What follows the lease before would be refused after this one.
      await this.#settle(request);
      const got = await acquire(this.#database, request);
      if (got.state === "won") this.#openOf(request, request.sessionId, got.epoch);
      return got;
    });
  }

  /** Looks for the sessions of a key and, where the lease of the current one is free, takes it. */
  acquireAhead(request: AheadRequest): Promise<Ahead> {
    const { agent, sessionId, holder } = request;
    return this.#take(holder, async () => {
      if (sessionId !== null) await this.#settle({ agent, sessionId });
      const got = await acquireAhead(this.#database, request);
      if (got.won) this.#openOf(request, got.won.session.sessionId, got.won.epoch);
      return got;
    });
  }

  /** Runs what takes a lease or a hold; what came after its caller gave up is released. */
  async #take<T>({ nonce }: Holder, work: () => Promise<T>): Promise<T> {
    this.#taking.add(nonce);
    try {
      return await work();
    } finally {
      this.#taking.delete(nonce);
      if (this.#givenUp.delete(nonce)) await this.giveUp({ nonce });
    }
  }

  /** The caller of a lease or a hold waits no longer: it is released, also where it comes later. */
  async giveUp({ nonce }: { nonce: string }): Promise<void> {
    if (this.#taking.has(nonce)) this.#givenUp.add(nonce);
    else await Promise.all([this.release({ lane: nonce }), this.#holds.giveUp(nonce)]);
  }

  /** Notes a lease of a session that is published next. */
  async expect({ epoch, holder }: { epoch: number; holder: Holder }): Promise<void> {
    this.#coming.set(holder.nonce, { epoch, holder });
  }

  async append({ lane, at, bytes, isWaitedFor }: AppendRequest): Promise<void> {
    await this.#lane(lane).append(at, bytes, isWaitedFor);
  }

  async appendReceipts(request: ReceiptsRequest): Promise<void> {
    await this.#receipts.append(request);
  }

  async bind(request: BindRequest): Promise<void> {
    await this.#bindings.bind(request);
  }

  async bound(place: BindingPlace): Promise<BoundThread | null> {
    return this.#bindings.bound(place);
  }

  async reportSpend(request: SpendPlace & { sums: SpendSums }): Promise<void> {
    await this.#spend.report(request);
  }

  async spendSums(place: SpendPlace): Promise<SpendSums> {
    return this.#spend.sums(place);
  }

  /** After a failure that the writer saw: what is still on its way must not be followed by anything. */
  async abandon({ lane }: { lane: string }): Promise<void> {
    const text = "An entry was not stored in time; open the session again.";
    this.#lanes.get(lane)?.abandon(new PagurusError("store_write_failed", text));
  }

  async release({ lane }: { lane: string }): Promise<void> {
    this.#coming.delete(lane);
    const open = this.#lanes.get(lane);
    this.#lanes.delete(lane);
    if (open) await this.#settle(open.session);
    await open?.close();
    if (open) this.#index.later(open.session.agent, open.session.sessionId);
  }

  async publish(request: PublishRequest): Promise<{ bytes: number; revision: number }> {
    const { agent, sessionId, replaces, lane: name = "" } = request;
    const coming = this.#coming.get(name);
    const lane = this.#lanes.get(name);
    const held = lane && { epoch: lane.session.epoch, holder: null };
    const made = await publish(this.#database, request, replaces ? (held ?? coming) : coming);
    if (coming && !lane) this.#open(name, { agent, sessionId, epoch: coming.epoch });
    // Its caller waited no longer, and released the lease.
    if (!this.#coming.delete(name) && coming) await this.release({ lane: name });
    return made;
  }

  /** Removes the sessions of these leases. */
  async remove({ agent, lanes }: { agent: string; lanes: readonly string[] }): Promise<void> {
    const held = lanes.map((lane) => this.#lane(lane).session);
    await remove(this.#database, agent, held);
  }

  /** Sessions whose messages have the words of a query. */
  async search(request: SearchRequest): Promise<SharedSession[]> {
    return this.#index.search(request);
  }

  /** Of these sessions the ones that were deleted. */
  async removed({ agent, ids }: { agent: string; ids: readonly string[] }): Promise<string[]> {
    const text = `SELECT session_id FROM {s}.removed WHERE tenant = current_user AND agent = $1 AND session_id = ANY($2)`;
    return (await this.#read<{ session_id: string }>(text, [agent, ids])).map((row) => row.session_id);
  }

  async mirror(request: MirrorRequest): Promise<Mirrored | undefined> {
    return mirror(this.#database, request);
  }

  hold(request: HoldRequest): Promise<boolean> {
    return this.#take(request.holder, () => this.#holds.take(request));
  }

  async holderOf({ agent, key }: { agent: string; key: string }): ReturnType<Holds["holder"]> {
    return this.#holds.holder(agent, key);
  }

  async letGo({ nonce }: { nonce: string }): Promise<void> {
    await this.#holds.release(nonce);
  }

  /** Gives every lease back and closes the connections. */
  async end(): Promise<void> {
    await Promise.allSettled([...this.#lanes.values()].map(async (lane) => lane.close()));
    await Promise.all([this.#receipts.end(), this.#bindings.end(), this.#spend.settle()]);
    await this.#holds.end();
    await this.#index.end();
    await this.#database.end();
  }

  /** Waits for what is on its way beside the transcript. */
  async #settle(session: { agent: string; sessionId: string }): Promise<void> {
    await Promise.all([this.#receipts.settle(session), this.#bindings.settle(session)]);
  }

  #read<R extends object>(text: string, values: readonly unknown[]): Promise<R[]> {
    return this.#database.rows<R>("store_read_failed", text, values);
  }

  #openOf({ agent, holder }: { agent: string; holder: Holder }, sessionId: string, epoch: number): void {
    this.#open(holder.nonce, { agent, sessionId, epoch });
  }

  #open(name: string, session: { agent: string; sessionId: string; epoch: number }): void {
    this.#lanes.set(name, new AppendLane(this.#database, session, (error) => this.#lost(name, error)));
  }

  #lane(name: string): AppendLane {
    const lane = this.#lanes.get(name);
    if (lane) return lane;
    throw new PagurusError("lock_lost", "The session is not open for writing any more; open it again.");
  }
}
