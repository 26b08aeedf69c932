/**
 * Tokens of clients: stored as hashes with scope, sessions and expiry; shown once; revoked at once. They are this host's own (`TokenStore`), or
 * in a database that several hosts share (`SharedTokens`).
 */
import { createHash, randomBytes } from "node:crypto";
import { PagurusError } from "../../contract/errors.ts";
import type { Awaitable } from "../../inbox/inbox.ts";
import type { Caller, Scope } from "./caller.ts";

/** Begins every token, so that a person and a scanner of secrets recognise one. */
const PREFIX = "pgr_";
const SECRET_BYTES = 32;
/** Interval at which the last use of a token is stored, ms. */
export const USED_EVERY_MS = 60_000;

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

export interface TokenRow {
  id: string;
  hash: string;
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

/** Each method throws `store_write_failed` or `store_read_failed` where a shared database cannot be reached. */
export interface Tokens {
  /** The secret is returned here and never again. */
  create(token: NewToken): Awaitable<{ token: TokenRecord; secret: string }>;
  list(): Awaitable<TokenRecord[]>;
  /** Revokes the tokens with this id or name. Throws `token_not_found` where there is none. */
  revoke(idOrName: string): Awaitable<TokenRecord[]>;
  /** The caller of a secret; undefined for one that is unknown, expired or revoked. */
  callerOf(secret: string): Awaitable<Caller | undefined>;
  /** Whether the token of a caller is still valid. */
  isValid(tokenId: string): Awaitable<boolean>;
  /** Those of the tokens that are valid now. */
  valid(tokenIds: readonly string[]): Awaitable<ReadonlySet<string>>;
}

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

/** Whether it has the form of a token's or a browser login's id, for example "3f9a0c12b4d5" or "browser-3f9a0c12b4d5"; other callers and posters are the host's own. */
export function isTokenId(id: string): boolean {
  return /^(?:browser-)?[0-9a-f]{12}$/.test(id);
}

/** Whether it may be a token; without a look at the store. */
export function isToken(secret: string): boolean {
  return secret.startsWith(PREFIX);
}

/** A row for a new token, and the secret that it has the hash of. */
export function newToken(
  { name, scope, sessions = "*", expiresAt }: NewToken,
  created: number,
): { row: TokenRow; secret: string } {
  const id = randomBytes(6).toString("hex");
  const secret = `${PREFIX}${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  const times = { created, expires: expiresAt ?? null, revoked: null, used: null };
  return { row: { id, hash: hashOf(secret), name, scope, sessions, ...times }, secret };
}

export function tokenOf(row: TokenRow): TokenRecord {
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

export function isUsable({ revoked, expires }: TokenRow, now: number): boolean {
  return revoked === null && (expires === null || expires > now);
}

export function noToken(id: string): PagurusError {
  return new PagurusError(
    "token_not_found",
    `There is no token ${JSON.stringify(id)}; pagurus token list shows them all.`,
  );
}
