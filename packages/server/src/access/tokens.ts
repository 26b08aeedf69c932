/**
 * Tokens of clients: stored as hashes with scope, sessions and expiry; shown once; revoked at once. They are this host's own (`TokenStore`), or
 * in a database that several hosts share (`SharedTokens`).
 */
import type { Token, TokenLimits } from "@pagurus/api/types";
import { createHash, randomBytes } from "node:crypto";
import { PagurusError } from "@pagurus/contract/errors";
import type { Awaitable } from "@pagurus/inbox/inbox";
import { isUnlimited } from "@pagurus/core/authority/authority";
import type { Authority, Scope } from "@pagurus/contract/host/authority";
import { defined } from "@pagurus/core/data/defined";

/** Begins every token, so that a person and a scanner of secrets recognise one. */
const PREFIX = "pgr_";
const SECRET_BYTES = 32;
/** Interval at which the last use of a token is stored, ms. */
export const USED_EVERY_MS = 60_000;

/** What a token may do, as a user sees it: see `Authority`. */
export interface TokenRow {
  id: string;
  hash: string;
  name: string;
  scope: Scope;
  sessions: string;
  /** JSON of the other limits. */
  limits: string;
  parent: string | null;
  created: number;
  expires: number | null;
  revoked: number | null;
  used: number | null;
}

/** A limit that is absent has its default: see `tokenLimits`. */
export interface NewToken extends Partial<TokenLimits> {
  name: string;
  scope: Scope;
  parent?: string | undefined;
  /** Milliseconds since the epoch. */
  expiresAt?: number | undefined;
}

/** Each method throws `store_write_failed` or `store_read_failed` where a shared database cannot be reached. */
export interface Tokens {
  /** The secret is returned here and never again. */
  create(token: NewToken): Awaitable<{ token: Token; secret: string }>;
  list(): Awaitable<Token[]>;
  /** Revokes the tokens with this id or name, and all that they created. Throws `token_not_found` where there is none. */
  revoke(idOrName: string): Awaitable<Token[]>;
  /** The caller of a secret; undefined for one that is unknown, expired or revoked. */
  callerOf(secret: string): Awaitable<Authority | undefined>;
  /** What the token with this id allows; undefined for one that is unknown, expired or revoked. */
  authorityOf(tokenId: string): Awaitable<Authority | undefined>;
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

/**
 * The limits of a token, with their defaults: no folder besides those of its sessions and agents, the configured mode, no programs and no
 * rules; a token of scope admin for all sessions and agents has all of them.
 */
export function tokenLimits({
  scope,
  sessions = "*",
  agents = "*",
  ...rest
}: Partial<TokenLimits> & { scope: Scope }): TokenLimits {
  const isFull = scope === "admin" && isUnlimited({ sessions, agents });
  return {
    scope,
    sessions,
    agents,
    folders: rest.folders ?? (isFull ? "any" : []),
    mode: rest.mode ?? "auto",
    mayStartPrograms: rest.mayStartPrograms ?? isFull,
    mayRemember: rest.mayRemember ?? isFull,
  };
}

/** What a token with these limits allows. A token that may not use every session gets nothing of the others in its turns. */
export function tokenAuthority(
  asked: Partial<TokenLimits> & { scope: Scope },
  id: string,
  until?: number,
): Authority {
  const limits = tokenLimits(asked);
  return {
    door: "token",
    tokenId: id,
    ...limits,
    ...(isUnlimited(limits) ? {} : { audience: "group" as const }),
    ...defined({ until }),
  };
}

function rowLimits({ scope, sessions, limits }: TokenRow): TokenLimits {
  return tokenLimits({ ...(JSON.parse(limits) as Partial<TokenLimits>), scope, sessions });
}

/** What the token of a row allows. */
export function rowAuthority(row: TokenRow): Authority {
  return tokenAuthority(rowLimits(row), row.id, row.expires ?? undefined);
}

/** A row for a new token, and the secret that it has the hash of. */
export function newToken(
  { name, parent, expiresAt, ...asked }: NewToken,
  created: number,
): { row: TokenRow; secret: string } {
  const id = randomBytes(6).toString("hex");
  const secret = `${PREFIX}${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  const { scope, sessions, ...rest } = tokenLimits(asked);
  const limits = JSON.stringify(rest);
  const times = { created, expires: expiresAt ?? null, revoked: null, used: null };
  return {
    row: { id, hash: hashOf(secret), name, scope, sessions, limits, parent: parent ?? null, ...times },
    secret,
  };
}

/** The ids of tokens, and of all that they created, directly or through others. */
export function withChildren(tokens: readonly Token[], ids: readonly string[]): Set<string> {
  const found = new Set(ids);
  for (let size = -1; size !== found.size;) {
    size = found.size;
    for (const { id, parent } of tokens) if (parent !== undefined && found.has(parent)) found.add(id);
  }
  return found;
}

export function tokenOf(row: TokenRow): Token {
  return {
    id: row.id,
    name: row.name,
    ...rowLimits(row),
    ...(row.parent === null ? {} : { parent: row.parent }),
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
