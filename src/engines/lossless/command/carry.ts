/** What of an old database no transcript holds: pins, what the host has offered, what the hour has cost. */
import { existsSync } from "node:fs";
import { isDamage, connect } from "../store/open.ts";
import type { Db } from "../store/db.ts";
import type { LosslessStore } from "../store/store.ts";
import type { Pin, Spend } from "../store/types.ts";
import { HOUR_MS } from "./census.ts";

export interface Carried {
  /** By session id. */
  pins: ReadonlyMap<string, readonly Pin[]>;
  states: ReadonlyMap<string, unknown>;
  /** Of the last hour, so that a new database is no new allowance. */
  spend: readonly Spend[];
}

export const NOTHING: Carried = { pins: new Map(), states: new Map(), spend: [] };

/** Undefined where the database is too damaged to be read. Throws what SQLite throws for any other reason. */
export function carriedFrom(file: string): Carried | undefined {
  if (!existsSync(file)) return NOTHING;
  let db: Db | undefined;
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

function readFrom(db: Db): Carried {
  const pins = new Map<string, Pin[]>();
  const rows = db.all<{ session: string; id: string; at: number; note: string | null }>(
    "SELECT s.id AS session, p.id, p.at, p.note FROM pins p JOIN sessions s ON s.num = p.session ORDER BY p.at, p.id",
  );
  for (const { session, id, at, note } of rows) {
    const pin = { entryId: id, pinnedAt: at, ...(note === null ? {} : { note }) };
    pins.set(session, [...(pins.get(session) ?? []), pin]);
  }
  const states = db
    .all<{ id: string; state: string }>("SELECT id, state FROM sessions WHERE state IS NOT NULL")
    .map(({ id, state }) => [id, JSON.parse(state) as unknown] as const);
  const spend = db.all<Spend>(
    `SELECT s.id AS sessionId, at, calls, tokens, cost FROM spend JOIN sessions s ON s.num = spend.session
     WHERE at >= ?`,
    Date.now() - HOUR_MS,
  );
  return { pins, states: new Map(states), spend };
}

/** Puts it back for one session, which it makes known. */
export function carryInto(
  store: LosslessStore,
  carried: Carried,
  sessionId: string,
  sessionKey: string,
): void {
  store.transaction(() => {
    store.openSession(sessionId, { sessionKey });
    for (const pin of carried.pins.get(sessionId) ?? []) store.pin(sessionId, pin);
    const state = carried.states.get(sessionId);
    if (state !== undefined) store.setSessionState(sessionId, state);
    for (const spend of carried.spend) if (spend.sessionId === sessionId) store.addSpend(spend);
  });
}
