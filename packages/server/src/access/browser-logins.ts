/**
 * Logins of browsers: `pagurus open` gets a code for one use within a minute, the page exchanges it for a secret that it keeps for its own
 * origin. No cookie: browsers send those to every port of an address. In the server's own database, so that other processes list and end
 * them; all end with their server, since another program may listen at its address afterwards.
 */
import type { Token } from "@pagurus/api/types";
import { randomBytes } from "node:crypto";
import type { Database } from "@pagurus/core/data/sqlite";
import type { Authority, Scope } from "@pagurus/contract/host/authority";
import { hashOf, tokenAuthority, tokenLimits } from "./tokens.ts";

/** How long a code waits for its browser, ms. */
const CODE_MS = 60_000;
const LOGIN_LIFETIME_MS = 12 * 60 * 60_000;
const MOST_CODES = 100;
/** Begins every secret of a login. */
const PREFIX = "pgb_";
/** Begins what a login has in place of a hash after its server has ended: no secret has it. */
const CLOSED = "closed-";
/** Begins every id of a login, for example "browser-3f9a0c12b4d5". */
const ID_PREFIX = "browser-";
const NAME = "browser";

/** The session that a browser opens with. */
export interface OpenedSession {
  key: string;
  agent: string;
}

export interface BrowserLogin {
  secret: string;
  scope: Scope;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

interface LoginRow {
  id: string;
  hash: string;
  scope: Scope;
  created: number;
  expires: number;
}

export function isLoginId(id: string): boolean {
  return id.startsWith(ID_PREFIX);
}

export function isLoginSecret(secret: string): boolean {
  return secret.startsWith(PREFIX);
}

export class BrowserLogins {
  readonly #db: Database;
  readonly #now: () => number;
  /** By the hash of the code. */
  readonly #codes = new Map<string, { scope: Scope; until: number }>();

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** An address of the server's page with a code, in the fragment: no request sends it. */
  address(url: string, scope: Scope, session?: OpenedSession): string {
    const code = randomBytes(32).toString("base64url");
    this.#codes.set(hashOf(code), { scope, until: this.#now() + CODE_MS });
    for (const oldest of this.#codes.keys()) if (this.#codes.size > MOST_CODES) this.#codes.delete(oldest);
    const place = session ? ["s", session.agent, session.key].map(encodeURIComponent) : [];
    return `${url}/inspector/#/${["sign-in", code, ...place].join("/")}`;
  }

  /** Undefined for a code that is unknown, used or too old. */
  signIn(code: string): BrowserLogin | undefined {
    const hash = hashOf(code);
    const asked = this.#codes.get(hash);
    this.#codes.delete(hash);
    const created = this.#now();
    if (!asked || asked.until < created) return undefined;
    this.#db.run("DELETE FROM logins WHERE expires <= ?", created);
    const secret = `${PREFIX}${randomBytes(32).toString("base64url")}`;
    const [id, expiresAt] = [`${ID_PREFIX}${randomBytes(6).toString("hex")}`, created + LOGIN_LIFETIME_MS];
    this.#db.run(
      "INSERT INTO logins (id, hash, scope, created, expires) VALUES (?, ?, ?, ?, ?)",
      id,
      hashOf(secret),
      asked.scope,
      created,
      expiresAt,
    );
    return { secret, scope: asked.scope, expiresAt };
  }

  callerOf(secret: string): Authority | undefined {
    return this.#authority(this.#db.get<LoginRow>("SELECT * FROM logins WHERE hash = ?", hashOf(secret)));
  }

  authorityOf(id: string): Authority | undefined {
    return this.#authority(this.#db.get<LoginRow>("SELECT * FROM logins WHERE id = ?", id));
  }

  #authority(row: LoginRow | undefined): Authority | undefined {
    if (!row || row.expires <= this.#now()) return undefined;
    return { ...tokenAuthority({ scope: row.scope }, row.id, row.expires), door: "browser" };
  }

  /** Whether what it has posted may run; also after its server has ended. */
  isValid(id: string): boolean {
    return this.authorityOf(id) !== undefined;
  }

  /** Those whose secret is valid now, in the form of tokens. */
  list(): Token[] {
    return this.#db
      .all<LoginRow>(
        "SELECT * FROM logins WHERE expires > ? AND hash NOT GLOB ? ORDER BY created, id",
        this.#now(),
        `${CLOSED}*`,
      )
      .map(({ id, scope, created, expires }) => ({
        id,
        name: NAME,
        ...tokenLimits({ scope }),
        createdAt: created,
        expiresAt: expires,
      }));
  }

  /** Ends the login with this id, or all of them by the name "browser", and what they have posted. Returns those whose secret was valid. */
  end(idOrName: string): Token[] {
    const revokedAt = this.#now();
    const ended = this.list().filter(({ id, name }) => id === idOrName || name === idOrName);
    if (idOrName === NAME) this.#db.run("DELETE FROM logins");
    else this.#db.run("DELETE FROM logins WHERE id = ?", idOrName);
    return ended.map((login) => ({ ...login, revokedAt }));
  }

  /** No secret and no code is valid any longer: their server begins or ends. */
  closeAll(): void {
    this.#codes.clear();
    this.#db.run("UPDATE logins SET hash = ? || id", CLOSED);
  }
}
