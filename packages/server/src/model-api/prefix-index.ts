/** The prefixes of conversations that clients have sent, for each token; in the home, so that a restart keeps them. */
import type { Database } from "@pagurus/core/data/sqlite";

/** A prefix that a session contains. `isHead`: nothing follows it there. */
export interface Found {
  sessionKey: string;
  /** Number of messages of the prefix. */
  count: number;
  isHead: boolean;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS heads (
    token TEXT NOT NULL, session TEXT NOT NULL, digest TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (token, session)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS prefixes (
    token TEXT NOT NULL, digest TEXT NOT NULL, session TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (token, digest, session)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS prefixes_by_session ON prefixes (token, session);
  CREATE INDEX IF NOT EXISTS prefixes_of_key ON prefixes (session);
  CREATE INDEX IF NOT EXISTS heads_of_key ON heads (session);
  CREATE INDEX IF NOT EXISTS heads_by_digest ON heads (token, digest, at);
`;

const KNOWN = "SELECT token, session AS sessionKey FROM heads";

/** The first digest of a JSON list that some session has; one statement for the thousands of a long conversation. */
const FIRST_KNOWN = `
  SELECT asked.value AS digest FROM json_each(?) AS asked
  WHERE EXISTS (SELECT 1 FROM prefixes WHERE token = ? AND digest = asked.value) LIMIT 1`;

const HEADS = "SELECT session FROM heads WHERE token = ? AND digest = ? ORDER BY at DESC LIMIT ?";

const ADD = "INSERT OR IGNORE INTO prefixes VALUES (?, ?, ?, ?)";

const PREFERRED = "SELECT session FROM heads WHERE token = ? AND session = ? AND digest = ?";

const OTHERS = `
  SELECT p.session AS session FROM prefixes p
  JOIN heads h ON h.token = p.token AND h.session = p.session
  WHERE p.token = ? AND p.digest = ? AND h.digest <> p.digest LIMIT ?`;

/** Sessions with the same words that are considered: a client may begin thousands with the same ones. */
const MOST_FOUND = 16;

/** A session, and whose conversations it has. */
export interface KnownSession {
  token: string;
  sessionKey: string;
}

export class PrefixIndex {
  readonly #db: Database;
  #clock = Date.now();

  /** Throws SQLite's errors. */
  constructor(db: Database) {
    this.#db = db;
    db.raw.exec(SCHEMA);
  }

  /**
   * Sessions that the chain may continue, best first: those whose head is the history of `before` digests, or more of the chain, the longest
   * first; then those with its longest prefix. Of chats that begin alike each has its own session so, however far the others are.
   * `preferred`: the session whose response the client continues; another one that ends alike is not taken for it.
   */
  found(
    token: string,
    chain: readonly string[],
    { before, preferred }: { before: number; preferred: string | undefined },
  ): Found[] {
    const heads: Found[] = [];
    for (let count = chain.length; count > 0 && count >= before; count--) {
      const digest = chain[count - 1] ?? "";
      const sessions =
        preferred === undefined
          ? this.#sessions(HEADS, token, digest, MOST_FOUND)
          : this.#sessions(PREFERRED, token, preferred, digest);
      heads.push(...sessions.map((sessionKey) => ({ sessionKey, count, isHead: true })));
    }
    const known = new Set(heads.map(({ sessionKey }) => sessionKey));
    const others = this.longest(token, chain, preferred);
    return [...heads, ...others.filter(({ sessionKey }) => !known.has(sessionKey))];
  }

  /**
   * Sessions of the token that contain the longest known prefix of the chain: those whose head it is, the preferred one and then the
   * last used first, before others; a limited number of each.
   */
  longest(token: string, chain: readonly string[], preferred?: string): Found[] {
    const asked = JSON.stringify(chain.toReversed());
    const digest = this.#db.get<{ digest: string }>(FIRST_KNOWN, asked, token)?.digest;
    if (digest === undefined) return [];
    const count = chain.lastIndexOf(digest) + 1;
    const heads = new Set([
      ...(preferred === undefined ? [] : this.#sessions(PREFERRED, token, preferred, digest)),
      ...this.#sessions(HEADS, token, digest, MOST_FOUND),
    ]);
    const others = this.#sessions(OTHERS, token, digest, MOST_FOUND);
    return [
      ...[...heads].map((sessionKey) => ({ sessionKey, count, isHead: true })),
      ...others.map((sessionKey) => ({ sessionKey, count, isHead: false })),
    ];
  }

  #sessions(sql: string, ...values: (string | number)[]): string[] {
    return this.#db.all<{ session: string }>(sql, ...values).map(({ session }) => session);
  }

  /** The session has these prefixes now, the last of them as its head. */
  note(token: string, sessionKey: string, chain: readonly string[]): void {
    const head = chain.at(-1);
    if (head === undefined) return;
    this.#clock = Math.max(this.#clock + 1, Date.now());
    this.#db.transaction(() => {
      // From the longest: a session with a prefix has all that it begins with.
      for (const digest of chain.toReversed())
        if (this.#db.run(ADD, token, digest, sessionKey, this.#clock) === 0) break;
      this.#db.run("INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?)", token, sessionKey, head, this.#clock);
    });
  }

  /** Sessions with the tokens that know them; of one key, or all. */
  sessions(sessionKey?: string): KnownSession[] {
    if (sessionKey === undefined) return this.#db.all(KNOWN);
    return this.#db.all(`${KNOWN} WHERE session = ?`, sessionKey);
  }

  /** The next ones after another one, in the order of tokens and keys. */
  sessionsAfter({ token, sessionKey }: KnownSession, limit: number): KnownSession[] {
    const sql = `${KNOWN} WHERE (token, session) > (?, ?) ORDER BY token, session LIMIT ?`;
    return this.#db.all(sql, token, sessionKey, limit);
  }

  remove({ token, sessionKey }: KnownSession): void {
    this.#db.transaction(() => {
      for (const table of ["prefixes", "heads"])
        this.#db.run(`DELETE FROM ${table} WHERE token = ? AND session = ?`, token, sessionKey);
    });
  }
}
