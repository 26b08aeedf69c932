/** Rows of sessions as the statements read them. */
import type { Holder, SharedSession } from "./shared-rows.ts";

export const COLUMNS = `s.session_id, s.key, s.generation,
  coalesce(s.precedence, s.generation) AS precedence, s.bytes, s.revision, s.receipt_bytes`;

/** The holder of a lease that has not run out. */
export const LIVE = "CASE WHEN s.lease_until > clock_timestamp() THEN s.holder_facts END AS holder";

export interface SessionColumns {
  session_id: string;
  key: string;
  generation: string;
  precedence: string;
  bytes: string;
  revision: string;
  receipt_bytes: string;
  holder: Holder | null;
}

export function sessionOf(row: SessionColumns): SharedSession {
  return {
    sessionId: row.session_id,
    key: row.key,
    generation: Number(row.generation),
    precedence: Number(row.precedence),
    bytes: Number(row.bytes),
    revision: Number(row.revision),
    receiptBytes: Number(row.receipt_bytes),
    holder: row.holder,
  };
}
