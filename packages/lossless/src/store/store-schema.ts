/**
 * The tables of `lossless.db`, version by version.
 *
 * - `segments`, `entries`: the tree of every session as chains. An entry's `num` is its place: segment and position in
 *   it (`place.ts`), so that a path is a few ranges of one b-tree, and a fork shares the rows of its origin.
 * - `texts`, `payloads`: contents of entries, each once; `uses` has their places, and is the reference count.
 * - `words`: full-text index of `texts` through the view `indexed_texts`, which splits scripts without spaces into pairs
 *   and adds a token for each tree that uses the text, so that a search of one session reads no other's hits. The worker
 *   merges its segments (`mergeIndex`), since a merge inside a turn's transaction is noticeable; 64 segments cannot wait.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import { COMPACTION } from "./entries/entry-rows.ts";
import { sumsSql } from "./sums.ts";

const VERSION_1 = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key TEXT,
  leaf INTEGER,
  adopted INTEGER NOT NULL DEFAULT 0,
  state TEXT
);
CREATE TABLE segments (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  tree INTEGER NOT NULL,
  parent INTEGER,
  base INTEGER NOT NULL,
  length INTEGER NOT NULL
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
  body TEXT NOT NULL
);
CREATE INDEX entries_id ON entries (id);

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
  SELECT num, pairs(body) || (
    SELECT group_concat(' ' || char(0xE000) || 't' || tree, '')
    FROM (SELECT DISTINCT tree FROM uses WHERE text = texts.num ORDER BY tree)
  ) AS body FROM texts;
CREATE VIRTUAL TABLE words USING fts5(
  body, content='indexed_texts', content_rowid='num', detail=none, columnsize=0,
  tokenize="unicode61 remove_diacritics 2"
);
INSERT INTO words (words, rank) VALUES ('automerge', 0);
INSERT INTO words (words, rank) VALUES ('crisismerge', 64);

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
  details TEXT
);
CREATE INDEX nodes_session ON nodes (session, state);
CREATE TABLE node_children (
  parent INTEGER NOT NULL, ordinal INTEGER NOT NULL, child INTEGER NOT NULL, PRIMARY KEY (parent, ordinal)
) WITHOUT ROWID;
CREATE INDEX node_children_child ON node_children (child);
CREATE TABLE frontiers (
  session INTEGER PRIMARY KEY, version INTEGER NOT NULL, first_kept TEXT, details TEXT
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
  session INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, note TEXT, PRIMARY KEY (session, id)
) WITHOUT ROWID;
`;

/**
 * Indexes the same words with less work: only texts beyond ASCII are searched for scripts without spaces; sixteen
 * segments are merged at a time instead of four, so that each word is written twice, not four times; and a segment is
 * made only at the end of a transaction, whatever its size (its texts are bounded).
 */
const VERSION_2 = `
DROP VIEW indexed_texts;
CREATE VIEW indexed_texts AS
  SELECT num, CASE length(body) WHEN octet_length(body) THEN body ELSE pairs(body) END || (
    SELECT group_concat(' ' || char(0xE000) || 't' || tree, '')
    FROM (SELECT DISTINCT tree FROM uses WHERE text = texts.num ORDER BY tree)
  ) AS body FROM texts;
INSERT INTO words (words, rank) VALUES ('usermerge', 16);
INSERT INTO words (words, rank) VALUES ('crisismerge', 1000);
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
`;

/** What the sessions' logs lack, and up to where they were read (`log-state.ts`). */
const VERSION_4 = `
CREATE TABLE owed (
  num INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL,
  UNIQUE (session, kind, ref)
);
CREATE TABLE logs (session INTEGER PRIMARY KEY, entry TEXT NOT NULL, volatile TEXT NOT NULL);
`;

/** Vectors of texts, where an encoder is used (`search/vectors.ts`). */
const VERSION_5 = "CREATE TABLE vectors (text INTEGER PRIMARY KEY, body BLOB NOT NULL);";

/** Migrations; each upgrades a database from the version of its index to the next one. */
const MIGRATIONS: readonly string[] = [VERSION_1, VERSION_2, sumsSql(), VERSION_4, VERSION_5];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Name of the version in `meta`: when it differs from the pragma, one of them is damaged. */
const VERSION_NAME = "schema";

/** The version in `meta`; undefined in a database of an earlier version. */
export function writtenVersion(db: Database): number | undefined {
  const value = db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", VERSION_NAME)?.value;
  return value === undefined ? undefined : Number(value);
}

/** Migrates the tables to the newest version, each step in a separate transaction. */
export function migrate(db: Database): void {
  for (let version = db.version(); version < SCHEMA_VERSION; version++) {
    db.transaction(() => {
      // Another process may have run the step while this one waited for the lock.
      if (db.version() !== version) return;
      db.raw.exec(MIGRATIONS[version] ?? "");
      db.raw.exec(`PRAGMA user_version = ${version + 1}`);
      db.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", VERSION_NAME, String(version + 1));
    });
  }
}

const COMPACTIONS = "entries_compaction";
/** Longest wait for another process that writes, ms: each opening tries again. */
const INDEX_WAIT_MS = 500;

/**
 * Adds an index that finds compactions, of which there are few, without reading the other entries. It is no version of its own: an earlier
 * program can use the file on. False where it cannot be made, since a damaged page or a full disk does not prevent the other reads.
 */
export function indexCompactions(db: Database): boolean {
  if (db.get("SELECT 1 FROM sqlite_schema WHERE name = ?", COMPACTIONS)) return true;
  const wait = db.get<{ timeout: number }>("PRAGMA busy_timeout")?.timeout ?? 0;
  try {
    db.raw.exec(`PRAGMA busy_timeout = ${INDEX_WAIT_MS}`);
    db.raw.exec(`CREATE INDEX IF NOT EXISTS ${COMPACTIONS} ON entries (kind) WHERE kind = ${COMPACTION}`);
    return true;
  } catch {
    return false;
  } finally {
    db.raw.exec(`PRAGMA busy_timeout = ${wait}`);
  }
}
