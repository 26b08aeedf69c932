/** Tokens in a database that several hosts share: made or revoked at one, accepted or refused at all from the next request on. */
import type { Token } from "@pagurus/api/types";
import type { Database } from "@pagurus/postgres/connections";
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
  type NewToken,
  type TokenRow,
  type Tokens,
} from "./tokens.ts";

/** Of a row as `TokenRow`. */
export const TOKEN_COLUMNS = `id, hash, name, scope, sessions, limits, parent, created::float8 AS created, expires::float8 AS expires,
 revoked::float8 AS revoked, used::float8 AS used`;
const ADD = `INSERT INTO {s}.tokens (id, hash, name, scope, sessions, limits, parent, created, expires, revoked, used)
 SELECT id, hash, name, scope, sessions, limits, parent, created, expires, revoked, used FROM json_populate_recordset(null::{s}.tokens, $1)
 ON CONFLICT DO NOTHING`;
const FIND = `WITH used AS (UPDATE {s}.tokens SET used = $2::bigint
   WHERE tenant = current_user AND hash = $1 AND revoked IS NULL AND coalesce(used, 0) < $2::bigint - $3::bigint)
 SELECT ${TOKEN_COLUMNS} FROM {s}.tokens WHERE tenant = current_user AND hash = $1`;
/** Also all that the tokens created, directly or through others. */
const REVOKE = `WITH RECURSIVE below AS (
   SELECT id FROM {s}.tokens WHERE tenant = current_user AND (id = $1 OR name = $1)
   UNION SELECT child.id FROM {s}.tokens child JOIN below ON child.parent = below.id WHERE child.tenant = current_user)
 UPDATE {s}.tokens SET revoked = coalesce(revoked, $2)
 WHERE tenant = current_user AND id IN (SELECT id FROM below) RETURNING ${TOKEN_COLUMNS}`;
const VALID = `SELECT id FROM {s}.tokens WHERE tenant = current_user AND id = ANY($1) AND revoked IS NULL
 AND (expires IS NULL OR expires > $2::bigint)`;

export class SharedTokens implements Tokens {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number = Date.now) {
    this.#database = database;
    this.#now = now;
  }

  /** Adds tokens that a host had for itself; one that is known already stays as it is. */
  async adopt(rows: readonly TokenRow[]): Promise<void> {
    await this.#database.rows("store_write_failed", ADD, [JSON.stringify(rows)]);
  }

  async create(asked: NewToken): Promise<{ token: Token; secret: string }> {
    const { row, secret } = newToken(asked, this.#now());
    await this.adopt([row]);
    return { token: tokenOf(row), secret };
  }

  async list(): Promise<Token[]> {
    const rows = await this.#database.rows<TokenRow>(
      "store_read_failed",
      `SELECT ${TOKEN_COLUMNS} FROM {s}.tokens WHERE tenant = current_user ORDER BY tokens.created, id`,
      [],
    );
    return rows.map(tokenOf);
  }

  async revoke(idOrName: string): Promise<Token[]> {
    const values = [idOrName, this.#now()];
    const rows = await this.#database.rows<TokenRow>("store_write_failed", REVOKE, values);
    if (rows.length === 0) throw noToken(idOrName);
    return rows.map(tokenOf).toSorted((one, other) => one.createdAt - other.createdAt);
  }

  async callerOf(secret: string): Promise<Authority | undefined> {
    if (!isToken(secret)) return undefined;
    const now = this.#now();
    const values = [hashOf(secret), now, USED_EVERY_MS];
    const [row] = await this.#database.rows<TokenRow>("store_read_failed", FIND, values);
    if (!row || !isUsable(row, now)) return undefined;
    return rowAuthority(row);
  }

  async isValid(tokenId: string): Promise<boolean> {
    return (await this.authorityOf(tokenId)) !== undefined;
  }

  async authorityOf(tokenId: string): Promise<Authority | undefined> {
    const [row] = await this.#database.rows<TokenRow>(
      "store_read_failed",
      `SELECT ${TOKEN_COLUMNS} FROM {s}.tokens WHERE tenant = current_user AND id = $1`,
      [tokenId],
    );
    return row && isUsable(row, this.#now()) ? rowAuthority(row) : undefined;
  }

  async valid(tokenIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#database.rows<{ id: string }>("store_read_failed", VALID, [
      tokenIds,
      this.#now(),
    ]);
    return new Set(rows.map(({ id }) => id));
  }
}
