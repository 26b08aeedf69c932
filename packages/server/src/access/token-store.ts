/** Tokens in the server's own database. */
import type { Token } from "@pagurus/api/types";
import type { Database } from "@pagurus/core/data/sqlite";
import type { Authority } from "@pagurus/contract/host/authority";
import {
  hashOf,
  isToken,
  isUsable,
  newToken,
  noToken,
  rowAuthority,
  tokenOf,
  USED_EVERY_MS,
  withChildren,
  type NewToken,
  type TokenRow,
  type Tokens,
} from "./tokens.ts";

export class TokenStore implements Tokens {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  create(asked: NewToken): { token: Token; secret: string } {
    const { row, secret } = newToken(asked, this.#now());
    const { id, hash, name, scope, sessions, limits, parent, created, expires } = row;
    this.#db.run(
      `INSERT INTO tokens (id, hash, name, scope, sessions, limits, parent, created, expires)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      hash,
      name,
      scope,
      sessions,
      limits,
      parent,
      created,
      expires,
    );
    return { token: tokenOf(row), secret };
  }

  #get(id: string): Token {
    const row = this.#db.get<TokenRow>("SELECT * FROM tokens WHERE id = ?", id);
    if (row) return tokenOf(row);
    throw noToken(id);
  }

  list(): Token[] {
    return this.#db.all<TokenRow>("SELECT * FROM tokens ORDER BY created, id").map(tokenOf);
  }

  revoke(idOrName: string): Token[] {
    const all = this.list();
    const named = all.filter(({ id, name }) => id === idOrName || name === idOrName);
    if (named.length === 0) throw noToken(idOrName);
    const ids = withChildren(
      all,
      named.map(({ id }) => id),
    );
    this.#db.transaction(() => {
      for (const id of ids)
        this.#db.run("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", this.#now(), id);
    });
    return all.filter(({ id }) => ids.has(id)).map(({ id }) => this.#get(id));
  }

  callerOf(secret: string): Authority | undefined {
    if (!isToken(secret)) return undefined;
    const row = this.#db.get<TokenRow>("SELECT * FROM tokens WHERE hash = ?", hashOf(secret));
    const now = this.#now();
    if (!row || !isUsable(row, now)) return undefined;
    if (now - (row.used ?? 0) > USED_EVERY_MS)
      this.#db.run("UPDATE tokens SET used = ? WHERE id = ?", now, row.id);
    return rowAuthority(row);
  }

  authorityOf(tokenId: string): Authority | undefined {
    const row = this.#db.get<TokenRow>("SELECT * FROM tokens WHERE id = ?", tokenId);
    return row && isUsable(row, this.#now()) ? rowAuthority(row) : undefined;
  }

  isValid(tokenId: string): boolean {
    return this.authorityOf(tokenId) !== undefined;
  }

  valid(tokenIds: readonly string[]): ReadonlySet<string> {
    return new Set(tokenIds.filter((id) => this.isValid(id)));
  }
}
