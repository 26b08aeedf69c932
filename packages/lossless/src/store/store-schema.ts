/**
 * The tables of `lossless.db`.
 *
 * - `segments`, `entries`: the tree of every session as chains. An entry's `num` is its place: segment and position in
 *   it (`place.ts`), so that a path is a few ranges of one b-tree, and a fork shares the rows of its origin.
 * - `texts`, `payloads`: contents of entries, each once; `uses` has their places, and is the reference count.
 * - `words`: full-text index of `texts` through the view `indexed_texts`, which splits scripts without spaces into pairs
 *   and adds a token for each tree that uses the text, so that a search of one session reads no other's hits. The worker
 *   merges its segments (`mergeIndex`), since a merge inside a turn's transaction is noticeable, sixteen at a time, so that
 *   each word is written twice. A segment is made at the end of a transaction, whatever its size: its texts are bounded.
 * - `owed`, `logs`: the additions that the sessions' logs lack, and how far they were read (`log-state.ts`).
 * - `vectors`: vectors of texts, if an encoder is used (`search/vectors.ts`).
 */
import type { Database } from "@pagurus/core/data/sqlite";
import { COMPACTION } from "./entries/entry-rows.ts";
import { storeTriggers } from "./sums.ts";

/** Increased with every change of the schema; a file with another number is refused. */
export const SCHEMA_VERSION = 5;

export const SCHEMA = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key TEXT,
  leaf INTEGER,
  adopted INTEGER NOT NULL DEFAULT 0,
  state TEXT,
  sum INTEGER
);
CREATE TABLE segments (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  tree INTEGER NOT NULL,
  parent INTEGER,
  base INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sum INTEGER
);
CREATE TABLE members (
  session INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (session, segment)
) WITHOUT ROWID;
CREATE INDEX members_segment ON members (segment);

CREATE TABLE entries (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  kind INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  total INTEGER NOT NULL,
  time INTEGER NOT NULL,
  turn TEXT,
  supersedes TEXT,
  body TEXT NOT NULL,
  sum INTEGER
);
CREATE INDEX entries_id ON entries (id);
CREATE INDEX entries_compaction ON entries (kind) WHERE kind = ${COMPACTION};

CREATE TABLE texts (num INTEGER PRIMARY KEY, hash INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX texts_hash ON texts (hash);
CREATE TABLE payloads (
  num INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  mime TEXT NOT NULL,
  data BLOB NOT NULL
);
CREATE TABLE uses (
  text INTEGER NOT NULL, tree INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (text, tree, place)
) WITHOUT ROWID;
CREATE TABLE payload_uses (payload INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (payload, place)) WITHOUT ROWID;

CREATE VIEW indexed_texts AS
  SELECT num, CASE length(body) WHEN octet_length(body) THEN body ELSE pairs(body) END || (
    SELECT group_concat(' ' || char(0xE000) || 't' || tree, '')
    FROM (SELECT DISTINCT tree FROM uses WHERE text = texts.num ORDER BY tree)
  ) AS body FROM texts;
CREATE VIRTUAL TABLE words USING fts5(
  body, content='indexed_texts', content_rowid='num', detail=none, columnsize=0,
  tokenize="unicode61 remove_diacritics 2"
);
INSERT INTO words (words, rank) VALUES ('automerge', 0);
INSERT INTO words (words, rank) VALUES ('usermerge', 16);
INSERT INTO words (words, rank) VALUES ('crisismerge', 1000);
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);

CREATE TABLE nodes (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  session INTEGER NOT NULL,
  kind TEXT NOT NULL,
  depth INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  body TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  source_tokens INTEGER NOT NULL,
  origin TEXT NOT NULL,
  model TEXT,
  state TEXT NOT NULL,
  details TEXT,
  sum INTEGER
);
CREATE INDEX nodes_session ON nodes (session, state);
CREATE TABLE node_children (
  parent INTEGER NOT NULL, ordinal INTEGER NOT NULL, child INTEGER NOT NULL, PRIMARY KEY (parent, ordinal)
) WITHOUT ROWID;
CREATE INDEX node_children_child ON node_children (child);
CREATE TABLE frontiers (
  session INTEGER PRIMARY KEY, version INTEGER NOT NULL, first_kept TEXT, details TEXT, sum INTEGER
);
CREATE TABLE frontier_nodes (
  session INTEGER NOT NULL, ordinal INTEGER NOT NULL, node INTEGER NOT NULL, PRIMARY KEY (session, ordinal)
) WITHOUT ROWID;
CREATE INDEX frontier_nodes_node ON frontier_nodes (node);

CREATE TABLE debts (
  id TEXT PRIMARY KEY, session INTEGER NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL, attempts INTEGER NOT NULL,
  next_at INTEGER NOT NULL, error TEXT, details TEXT
) WITHOUT ROWID;
CREATE INDEX debts_next ON debts (next_at);
CREATE TABLE leases (
  id TEXT PRIMARY KEY, session INTEGER, owner TEXT NOT NULL, deadline INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE spend (
  num INTEGER PRIMARY KEY, session INTEGER NOT NULL, at INTEGER NOT NULL, calls INTEGER NOT NULL, tokens INTEGER NOT NULL,
  cost REAL NOT NULL
);
CREATE INDEX spend_at ON spend (session, at);
CREATE TABLE pins (
  session INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, note TEXT, sum INTEGER, PRIMARY KEY (session, id)
) WITHOUT ROWID;

CREATE TABLE owed (
  num INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL,
  UNIQUE (session, kind, ref)
);
CREATE TABLE logs (session INTEGER PRIMARY KEY, entry TEXT NOT NULL, volatile TEXT NOT NULL);
CREATE TABLE vectors (text INTEGER PRIMARY KEY, body BLOB NOT NULL);
${storeTriggers()}INSERT INTO meta (name, value) VALUES ('schema', '${SCHEMA_VERSION}');
`;

/** The version in `meta`, which differs from the pragma where one of them is damaged. */
export function writtenVersion(db: Database): number {
  return Number(db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'schema'")?.value);
}
