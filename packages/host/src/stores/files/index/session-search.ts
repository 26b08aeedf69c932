/** Full text search over messages. Bounded: only the newest hits are ranked, by their own words. */
import { closeSync, openSync } from "node:fs";
import type { SearchHit } from "@pagurus/contract/session/store";
import type { Catalog } from "./session-catalog.ts";
import { parseEntry } from "../transcript/transcript-entry.ts";
import { readFailure, systemCode } from "../failures.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import {
  allSessions,
  generations,
  segmentsOf,
  sessionByNum,
  sessionRow,
  supersedingPlaces,
  type EntryRow,
  type SessionRow,
} from "./index-rows.ts";
import { readAt } from "../transcript/transcript-lines.ts";
import { PathTree } from "../transcript/transcript-tree.ts";
import { fold, indexWords, messageText, queryTerms, sessionToken, wordLines } from "./indexed-words.ts";

/** The newest hits that are considered; ranking every hit of a common word would take seconds. */
const HIT_LIMIT = 2_000;
/** Of those, how many are read and ranked, and the limit of their bytes. */
const RANK_LIMIT = 400;
const RANK_BYTES = 16 * 1024 * 1024;
/** Bytes of lines whose words are indexed in one transaction. */
const WORDS_SLICE = 4 * 1024 * 1024;
/** More sessions than these would make the expression slower than a look-up of each hit's session. */
const FEW_SESSIONS = 200;
const HITS = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?";
const HITS_AMONG = `SELECT words.rowid AS rowid FROM words JOIN entries ON entries.num = words.rowid
  WHERE words MATCH ? AND entries.session IN (SELECT value FROM json_each(?)) ORDER BY words.rowid DESC LIMIT ?`;
const SNIPPET_BEFORE = 60;
const SNIPPET_LENGTH = 200;

interface Candidate {
  session: SessionRow;
  entry: EntryRow;
  role: string;
  timestamp: string;
  text: string;
  score: number;
}

export interface SearchOptions {
  limit?: number;
  sessionKey?: string;
  /** Keys of the only sessions that are searched: filtered before the limits, so foreign hits neither take places nor weigh. */
  allows?: (sessionKey: string) => boolean;
}

/** `among`: ids of the only sessions that are searched. */
export function searchSessions(
  catalog: Catalog,
  query: string,
  options: SearchOptions & { among?: readonly string[] } = {},
): SearchHit[] {
  const terms = queryTerms(query);
  const limit = options.limit ?? 20;
  if (terms.length === 0 || limit <= 0) return [];
  catalog.index.sync();
  return catalog.index.use((db) => {
    catchUpWords(catalog, db);
    const scope = scopeOf(db, options);
    if (scope?.length === 0) return [];
    const sessions = scope?.map((row) => row.num);
    const phrases = terms.map((term) => term.phrase);
    let rows = matches(db, phrases.join(" AND "), sessions);
    // Without a hit for all words, hits for some of them.
    if (rows.length === 0 && phrases.length > 1) rows = matches(db, phrases.join(" OR "), sessions);
    const words = terms.map((term) => fold(term.word));
    const candidates = read(catalog, db, rows);
    rank(candidates, words);
    const paths = new Paths(db);
    return withoutCopies(candidates, paths)
      .slice(0, limit)
      .map((candidate) => hit(candidate, words, paths));
  });
}

/** Undefined: all sessions. */
function scopeOf(
  db: Database,
  { sessionKey, among, allows }: SearchOptions & { among?: readonly string[] },
): SessionRow[] | undefined {
  const scope = among
    ? among.flatMap((id) => sessionRow(db, id) ?? [])
    : sessionKey === undefined
      ? undefined
      : generations(db, sessionKey);
  if (!allows) return scope;
  return (scope ?? allSessions(db)).filter(({ key }) => allows(key));
}

/** Indexes words that no commit indexed, after a crash or a rebuild; in slices, so that writers are not blocked. */
function catchUpWords(catalog: Catalog, db: Database): void {
  const pending = db.all<SessionRow>("SELECT * FROM sessions WHERE words_bytes < bytes");
  for (const row of pending) {
    const fd = openTranscript(catalog, row);
    if (fd === undefined) continue;
    try {
      for (let mark = row.words_bytes, last = -1; mark < row.bytes && mark > last;) {
        last = mark;
        db.transaction(() => indexWords(db, row.id, wordLines(fd, mark, row.bytes, WORDS_SLICE)));
        mark = sessionRow(db, row.id)?.words_bytes ?? row.bytes;
      }
    } finally {
      closeSync(fd);
    }
  }
}

/** `sessions`: numbers of the only ones; a few are part of the expression, many are looked up for each hit. */
function matches(db: Database, expression: string, sessions: readonly number[] | undefined): EntryRow[] {
  const isFew = sessions !== undefined && sessions.length <= FEW_SESSIONS;
  const scoped = isFew ? ` AND {s} : (${sessions.map(sessionToken).join(" OR ")})` : "";
  const rows = db.all<{ rowid: number }>(
    sessions === undefined || isFew ? HITS : HITS_AMONG,
    `{t} : (${expression})${scoped}`,
    ...(sessions === undefined || isFew ? [] : [JSON.stringify(sessions)]),
    HIT_LIMIT,
  );
  const entries: EntryRow[] = [];
  for (const { rowid } of rows.slice(0, RANK_LIMIT)) {
    const entry = db.get<EntryRow>("SELECT * FROM entries WHERE num = ?", rowid);
    if (entry) entries.push(entry);
  }
  return entries;
}

function read(catalog: Catalog, db: Database, rows: readonly EntryRow[]): Candidate[] {
  const files = new Map<number, { session: SessionRow; fd: number } | undefined>();
  const candidates: Candidate[] = [];
  let bytes = 0;
  try {
    for (const entry of rows) {
      if (bytes > RANK_BYTES) break;
      bytes += entry.length;
      if (!files.has(entry.session)) files.set(entry.session, openByNum(catalog, db, entry.session));
      const file = files.get(entry.session);
      if (!file) continue;
      const parsed = parseEntry(readAt(file.fd, entry.offset, entry.length - 1));
      if (!("entry" in parsed) || parsed.entry.id !== entry.id || parsed.entry.type !== "message") continue;
      const { message, timestamp } = parsed.entry;
      candidates.push({
        session: file.session,
        entry,
        role: message.role,
        timestamp,
        text: messageText(message),
        score: 0,
      });
    }
  } finally {
    for (const file of files.values()) if (file) closeSync(file.fd);
  }
  return candidates;
}

function openByNum(
  catalog: Catalog,
  db: Database,
  num: number,
): { session: SessionRow; fd: number } | undefined {
  const session = sessionByNum(db, num);
  const fd = session && openTranscript(catalog, session);
  return session && fd !== undefined ? { session, fd } : undefined;
}

function openTranscript(catalog: Catalog, row: SessionRow): number | undefined {
  try {
    return openSync(catalog.paths(row.id).transcript, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw readFailure(error, catalog.paths(row.id).transcript);
  }
}

/** Best first: rare words count more, repetition and length less and less; the newer of two equal ones first. */
function rank(candidates: Candidate[], words: readonly string[]): void {
  const counts = candidates.map(({ text }) => {
    const folded = fold(text);
    return words.map((word) => occurrences(folded, word));
  });
  const weights = words.map((_, at) => {
    const having = counts.filter((row) => (row[at] ?? 0) > 0).length;
    return Math.log(1 + candidates.length / (1 + having)) + 0.1;
  });
  candidates.forEach((candidate, row) => {
    const length = 1 + candidate.text.length / 2_000;
    candidate.score = weights.reduce((sum, weight, at) => {
      const count = counts[row]?.[at] ?? 0;
      return sum + (weight * count) / (count + 0.5 + length);
    }, 0);
  });
  candidates.sort((a, b) => b.score - a.score || b.entry.num - a.entry.num);
}

function occurrences(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0 && count < 20; at = text.indexOf(word, at + word.length))
    count += 1;
  return count;
}

/** The active paths of the sessions with hits. */
class Paths {
  readonly #db: Database;
  readonly #trees = new Map<number, PathTree>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** False for a message that is off its session's path, or that another one replaces. */
  holds({ session, entry }: Candidate): boolean {
    let tree = this.#trees.get(session.num);
    if (!tree) {
      const row = sessionRow(this.#db, session.id) ?? session;
      tree = new PathTree(segmentsOf(this.#db, session.num), row.leaf_end);
      this.#trees.set(session.num, tree);
    }
    const path = tree;
    if (!path.onPath(entry.offset)) return false;
    return !supersedingPlaces(this.#db, session.num, entry.id).some((row) => path.onPath(row.offset));
  }
}

/** A rewrite copies unchanged messages: of the copies the one on the path is the hit. */
function withoutCopies(candidates: readonly Candidate[], paths: Paths): Candidate[] {
  const groups = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const { session, role, timestamp, text } = candidate;
    const name = `${session.num} ${role} ${timestamp} ${text}`;
    const group = groups.get(name);
    if (group) group.push(candidate);
    else groups.set(name, [candidate]);
  }
  return [...groups.values()].flatMap((group) => {
    if (group.length === 1) return group;
    const held = group.filter((candidate) => paths.holds(candidate));
    return held.length > 0 ? held : group.slice(0, 1);
  });
}

function hit(candidate: Candidate, words: readonly string[], paths: Paths): SearchHit {
  const { session, entry } = candidate;
  return {
    sessionKey: session.key,
    sessionId: session.id,
    entryId: entry.id,
    role: candidate.role,
    timestamp: candidate.timestamp,
    snippet: snippet(candidate.text, words),
    onPath: paths.holds(candidate),
  };
}

/** One line of text around the first matching word. */
function snippet(text: string, words: readonly string[]): string {
  const folded = fold(text);
  const found = words.map((word) => folded.indexOf(word)).filter((at) => at >= 0);
  // Folding can shorten a text, so the position in the original is approximate.
  const center = found.length === 0 ? 0 : Math.min(...found);
  const start = Math.max(0, center - SNIPPET_BEFORE);
  const part = text
    .slice(start, start + SNIPPET_LENGTH)
    .replace(/\s+/g, " ")
    .trim();
  return `${start > 0 ? "…" : ""}${part}${start + SNIPPET_LENGTH < text.length ? "…" : ""}`;
}
