/** Search in what is kept: rare words count more; only the newest hits of common ones are ranked. */
import type { Database } from "@pagurus/core/data/sqlite";
import { fold, queryTerms } from "@pagurus/host/stores/files/index/indexed-words";
import type { ConversationRow, RecordRow } from "./words-database.ts";

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
  return all.length > 0 || phrases.length === 1 ? all : hits(db, phrases.join(" OR "), filter);
}

const ALL =
  "SELECT rowid AS num, bm25(words) AS rank FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?";
const SOME = `SELECT words.rowid AS num, bm25(words) AS rank FROM words
    JOIN records r ON r.num = words.rowid JOIN conversations c ON c.id = r.conversation
  WHERE words MATCH ?1 AND (?3 IS NULL OR c.agent = ?3)
    AND (?4 IS NULL OR c.folder = ?4 OR substr(c.folder, 1, length(?4) + 1) = ?4 || '/')
    AND (?5 IS NULL OR r.at >= ?5) AND (?6 IS NULL OR r.at < ?6)
  ORDER BY words.rowid DESC LIMIT ?2`;

function hits(
  db: Database,
  expression: string,
  { agent, folder, since, until, limit = 20 }: SearchFilter,
): WordHit[] {
  const filter = [agent, folder, since, until];
  const isFiltered = filter.some((each) => each !== undefined);
  const found = db.all<{ num: number; rank: number }>(
    isFiltered ? SOME : ALL,
    expression,
    RANKED,
    ...(isFiltered ? filter.map((each) => each ?? null) : []),
  );
  const best = found.toSorted((one, other) => one.rank - other.rank || other.num - one.num);
  return withoutCopies(db, best, limit);
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
