/**
 * Vectors of the messages of people's talk, by the number of their text; derived data, made in the background (`encoding.ts`). A text that
 * is not encoded has an empty one, so that the newest row says how far the work is.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import { getMeta, setMeta } from "../session-values.ts";

const ENCODER = "encoder";
/** Texts between these lengths are encoded; a longer one is no talk. Characters. */
const LEAST_CHARS = 8;
const MOST_CHARS = 4_000;
/** Share of the texts that need a vector; fewer say nothing about the others. */
const LEAST_COVERED = 0.5;

export interface PendingText {
  num: number;
  hash: number;
  body: string;
  /** To be encoded: a message of people's talk. */
  isTalk: boolean;
}

export interface NewVector {
  num: number;
  /** Hash of the text: its number may be another text's by now. */
  hash: number;
  /** Absent for a text that is not encoded. */
  vector?: Int8Array | undefined;
}

/**
 * One of the newest uses is a message of a person or the agent without a tool result within six entries, as far as they are stored. Codes of
 * `kind`: `entry-rows.ts`.
 */
const IS_TALK = `EXISTS (
  SELECT 1 FROM (SELECT place FROM uses WHERE text = t.num ORDER BY tree DESC, place DESC LIMIT 8) u
  JOIN entries e ON e.num = u.place WHERE e.kind IN (0, 1)
  AND NOT EXISTS (SELECT 1 FROM entries r WHERE r.num BETWEEN e.num - 6 AND e.num + 6 AND r.kind = 2))`;

/** The newest text that was looked at; a row of a missing text does not count. */
const NEWEST =
  "SELECT coalesce(max(text), 0) FROM vectors WHERE text <= (SELECT coalesce(max(num), 0) FROM texts)";

/** The oldest texts without a vector. */
export function pendingTexts(db: Database, limit: number): PendingText[] {
  const rows = db.all<{ num: number; hash: number; body: string; talk: number }>(
    `SELECT num, hash, body, ${IS_TALK} AS talk FROM texts t
     WHERE num > (${NEWEST}) ORDER BY num LIMIT ?`,
    limit,
  );
  return rows.map(({ talk, ...row }) => ({ ...row, isTalk: talk === 1 && isSentence(row.body) }));
}

function isSentence(text: string): boolean {
  return text.length >= LEAST_CHARS && text.length <= MOST_CHARS && isLatin(text);
}

/** Latin letters only: the model is for English. */
export function isLatin(text: string): boolean {
  return /\p{L}/u.test(text) && !/(?!\p{Script=Latin})\p{L}/u.test(text);
}

/** Messages that have a vector, and texts that were not looked at yet. */
export function countVectors(db: Database): { encoded: number; pending: number } {
  const row = db.get<{ encoded: number; pending: number }>(
    `SELECT (SELECT count(*) FROM vectors WHERE length(body) > 0) AS encoded,
     (SELECT count(*) FROM texts WHERE num > (${NEWEST})) AS pending`,
  );
  return row ?? { encoded: 0, pending: 0 };
}

/** Stores vectors in one transaction; one of a text that was deleted meanwhile is dropped. */
export function putVectors(db: Database, rows: readonly NewVector[]): void {
  db.transaction(() => {
    for (const { num, hash, vector } of rows)
      db.run(
        "INSERT OR REPLACE INTO vectors (text, body) SELECT num, ? FROM texts WHERE num = ? AND hash = ?",
        new Uint8Array(vector ?? []),
        num,
        hash,
      );
  });
}

export function hasVectorsOf(db: Database, encoderId: string): boolean {
  return getMeta(db, ENCODER) === encoderId;
}

/** Drops the vectors of another model. */
export function keepVectorsOf(db: Database, encoderId: string): void {
  if (hasVectorsOf(db, encoderId)) return;
  db.transaction(() => {
    db.run("DELETE FROM vectors");
    setMeta(db, ENCODER, encoderId);
  });
}

/** Whether enough of these texts have a vector to order them by it. */
export function areCovered(db: Database, texts: ReadonlySet<number>): boolean {
  const statement = "SELECT length(body) > 0 AS has FROM vectors WHERE text = ?";
  let count = 0;
  for (const num of texts) count += db.get<{ has: number }>(statement, num)?.has ?? 0;
  return count > 0 && count >= texts.size * LEAST_COVERED;
}

function similarity(one: Int8Array, other: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

/** Ranks of texts by their similarity to a query, the best 0. Texts without a vector have none. */
export function similarityRanks(
  db: Database,
  texts: ReadonlySet<number>,
  query: Int8Array,
): ReadonlyMap<number, number> {
  const scored: { num: number; score: number }[] = [];
  for (const num of texts) {
    const body = db.get<{ body: Uint8Array }>("SELECT body FROM vectors WHERE text = ?", num)?.body;
    if (body?.length !== query.length) continue;
    const vector = new Int8Array(body.buffer, body.byteOffset, body.length);
    scored.push({ num, score: similarity(query, vector) });
  }
  scored.sort((a, b) => b.score - a.score || b.num - a.num);
  return new Map(scored.map(({ num }, rank) => [num, rank]));
}
