/** Tokens of clients: stored as hashes with scope, sessions and expiry; shown once; revoked at once. */
import { createHash, randomBytes } from "node:crypto";
import { PagurusError } from "../../contract/errors.ts";
import type { Database } from "../../data/sqlite.ts";
import type { Caller, Scope } from "./caller.ts";

/** Begins every token, so that a person and a scanner of secrets recognise one. */
const PREFIX = "pgr_";
const SECRET_BYTES = 32;
/** Interval at which the last use of a token is stored, ms. */
const USED_EVERY_MS = 60_000;

export interface TokenRecord {
  id: string;
  name: string;
  scope: Scope;
  sessions: string;
  /** Milliseconds since the epoch, here and below. */
  createdAt: number;
  expiresAt?: number;
  revokedAt?: number;
  usedAt?: number;
}

interface TokenRow {
  id: string;
  name: string;
  scope: Scope;
  sessions: string;
  created: number;
  expires: number | null;
  revoked: number | null;
  used: number | null;
}

export interface NewToken {
  name: string;
  scope: Scope;
  sessions?: string | undefined;
  /** Milliseconds since the epoch. */
  expiresAt?: number | undefined;
}

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

function recordOf(row: TokenRow): TokenRecord {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope,
    sessions: row.sessions,
    createdAt: row.created,
    ...(row.expires === null ? {} : { expiresAt: row.expires }),
    ...(row.revoked === null ? {} : { revokedAt: row.revoked }),
    ...(row.used === null ? {} : { usedAt: row.used }),
  };
}

export class TokenStore {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** The secret is returned here and never again. */
  create({ name, scope, sessions = "*", expiresAt }: NewToken): { token: TokenRecord; secret: string } {
    const id = randomBytes(6).toString("hex");
    const secret = `${PREFIX}${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
    this.#db.run(
      "INSERT INTO tokens (id, hash, name, scope, sessions, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
      id,
      hashOf(secret),
      name,
      scope,
      sessions,
      this.#now(),
      expiresAt ?? null,
    );
    return { token: this.#get(id), secret };
  }

  #get(id: string): TokenRecord {
    const row = this.#db.get<TokenRow>("SELECT * FROM tokens WHERE id = ?", id);
    if (row) return recordOf(row);
    throw new PagurusError(
      "token_invalid",
      `There is no token ${JSON.stringify(id)}; pagurus token list shows them all.`,
    );
  }

  list(): TokenRecord[] {
    return this.#db.all<TokenRow>("SELECT * FROM tokens ORDER BY created, id").map(recordOf);
  }

  /** Revokes the tokens with this id or name. Throws `token_invalid` where there is none. */
  revoke(idOrName: string): TokenRecord[] {
    const found = this.list().filter(({ id, name }) => id === idOrName || name === idOrName);
    if (found.length === 0) this.#get(idOrName);
    for (const { id } of found)
      this.#db.run("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", this.#now(), id);
    return found.map(({ id }) => this.#get(id));
  }

  /** The caller of a secret; undefined for one that is unknown, expired or revoked. */
  callerOf(secret: string): Caller | undefined {
    if (!secret.startsWith(PREFIX)) return undefined;
    const row = this.#db.get<TokenRow>("SELECT * FROM tokens WHERE hash = ?", hashOf(secret));
    if (!row || !this.#isValid(row)) return undefined;
    const now = this.#now();
    if (now - (row.used ?? 0) > USED_EVERY_MS)
      this.#db.run("UPDATE tokens SET used = ? WHERE id = ?", now, row.id);
    return { tokenId: row.id, scope: row.scope, sessions: row.sessions };
  }

  /** Whether the token of a caller is still valid. */
  isValid(tokenId: string): boolean {
    const row = this.#db.get<TokenRow>("SELECT * FROM tokens WHERE id = ?", tokenId);
    return row !== undefined && this.#isValid(row);
  }

  #isValid({ revoked, expires }: TokenRow): boolean {
    return revoked === null && (expires === null || expires > this.#now());
  }
}
