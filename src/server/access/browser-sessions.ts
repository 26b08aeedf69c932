/** Browsers that `pagurus open` signs in: a code for one use, then a cookie. Both end with the server. */
import { randomBytes } from "node:crypto";
import type { Caller, Scope } from "./caller.ts";
import { hashOf } from "./tokens.ts";

/** How long a code waits for its browser, ms. */
const CODE_MS = 60_000;
const SESSION_MS = 12 * 60 * 60_000;
const MOST = 100;
const COOKIE = "pagurus_session";

/** The session that a browser opens with. */
export interface OpenedSession {
  key: string;
  agent: string;
}

interface Grant {
  scope: Scope;
  until: number;
}

export class BrowserSessions {
  readonly #cookie: string;
  readonly #codes = new Map<string, Grant>();
  readonly #sessions = new Map<string, Grant>();

  constructor(cookie = COOKIE) {
    this.#cookie = cookie;
  }

  /** An address of the server with a code for one use within a minute. */
  address(url: string, scope: Scope, session?: OpenedSession): string {
    const query = new URLSearchParams({ code: this.#add(this.#codes, scope, CODE_MS), ...session });
    return `${url}/sign-in?${query.toString()}`;
  }

  /** The cookie header for a code; undefined for one that is unknown, used or too old. */
  signIn(code: string): string | undefined {
    const hash = hashOf(code);
    const grant = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (!grant || grant.until < Date.now()) return undefined;
    const value = this.#add(this.#sessions, grant.scope, SESSION_MS);
    return `${this.#cookie}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_MS / 1_000}`;
  }

  callerOf(cookies: string | undefined): Caller | undefined {
    const pair = cookies?.split(/; */).find((each) => each.startsWith(`${this.#cookie}=`));
    const grant = pair && this.#sessions.get(hashOf(pair.slice(this.#cookie.length + 1)));
    if (!grant || grant.until < Date.now()) return undefined;
    return { tokenId: "browser", scope: grant.scope, sessions: "*" };
  }

  #add(grants: Map<string, Grant>, scope: Scope, ms: number): string {
    const secret = randomBytes(32).toString("base64url");
    grants.set(hashOf(secret), { scope, until: Date.now() + ms });
    for (const oldest of grants.keys()) if (grants.size > MOST) grants.delete(oldest);
    return secret;
  }
}
