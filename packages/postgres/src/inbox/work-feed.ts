/**
 * What a host learns of the others' work: the database notifies, and a look each second repairs what a notification missed. It also renews
 * this host's claims, and finds claims that ran out, or whose host died.
 */
import { backOffMs } from "@pagurus/core/data/back-off";
import { createHash } from "node:crypto";
import pg from "pg";
import { toPagurusError } from "@pagurus/contract/errors";
import { sleep, withOwnSignal } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import type { Database } from "../connections.ts";
import type { WorkPlace } from "@pagurus/inbox/work";
import { endDeadHosts, isMarked, takeMark } from "./dead-hosts.ts";

/** Interval of looks, ms; without notifications (a pooler in transaction mode does not pass them on) each is a wait for someone. */
const LOOK_MS = 1_000;
const LOOK_UNNOTIFIED_MS = 200;
/** How long the database may take to send a notification back, ms. */
const ECHO_MS = 1_000;
/** Interval of checks whether the connection that listens still works, ms, and how long each of its statements may take. */
const FEED_CHECK_MS = 10_000;
const ANSWER_MS = 5_000;
/** Pauses before it connects again, ms: doubled each time, from the first after a connection that lasted. */
const RECONNECT_MS = 250;
const LONGEST_RECONNECT_MS = 2_000;
const LASTED_MS = 10_000;
/** Longest interval of looks for hosts that died, ms; shorter with a short lease. */
const DEAD_LOOK_MS = 1_000;
/** The host that accepted work begins it before the others look. */
const POLITE_MS = 25;

/** After a claim has run out, ms. */
const OUT_MS = 10;
/** With more of them, one look wakes all readers. */
const MOST_WORKS = 500;

/** A digest that says nothing about the session: any user of the database can listen. */
export function placeDigest({ agentId, sessionKey }: WorkPlace): string {
  return createHash("sha256")
    .update(JSON.stringify([agentId, sessionKey]))
    .digest("base64url")
    .slice(0, 16);
}

export interface FeedListener {
  /** Something may be to do in the session. */
  look(place: WorkPlace): void;
  /** Work of the session was to join a turn that is over. */
  left(place: WorkPlace): void;
  /** Another host has this work now. */
  lost(workId: string): void;
  /** There are events of this work; undefined: perhaps of any. */
  events(work: { place: string; workId: string } | undefined): void;
  /** There are events of these works. */
  stored(works: readonly (WorkPlace & { workId: string })[]): void;
  /** A question may have an answer. */
  answers(): void;
}

interface Head {
  agent: string;
  session: string;
  host: string | null;
  /** Until its claim runs out, ms; null without one. */
  left: number | null;
}

/** The first open work of each session, or of some. */
const HEADS = `SELECT DISTINCT ON (agent, session) agent, session, host,
   (extract(epoch FROM claim_until - clock_timestamp()) * 1000)::float8 AS left
 FROM {s}.work WHERE tenant = current_user AND state IN ('waiting', 'running') AND ($1::text[] IS NULL OR place = ANY($1))
 ORDER BY agent, session, seq`;
/** Sessions with work that was to join a turn, which ended on a host that died before it settled that work. */
const LEFT = `SELECT DISTINCT agent AS "agentId", session AS "sessionKey" FROM {s}.work AS w
 WHERE w.tenant = current_user AND state = 'steering' AND NOT EXISTS (SELECT FROM {s}.work AS into_work
   WHERE into_work.tenant = w.tenant AND into_work.id = w.into_work AND into_work.state <> 'ended')`;
/** Work with events after one. */
const WORKS = `SELECT DISTINCT work AS "workId", agent AS "agentId", session AS "sessionKey" FROM {s}.events
 WHERE tenant = current_user AND seq > $1 LIMIT ${MOST_WORKS}`;
const COUNT = "SELECT events::float8 AS events FROM {s}.counters WHERE tenant = current_user";
/** Rows are locked in the order of ids, as by hosts that take over. */
const RENEW = `WITH own AS (SELECT id FROM {s}.work WHERE tenant = current_user AND host = $1 AND state <> 'ended' ORDER BY id FOR UPDATE)
 UPDATE {s}.work AS w SET claim_until = clock_timestamp() + $2 * interval '1 millisecond'
 FROM own WHERE w.tenant = current_user AND w.id = own.id AND w.host = $1 RETURNING w.id`;

export class WorkFeed {
  readonly #database: Database;
  readonly #host: string;
  readonly #held: ReadonlySet<string>;
  readonly #logger: Logger;
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Sessions whose claim, of another host, is looked at when it runs out. */
  readonly #awaited = new Set<string>();
  /** Sessions of the next look. */
  #places = new Set<string>();
  #channel = "";
  #listener: FeedListener | undefined;
  readonly #closing = new AbortController();
  #isNotified = false;
  #echo: (() => void) | undefined;
  #count = -1;
  #renewedAt = 0;

  /** `held` has the ids of the work that this host runs. */
  constructor(parts: { database: Database; host: string; held: ReadonlySet<string>; logger: Logger }) {
    this.#database = parts.database;
    this.#host = parts.host;
    this.#held = parts.held;
    this.#logger = parts.logger;
  }

  /** Name of the channel of notifications, of this tenant and schema. Throws `store_read_failed`. */
  async prepare(): Promise<void> {
    const [row] = await this.#database.rows<{ name: string }>(
      "store_read_failed",
      "SELECT current_user AS name",
      [],
    );
    const digest = createHash("sha256").update(JSON.stringify([this.#database.target.schema, row?.name]));
    this.#channel = `pagurus_${digest.digest("hex").slice(0, 24)}`;
  }

  get channel(): string {
    return this.#channel;
  }

  /** What a statement of this host notifies the others of. */
  message(kind: "work" | "events" | "answer", place: string, workId = ""): string {
    return [kind, this.#host, place, workId].join(" ");
  }

  start(listener: FeedListener): void {
    this.#listener = listener;
    void this.#listen();
    void this.#turn();
    this.#lookForDead();
  }

  /** Listens until it is closed; a connection that ended is opened again. */
  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    // The connection has this host's mark, whose absence must stay shorter than half a lease.
    const longestMs = Math.min(
      LONGEST_RECONNECT_MS,
      Math.max(RECONNECT_MS, this.#database.target.leaseMs / 8),
    );
    let failures = 0;
    while (!signal.aborted) {
      const from = performance.now();
      await withOwnSignal(signal, (own) => this.#listenOnce(own)).catch((error: unknown) => {
        this.#logger.warn("no notifications of other hosts", { code: toPagurusError(error).code });
      });
      this.#isNotified = false;
      failures = performance.now() - from > LASTED_MS ? 1 : failures + 1;
      await sleep(backOffMs(failures, { firstMs: RECONNECT_MS, longestMs }), signal).catch(() => undefined);
    }
  }

  async #listenOnce(signal: AbortSignal): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#database.target.url,
      application_name: "pagurus notifications",
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    const ended = new Promise<void>((resolve) => {
      client.once("end", resolve);
      client.on("error", () => resolve());
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    client.on("notification", ({ payload = "" }) => this.#notified(payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${this.#channel}`);
      if (isMarked(this.#host)) await takeMark(client);
      this.#isNotified = await this.#isEchoed();
      // What came before it listened.
      this.#listener?.events(undefined);
      this.#listener?.answers();
      await Promise.race([ended, this.#untilSilent(client)]);
    } finally {
      void client.end().catch(() => undefined);
    }
  }

  /** A connection whose other end is gone can stay open for hours. Rejects when it does not answer; resolves when the feed is closed. */
  async #untilSilent(client: pg.Client): Promise<void> {
    for (;;) {
      await sleep(FEED_CHECK_MS, this.#closing.signal).catch(() => undefined);
      if (this.#closing.signal.aborted) return;
      await client.query("SELECT");
    }
  }

  /** By another connection: a pooler passes on what comes while a statement of the same one runs. */
  async #isEchoed(): Promise<boolean> {
    const echoed = new Promise<boolean>((resolve) => {
      this.#echo = () => resolve(true);
      this.#later(ECHO_MS, () => resolve(false));
    });
    const echo = [this.#channel, `echo ${this.#host}`];
    await this.#database.rows("store_read_failed", "SELECT pg_notify($1, $2)", echo);
    return echoed;
  }

  #notified(payload: string): void {
    const [kind, host, place = "", workId = ""] = payload.split(" ");
    if (kind === "echo" && host === this.#host) this.#echo?.();
    if (host === this.#host) return;
    if (kind === "events" || kind === "answer") this.#listener?.events({ place, workId });
    if (kind === "answer") this.#listener?.answers();
    if (kind === "work") this.#later(POLITE_MS, () => this.#lookAt(place));
  }

  /** One look, and the next one later. */
  async #turn(): Promise<void> {
    let isReached = true;
    try {
      await this.#renew();
      await this.#repair();
    } catch (error) {
      this.#logger.warn("shared inbox not reached", { code: toPagurusError(error).code });
      isReached = false;
    }
    const { leaseMs } = this.#database.target;
    const lookMs = isReached && !this.#isNotified ? LOOK_UNNOTIFIED_MS : LOOK_MS;
    this.#later(Math.min(lookMs, leaseMs / 3), () => void this.#turn());
  }

  #lookForDead(): void {
    const { leaseMs } = this.#database.target;
    this.#later(Math.min(DEAD_LOOK_MS, leaseMs / 8), () => {
      const look = async (): Promise<void> => {
        if (await endDeadHosts(this.#database)) await this.#look(null);
      };
      void look()
        // The claims run out by themselves.
        .catch(() => undefined)
        .then(() => this.#lookForDead());
    });
  }

  async #renew(): Promise<void> {
    const { leaseMs } = this.#database.target;
    const now = performance.now();
    if (this.#held.size === 0 || now - this.#renewedAt < leaseMs / 4) return;
    this.#renewedAt = now;
    const held = [...this.#held];
    const rows = await this.#database.rows<{ id: string }>("store_write_failed", RENEW, [
      this.#host,
      leaseMs,
    ]);
    const renewed = new Set(rows.map(({ id }) => id));
    for (const id of held) if (!renewed.has(id) && this.#held.has(id)) this.#listener?.lost(id);
  }

  /** Looks only where something was written since. */
  async #repair(): Promise<void> {
    const [row] = await this.#database.rows<{ events: number }>("store_read_failed", COUNT, []);
    const count = row?.events ?? 0;
    const known = this.#count;
    if (count === known) return;
    await this.#look(null);
    const left = await this.#database.rows<WorkPlace>("store_read_failed", LEFT, []);
    for (const place of left) this.#listener?.left(place);
    await this.#wakeReaders(known);
    this.#listener?.answers();
    this.#count = count;
  }

  /** Also while notifications come: they may have stopped a moment ago. Events become visible in the order of their numbers. */
  async #wakeReaders(known: number): Promise<void> {
    if (known < 0) return this.#listener?.events(undefined);
    type Key = WorkPlace & { workId: string };
    const works = await this.#database.rows<Key>("store_read_failed", WORKS, [known]);
    if (works.length === MOST_WORKS) this.#listener?.events(undefined);
    else this.#listener?.stored(works);
  }

  async #look(places: readonly string[] | null): Promise<void> {
    for (const head of await this.#database.rows<Head>("store_read_failed", HEADS, [places])) {
      const { agent: agentId, session: sessionKey, host, left } = head;
      const isOthers = host !== null && host !== this.#host && (left ?? 0) > 0;
      if (isOthers) this.#lookWhenOut({ agentId, sessionKey }, left ?? 0);
      else this.#listener?.look({ agentId, sessionKey });
    }
  }

  /** The host that has it may have died: then its claim runs out, and no notification reports that. */
  #lookWhenOut(place: WorkPlace, leftMs: number): void {
    const digest = placeDigest(place);
    if (this.#awaited.has(digest)) return;
    this.#awaited.add(digest);
    this.#later(leftMs + OUT_MS, () => {
      this.#awaited.delete(digest);
      this.#lookAt(digest);
    });
  }

  /** One look for all sessions of a moment: the claims of a host that died run out together. */
  #lookAt(digest: string): void {
    if (this.#places.size === 0)
      setImmediate(() => {
        const places = [...this.#places];
        this.#places = new Set();
        // A look that fails is repaired by the next one at all sessions.
        if (!this.#closing.signal.aborted) void this.#look(places).catch(() => (this.#count = -1));
      });
    this.#places.add(digest);
  }

  #later(ms: number, work: () => void): void {
    if (this.#closing.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#closing.signal.aborted) work();
    }, ms);
    this.#timers.add(timer);
    timer.unref();
  }

  close(): void {
    this.#closing.abort();
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
