/** Search in what is kept: rare words count more; only the newest hits of common ones are ranked. */
import type { Database } from "@pagurus/core/data/sqlite";
import { fold, queryTerms } from "@pagurus/host/stores/files/index/indexed-words";
import { shardsUpTo, shardTables, type Shard } from "./word-shards.ts";
import { IN_FOLDER, type ConversationRow, type RecordRow } from "./words-database.ts";

/** The newest hits that are ranked. */
const RANKED = 500;

export interface SearchFilter {
  agent?: string;
  /** Conversations of this folder and those below it. */
  folder?: string;
  /** Milliseconds since the epoch. */
  since?: number;
  until?: number;
  limit?: number;
  /** All hits up to the limit, and only records that have all words. */
  isExact?: boolean;
}

export interface WordHit {
  record: RecordRow;
  conversation: ConversationRow;
}

export function searchWords(db: Database, query: string, filter: SearchFilter): WordHit[] {
  const phrases = queryTerms(query).map(({ phrase }) => phrase);
  if (phrases.length === 0) return [];
  const all = hits(db, phrases.join(" AND "), filter);
  // Without a record that has all words, records that have some.
  return all.length > 0 || phrases.length === 1 || filter.isExact === true
    ? all
    : hits(db, phrases.join(" OR "), filter);
}

const COLUMNS = (table: string): string => `SELECT w.rowid AS num, bm25(${table}) AS rank FROM ${table} w`;
const ALL = (table: string): string =>
  `${COLUMNS(table)} WHERE ${table} MATCH ? AND w.rowid >= ? AND w.rowid < ? ORDER BY w.rowid DESC LIMIT ?`;
/** The words are looked up first: a filter on conversations alone has too many records. */
const SOME = (table: string): string => `${COLUMNS(table)}
    CROSS JOIN records r ON r.num = w.rowid CROSS JOIN conversations c ON c.id = r.conversation
  WHERE ${table} MATCH ?1 AND w.rowid >= ?2 AND w.rowid < ?3
    AND (?5 IS NULL OR c.agent = ?5) AND ${IN_FOLDER("?6")}
    AND (?7 IS NULL OR r.at >= ?7) AND (?8 IS NULL OR r.at < ?8)
  ORDER BY w.rowid DESC LIMIT ?4`;

interface Ranked {
  num: number;
  rank: number;
}

function hits(db: Database, expression: string, filter: SearchFilter): WordHit[] {
  const { agent, folder, since, until, limit = 20, isExact = false } = filter;
  const values = [agent, folder, since, until];
  const isFiltered = values.some((each) => each !== undefined);
  const most = isExact ? limit : RANKED;
  const found: Ranked[] = [];
  for (const { table, from, to } of rangesOf(db, filter)) {
    if (found.length >= most) break;
    const range = [expression, from, to, most - found.length] as const;
    const rows = isFiltered
      ? db.all<Ranked>(SOME(table), ...range, ...values.map((each) => each ?? null))
      : db.all<Ranked>(ALL(table), ...range);
    for (const row of rows) found.push(row);
  }
  const best = found.toSorted((one, other) => one.rank - other.rank || other.num - one.num);
  return withoutCopies(db, best, limit);
}

/** Where records of the filter's conversations can be, the newest first. */
function rangesOf(db: Database, { agent, folder }: SearchFilter): Shard[] {
  const last = db.get<{ num: number | null }>("SELECT max(num) AS num FROM records")?.num ?? 0;
  const shards = shardsUpTo(last, shardTables(db)).map((shard) => ({
    ...shard,
    to: Math.min(shard.to, last + 1),
  }));
  if (agent === undefined && folder === undefined) return shards;
  const spans = db.arrays<[number, number]>(
    `SELECT first_num, last_num FROM conversations c
     WHERE first_num IS NOT NULL AND (?1 IS NULL OR c.agent = ?1) AND ${IN_FOLDER("?2")}`,
    agent ?? null,
    folder ?? null,
  );
  return shards.flatMap(({ table, from, to }) => {
    let [least, most] = [Infinity, -Infinity];
    for (const [first, end] of spans) {
      if (end < from || first >= to) continue;
      least = Math.min(least, Math.max(first, from));
      most = Math.max(most, Math.min(end + 1, to));
    }
    return least < most ? [{ table, from: least, to: most }] : [];
  });
}

function hitOf(db: Database, num: number): WordHit | undefined {
  const record = db.get<RecordRow>("SELECT * FROM records WHERE num = ?", num);
  const conversation =
    record && db.get<ConversationRow>("SELECT * FROM conversations WHERE id = ?", record.conversation);
  return record && conversation && { record, conversation };
}

/** A line that several files have, for example of a conversation that was copied, is one hit. */
function withoutCopies(db: Database, found: readonly { num: number }[], limit: number): WordHit[] {
  const seen = new Set<number>();
  const kept: WordHit[] = [];
  for (const { num } of found) {
    const row = hitOf(db, num);
    if (!row || seen.has(row.record.sum)) continue;
    seen.add(row.record.sum);
    kept.push(row);
    if (kept.length >= limit) break;
  }
  return kept;
}

const BEFORE = 60;
const LENGTH = 200;

/** One line of a text around the first of the words. */
export function snippetOf(text: string, query: string): string {
  const folded = fold(text);
  const places = queryTerms(query)
    .map(({ word }) => folded.indexOf(fold(word)))
    .filter((at) => at >= 0);
  const start = Math.max(0, (places.length > 0 ? Math.min(...places) : 0) - BEFORE);
  const part = text
    .slice(start, start + LENGTH)
    .replace(/\s+/g, " ")
    .trim();
  return `${start > 0 ? "…" : ""}${part}${start + LENGTH < text.length ? "…" : ""}`;
}
