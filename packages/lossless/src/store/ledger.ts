/** Debts, leases, spend and pins. */
import type { Database } from "@pagurus/core/data/sqlite";
import { jsonColumn, parsed } from "./node-rows.ts";
import { checkedRow } from "./sums.ts";
import { requireSession } from "./entries/entry-tree.ts";
import type { Debt, Pin, Spend } from "./store-types.ts";
import { defined } from "@pagurus/core/data/defined";

interface DebtRow {
  id: string;
  session: string;
  first: string;
  last: string;
  attempts: number;
  next_at: number;
  error: string | null;
  details: string | null;
}

/** Inserts or replaces a debt. Throws `session_not_found`. */
export function putDebt(db: Database, debt: Debt): void {
  db.run(
    `INSERT OR REPLACE INTO debts (id, session, first, last, attempts, next_at, error, details)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    debt.debtId,
    requireSession(db, debt.sessionId).num,
    debt.firstEntryId,
    debt.lastEntryId,
    debt.attempts,
    debt.nextAt,
    debt.errorCode ?? null,
    jsonColumn(debt.details),
  );
}

/** Removes a paid debt; false when it was paid already. */
export function settleDebt(db: Database, debtId: string): boolean {
  return db.run("DELETE FROM debts WHERE id = ?", debtId) > 0;
}

/** Removes the debts of a session whose extracts are no longer shown. */
export function forgetDebts(db: Database, sessionId: string): void {
  const { num } = requireSession(db, sessionId);
  db.run(
    `DELETE FROM debts WHERE session = ?1
     AND json_extract(details, '$.nodeId') IN (SELECT id FROM nodes WHERE session = ?1 AND state = 'replaced')`,
    num,
  );
}

/** Debts by their next attempt; optionally of one session, and only those due by a time. */
export function listDebts(db: Database, filter: { sessionId?: string; dueAt?: number } = {}): Debt[] {
  const session = filter.sessionId === undefined ? null : requireSession(db, filter.sessionId).num;
  const rows = db.all<DebtRow>(
    `SELECT d.*, s.id AS session FROM debts d JOIN sessions s ON s.num = d.session
     WHERE (?1 IS NULL OR d.session = ?1) AND (?2 IS NULL OR d.next_at <= ?2) ORDER BY d.next_at, d.id`,
    session,
    filter.dueAt ?? null,
  );
  return rows.map((row) => ({
    debtId: row.id,
    sessionId: row.session,
    firstEntryId: row.first,
    lastEntryId: row.last,
    attempts: row.attempts,
    nextAt: row.next_at,
    ...defined({ errorCode: row.error ?? undefined }),
    ...parsed(row.details),
  }));
}

export interface LeaseRequest {
  leaseId: string;
  /** Id of the process that takes the work. */
  owner: string;
  now: number;
  ttlMs: number;
  sessionId?: string;
}

/** Takes or extends a lease; false while another owner's has not expired. */
export function takeLease(db: Database, request: LeaseRequest): boolean {
  const { leaseId, owner, now, ttlMs } = request;
  const session = request.sessionId === undefined ? null : requireSession(db, request.sessionId).num;
  return (
    db.run(
      `INSERT INTO leases (id, session, owner, deadline) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, deadline = excluded.deadline
       WHERE leases.owner = ?3 OR leases.deadline <= ?5`,
      leaseId,
      session,
      owner,
      now + ttlMs,
      now,
    ) > 0
  );
}

/** Releases a lease; false when another owner has it by now. */
export function releaseLease(db: Database, leaseId: string, owner: string): boolean {
  return db.run("DELETE FROM leases WHERE id = ? AND owner = ?", leaseId, owner) > 0;
}

export function addSpend(db: Database, spend: Spend): void {
  db.run(
    "INSERT INTO spend (session, at, calls, tokens, cost) VALUES (?, ?, ?, ?, ?)",
    requireSession(db, spend.sessionId).num,
    spend.at,
    spend.calls,
    spend.tokens,
    spend.cost,
  );
}

/** Spend since a time, by one session or all. */
export function spentSince(
  db: Database,
  since: number,
  sessionId?: string,
): { calls: number; tokens: number; cost: number } {
  const session = sessionId === undefined ? null : requireSession(db, sessionId).num;
  const row = db.get<{ calls: number; tokens: number; cost: number }>(
    `SELECT coalesce(sum(calls), 0) AS calls, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost), 0.0) AS cost
     FROM spend WHERE at >= ?1 AND (?2 IS NULL OR session = ?2)`,
    since,
    session,
  );
  return { calls: row?.calls ?? 0, tokens: row?.tokens ?? 0, cost: row?.cost ?? 0 };
}

/** Pins an entry; false when it was pinned already. */
export function pin(db: Database, sessionId: string, pinned: Pin): boolean {
  return (
    db.run(
      "INSERT OR IGNORE INTO pins (session, id, at, note) VALUES (?, ?, ?, ?)",
      requireSession(db, sessionId).num,
      pinned.entryId,
      pinned.pinnedAt,
      pinned.note ?? null,
    ) > 0
  );
}

/** Unpins an entry; false when it was not pinned. */
export function unpin(db: Database, sessionId: string, entryId: string): boolean {
  const session = requireSession(db, sessionId).num;
  return db.run("DELETE FROM pins WHERE session = ? AND id = ?", session, entryId) > 0;
}

/** Pins of a session, in the order of pinning. */
export function pinsOf(db: Database, sessionId: string): Pin[] {
  return db
    .all<{ id: string; at: number; note: string | null }>(
      "SELECT * FROM pins WHERE session = ? ORDER BY at, id",
      requireSession(db, sessionId).num,
    )
    .map((row) => {
      const { id, at, note } = checkedRow("pins", row);
      return { entryId: id, pinnedAt: at, ...defined({ note: note ?? undefined }) };
    });
}
