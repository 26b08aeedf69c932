/** Statistics of a store: contents, debts, costs. */
import { HOUR_MS } from "@pagurus/core/data/interval";
import { existsSync } from "node:fs";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { epochOf, headMessage } from "../epoch.ts";
import { RETIRED_AT } from "../retention.ts";
import { losslessSettings } from "../lossless-settings.ts";
import { unindexedFrom } from "../store/search/backlog.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { pinsOf, spentSince } from "../store/ledger.ts";
import { countVectors } from "../store/search/vectors.ts";
import { sizeReport } from "../store/store-maintenance.ts";
import { getFrontier } from "../store/node-rows.ts";
import { connect } from "../store/open-database.ts";
import { asStoreFailure, getMeta, getSession } from "../store/session-values.ts";
import type { SessionInfo, SizeReport } from "../store/store-types.ts";
import { databaseFile, type CarePlace } from "./store-files.ts";
import { defined } from "@pagurus/core/data/defined";

export interface SummaryCount {
  /** 0 for parts of the conversation, more for summaries of summaries. */
  depth: number;
  origin: string;
  /** `published`: shown by a session. `prepared`: ready to be shown. `replaced`: superseded by another. */
  state: string;
  count: number;
  tokens: number;
}

export interface DebtCount {
  count: number;
  /** Debts that may be tried now. */
  due: number;
  /** Maximum of attempts of one debt. */
  attempts: number;
  /** Time of the next one when none is due, ISO 8601. */
  nextAt?: string;
  /** Error code of the debt that waits longest. */
  errorCode?: string;
}

export interface SessionState extends SessionInfo {
  pins: number;
  debts: DebtCount;
  /** Absent while nothing is compacted. */
  epoch?: { id: string; tokens: number; firstKeptEntryId: string; summaries: number };
}

export interface StoreReport {
  file: string;
  /** False when there is no database yet; all counts are 0. */
  exists: boolean;
  /** State of the requested session, when the store has it. */
  session?: SessionState;
  sessions: number;
  /** Sessions whose transcript is not fully adopted yet. */
  adopting: number;
  summaries: SummaryCount[];
  debts: DebtCount;
  /** Stored texts that are not indexed yet. */
  unindexed: number;
  /** Messages that have a vector, and texts that were not looked at yet; where an encoder is used. */
  vectors?: { encoded: number; pending: number };
  /** Spend of the last hour; `cap` is the limit on calls in an hour. */
  spend: { calls: number; tokens: number; cost: number; cap: number };
  /** The configured trigger; a model's budget may lower it. Tokens. */
  trigger: number;
  size: SizeReport;
  retention: { sessionsOlderThanDays: number; lastAt?: string } | null;
}

const NO_SIZE: SizeReport = {
  file: 0,
  wal: 0,
  free: 0,
  entries: 0,
  texts: 0,
  textBytes: 0,
  payloadBytes: 0,
};
const NO_DEBTS: DebtCount = { count: 0, due: 0, attempts: 0 };

function isoOf(time: number): string {
  return new Date(time).toISOString();
}

function number(db: Database, sql: string, ...values: (string | number)[]): number {
  return db.get<{ n: number | null }>(sql, ...values)?.n ?? 0;
}

/** Of one session, or of all. */
export function countDebts(db: Database, now: number, sessionId?: string): DebtCount {
  const of = "FROM debts WHERE (?1 IS NULL OR session = (SELECT num FROM sessions WHERE id = ?1))";
  const row = db.get<{ n: number; due: number | null; tries: number | null; next: number | null }>(
    `SELECT count(*) AS n, sum(next_at <= ?2) AS due, max(attempts) AS tries, min(next_at) AS next ${of}`,
    sessionId ?? null,
    now,
  );
  const failed = db.get<{ error: string }>(
    `SELECT error ${of} AND error IS NOT NULL ORDER BY next_at DESC, id LIMIT 1`,
    sessionId ?? null,
  );
  const { n: count = 0, due, tries, next } = row ?? {};
  return {
    count,
    due: due ?? 0,
    attempts: tries ?? 0,
    ...(typeof next === "number" && next > now ? { nextAt: isoOf(next) } : {}),
    ...defined({ errorCode: failed?.error }),
  };
}

/** Of one session, or of all. */
export function countSummaries(db: Database, sessionId?: string): SummaryCount[] {
  return db.all<SummaryCount>(
    `SELECT depth, origin, state, count(*) AS count, sum(tokens) AS tokens FROM nodes
     WHERE (?1 IS NULL OR session = (SELECT num FROM sessions WHERE id = ?1))
     GROUP BY depth, origin, state ORDER BY depth, origin, state`,
    sessionId ?? null,
  );
}

export function countUnindexed(db: Database): number {
  const from = unindexedFrom(db);
  return from === Infinity ? 0 : number(db, "SELECT count(*) AS n FROM texts WHERE num >= ?", from);
}

function sessionState(db: Database, sessionId: string, now: number): SessionState | undefined {
  const info = getSession(db, sessionId);
  if (!info) return undefined;
  const frontier = getFrontier(db, sessionId);
  const epoch = epochOf(frontier);
  return {
    ...info,
    pins: pinsOf(db, sessionId).length,
    debts: countDebts(db, now, sessionId),
    ...(epoch
      ? {
          epoch: {
            id: epoch.id,
            tokens: messageTokens(headMessage(epoch)),
            firstKeptEntryId: epoch.firstKeptEntryId,
            summaries: frontier.nodeIds.length,
          },
        }
      : {}),
  };
}

/** Runs reads on a separate connection. Throws `store_read_failed`, `store_write_failed`. */
export function withDatabase<T>(file: string, work: (db: Database) => T): T {
  let db: Database | undefined;
  try {
    db = connect(file);
    return work(db);
  } catch (error) {
    throw asStoreFailure(file, error);
  } finally {
    db?.close();
  }
}

/** Collects the statistics. Throws `store_read_failed`, `store_write_failed`. */
export function takeCensus(place: CarePlace, sessionId: string | undefined, now: number): StoreReport {
  const file = databaseFile(place.agentDir);
  const { summariesPerHour: cap, retentionDays, trigger, encoder } = losslessSettings(place.config);
  const settings = (last: string | undefined): Pick<StoreReport, "trigger" | "retention"> => ({
    trigger,
    retention:
      retentionDays === undefined
        ? null
        : {
            sessionsOlderThanDays: retentionDays,
            ...(last === undefined ? {} : { lastAt: isoOf(Number(last)) }),
          },
  });
  if (!existsSync(file)) {
    return {
      file,
      exists: false,
      sessions: 0,
      adopting: 0,
      summaries: [],
      debts: NO_DEBTS,
      unindexed: 0,
      spend: { calls: 0, tokens: 0, cost: 0, cap },
      size: NO_SIZE,
      ...settings(undefined),
    };
  }
  return withDatabase(file, (db) =>
    db.snapshot(() => {
      const session = sessionId === undefined ? undefined : sessionState(db, sessionId, now);
      return {
        file,
        exists: true,
        ...defined({ session }),
        sessions: number(db, "SELECT count(*) AS n FROM sessions"),
        adopting: number(db, "SELECT count(*) AS n FROM sessions WHERE adopted = 0 AND leaf IS NOT NULL"),
        summaries: countSummaries(db),
        debts: countDebts(db, now),
        unindexed: countUnindexed(db),
        ...(encoder ? { vectors: countVectors(db) } : {}),
        spend: { ...spentSince(db, now - HOUR_MS), cap },
        size: sizeReport(db, file),
        ...settings(getMeta(db, RETIRED_AT)),
      };
    }),
  );
}
