/**
 * Vectors of the messages of people's talk, by the number of their text; derived data, made in the background (`encoding.ts`). A text that
 * is not encoded has an empty one, so that the newest row says how far the work is.
 */
import type { Database } from "../../../../data/sqlite.ts";
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

/** A message of a person or the agent without tool results near it. Codes of `kind`: `entry-rows.ts`. */
const IS_TALK = `EXISTS (
  SELECT 1 FROM uses u JOIN entries e ON e.num = u.place WHERE u.text = t.num AND e.kind IN (0, 1)
  AND NOT EXISTS (SELECT 1 FROM entries r WHERE r.num BETWEEN e.num - 6 AND e.num + 6 AND r.kind = 2))`;

/** The oldest texts without a vector. */
export function pendingTexts(db: Database, limit: number): PendingText[] {
  const rows = db.all<{ num: number; hash: number; body: string; talk: number }>(
    `SELECT num, hash, body, ${IS_TALK} AS talk FROM texts t
     WHERE num > (SELECT coalesce(max(text), 0) FROM vectors) ORDER BY num LIMIT ?`,
    limit,
  );
  return rows.map(({ talk, ...row }) => ({ ...row, isTalk: talk === 1 && isSentence(row.body) }));
}

/** Latin letters only: the model is for English. */
function isSentence(text: string): boolean {
  return text.length >= LEAST_CHARS && text.length <= MOST_CHARS && isLatin(text);
}

export function isLatin(text: string): boolean {
  return /\p{L}/u.test(text) && !/(?!\p{Script=Latin})\p{L}/u.test(text);
}

/** Messages that have a vector. */
export function countVectors(db: Database): number {
  return db.get<{ n: number }>("SELECT count(*) AS n FROM vectors WHERE length(body) > 0")?.n ?? 0;
}

/** Stores vectors; one of a text that was deleted meanwhile is dropped. */
export function putVectors(
  db: Database,
  rows: readonly { num: number; hash: number; vector: Int8Array | undefined }[],
): void {
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

/** Drops the vectors of another model. */
export function keepVectorsOf(db: Database, encoderId: string): void {
  if (getMeta(db, ENCODER) === encoderId) return;
  db.transaction(() => {
    db.run("DELETE FROM vectors");
    setMeta(db, ENCODER, encoderId);
  });
}

function similarity(one: Int8Array, other: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

/** Ranks of texts by their similarity to a query, the best 0; undefined where too few have a vector. */
export function similarityRanks(
  db: Database,
  texts: Iterable<number>,
  query: Int8Array,
): ReadonlyMap<number, number> | undefined {
  const scored: { num: number; score: number }[] = [];
  let count = 0;
  for (const num of new Set(texts)) {
    count += 1;
    const body = db.get<{ body: Uint8Array }>("SELECT body FROM vectors WHERE text = ?", num)?.body;
    if (body === undefined || body.length !== query.length) continue;
    const vector = new Int8Array(body.buffer, body.byteOffset, body.length);
    scored.push({ num, score: similarity(query, vector) });
  }
  if (scored.length === 0 || scored.length < count * LEAST_COVERED) return undefined;
  scored.sort((a, b) => b.score - a.score || b.num - a.num);
  return new Map(scored.map(({ num }, rank) => [num, rank]));
}
