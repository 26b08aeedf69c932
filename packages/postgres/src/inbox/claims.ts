/**
 * Claims of work. What is asked for while a statement runs is one statement together: a host that takes over many sessions of another one has
 * them all before it works in the first.
 */
import type { Database } from "../connections.ts";
import type { Begun } from "@pagurus/inbox/inbox";
import type { WorkRow } from "@pagurus/inbox/rows";
import type { WorkPlace } from "@pagurus/inbox/work";
import { placeDigest, type WorkFeed } from "./work-feed.ts";
import { COLUMNS, wholeWork } from "./work-rows.ts";

/**
 * Rows are locked in one order by all hosts. A try whose connection was cut may have claimed the work: then it is found again, without a second
 * event, as what it was before the claim. `$8`: what this process knows to have begun.
 */
const BEGIN = `WITH firsts AS (SELECT f.id FROM unnest($2::text[], $3::text[]) AS asked(agent, session),
   LATERAL (SELECT id FROM {s}.work AS w WHERE tenant = current_user AND w.agent = asked.agent AND w.session = asked.session
     AND state IN ('waiting', 'running') ORDER BY seq LIMIT 1) AS f),
 found AS (SELECT id, state, coalesce(state = 'running' AND host = $5 AND id <> ALL($8::text[]), false) AS own FROM {s}.work
   WHERE tenant = current_user AND id IN (SELECT id FROM firsts) AND state IN ('waiting', 'running') ORDER BY id FOR UPDATE),
 claimed AS (UPDATE {s}.work AS w SET state = 'running', started = $4, host = $5, home = $6,
     claim_until = clock_timestamp() + $7 * interval '1 millisecond'
   FROM found WHERE w.tenant = current_user AND w.id = found.id
     AND (w.host IS NULL OR w.host = $5 OR w.claim_until < clock_timestamp())
   RETURNING w.*, found.own,
     CASE WHEN found.own THEN (SELECT e.type = 'work.resumed' FROM {s}.events AS e WHERE e.tenant = w.tenant AND e.work = w.id
         AND e.type IN ('work.started', 'work.resumed') ORDER BY e.seq DESC LIMIT 1)
       ELSE found.state = 'running' END AS again),
 changed AS (SELECT *, row_number() OVER (ORDER BY seq) AS n FROM claimed WHERE NOT own),
 counter AS (UPDATE {s}.counters SET events = events + (SELECT count(*) FROM changed)
   WHERE tenant = current_user AND EXISTS (SELECT FROM changed) RETURNING events - (SELECT count(*) FROM changed) AS base),
 event AS (INSERT INTO {s}.events (seq, work, agent, session, type, data)
   SELECT base + n, id, agent, session, CASE WHEN again THEN 'work.resumed' ELSE 'work.started' END, '{}' FROM changed, counter)
 SELECT ${COLUMNS}, images, again, pg_notify($1, 'events ' || $5 || ' ' || place || ' ' || id) FROM claimed`;

interface ClaimedRow extends WorkRow {
  images: string | null;
  again: boolean;
}

interface Asked {
  place: WorkPlace;
  resolve(begun: Begun | undefined): void;
  reject(error: unknown): void;
}

export interface ClaimsParts {
  database: Database;
  feed: WorkFeed;
  /** Names this process among the hosts. */
  host: string;
  /** Names this host's folder. */
  home: string;
  /** Gets the ids of the work that this host runs. */
  held: Set<string>;
  now: () => number;
}

export class Claims {
  readonly #parts: ClaimsParts;
  #asked: Asked[] = [];
  #claiming: Promise<void> | undefined;

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
  }

  /** As `Inbox.begin`. */
  begin(place: WorkPlace): Promise<Begun | undefined> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ place, resolve, reject });
      this.#claiming ??= this.#claim();
    });
  }

  /** Resolves when nothing is being claimed. */
  async settled(): Promise<void> {
    await this.#claiming;
  }

  async #claim(): Promise<void> {
    await Promise.resolve();
    while (this.#asked.length > 0) {
      const asked = this.#asked;
      this.#asked = [];
      try {
        const begun = await this.#begun(asked.map(({ place }) => place));
        for (const { place, resolve } of asked) resolve(begun.get(placeDigest(place)));
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    this.#claiming = undefined;
  }

  async #begun(places: readonly WorkPlace[]): Promise<Map<string, Begun>> {
    const { database, feed, host, home, held, now } = this.#parts;
    const agents = places.map(({ agentId }) => agentId);
    const sessions = places.map(({ sessionKey }) => sessionKey);
    const { leaseMs } = database.target;
    const values = [feed.channel, agents, sessions, now(), host, home, leaseMs, [...held]];
    const rows = await database.rows<ClaimedRow>("store_write_failed", BEGIN, values);
    const begun = new Map<string, Begun>();
    for (const row of rows) {
      const work = wholeWork(row);
      held.add(work.id);
      begun.set(placeDigest(work), { work, isAgain: row.again });
    }
    return begun;
  }
}
