/** Carries data that no transcript has from an old database to a new one: pins, offered turns, the last hour's spend. */
import { existsSync } from "node:fs";
import { isDamage } from "../store/damage.ts";
import { checkedRow } from "../store/sums.ts";
import { connect } from "../store/open-database.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { Pin, Spend } from "../store/store-types.ts";
import { HOUR_MS } from "@pagurus/core/data/interval";
import { defined } from "@pagurus/core/data/defined";

export interface Carried {
  /** By session id. */
  pins: ReadonlyMap<string, readonly Pin[]>;
  states: ReadonlyMap<string, unknown>;
  /** Session keys by session id. */
  keys: ReadonlyMap<string, string>;
  /** Spend of the last hour, so that a new database does not reset the hourly limit. */
  spend: readonly Spend[];
}

export const NOTHING: Carried = { pins: new Map(), states: new Map(), keys: new Map(), spend: [] };

/** Reads the data; undefined when the database is too damaged. Throws SQLite's other errors. */
export function carriedFrom(file: string): Carried | undefined {
  if (!existsSync(file)) return NOTHING;
  let db: Database | undefined;
  try {
    db = connect(file);
    return readFrom(db);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  } finally {
    db?.close();
  }
}

function readFrom(db: Database): Carried {
  const pins = new Map<string, Pin[]>();
  const rows = db.all<{ name: string; id: string; at: number; note: string | null }>(
    "SELECT p.*, s.id AS name FROM pins p JOIN sessions s ON s.num = p.session ORDER BY p.at, p.id",
  );
  for (const row of rows) {
    const { name: session, id, at, note } = checkedRow("pins", row);
    const pin = { entryId: id, pinnedAt: at, ...defined({ note: note ?? undefined }) };
    pins.set(session, [...(pins.get(session) ?? []), pin]);
  }
  const states = db
    .all<{ id: string; state: string }>("SELECT * FROM sessions WHERE state IS NOT NULL")
    .map((row) => {
      const { id, state } = checkedRow("sessions", row);
      return [id, JSON.parse(state) as unknown] as const;
    });
  const spend = db.all<Spend>(
    `SELECT s.id AS sessionId, at, calls, tokens, cost FROM spend JOIN sessions s ON s.num = spend.session
     WHERE at >= ?`,
    Date.now() - HOUR_MS,
  );
  const keys = db
    .all<{ id: string; key: string }>("SELECT * FROM sessions WHERE key IS NOT NULL")
    .map((row) => checkedRow("sessions", row))
    .map(({ id, key }) => [id, key] as const);
  return { pins, states: new Map(states), keys: new Map(keys), spend };
}

/** Writes the data of one session back, and registers that session. */
export function carryInto(
  store: LosslessStore,
  carried: Carried,
  sessionId: string,
  sessionKey?: string,
): void {
  store.transaction(() => {
    store.openSession(sessionId, sessionKey === undefined ? {} : { sessionKey });
    for (const pin of carried.pins.get(sessionId) ?? []) store.pin(sessionId, pin);
    const state = carried.states.get(sessionId);
    if (state !== undefined) store.setSessionState(sessionId, state);
    for (const spend of carried.spend) if (spend.sessionId === sessionId) store.addSpend(spend);
  });
}

/** Writes all of it back; the sessions are adopted from the transcripts at their next turns. */
export function carryAll(store: LosslessStore, carried: Carried): void {
  const sessions = new Set([
    ...carried.pins.keys(),
    ...carried.states.keys(),
    ...carried.spend.map(({ sessionId }) => sessionId),
  ]);
  for (const sessionId of sessions) carryInto(store, carried, sessionId, carried.keys.get(sessionId));
}
