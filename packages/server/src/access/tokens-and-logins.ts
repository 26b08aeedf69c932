/** The tokens of a server and the logins of browsers in one: what may call, is listed, is revoked. */
import type { Token } from "@pagurus/api/types";
import type { Authority } from "@pagurus/contract/host/authority";
import { isPagurusError } from "@pagurus/contract/errors";
import { isLoginId, isLoginSecret, type BrowserLogins } from "./browser-logins.ts";
import type { Caller } from "./caller.ts";
import type { NewToken, Tokens } from "./tokens.ts";

export class TokensAndLogins implements Tokens {
  readonly #tokens: Tokens;
  readonly #logins: BrowserLogins;

  constructor(tokens: Tokens, logins: BrowserLogins) {
    this.#tokens = tokens;
    this.#logins = logins;
  }

  async create(token: NewToken): Promise<{ token: Token; secret: string }> {
    return this.#tokens.create(token);
  }

  async list(): Promise<Token[]> {
    return [...(await this.#tokens.list()), ...this.#logins.list()];
  }

  /** `browser` is the name of all logins. */
  async revoke(idOrName: string): Promise<Token[]> {
    const ended = this.#logins.end(idOrName);
    try {
      return [...(await this.#tokens.revoke(idOrName)), ...ended];
    } catch (error) {
      if (ended.length > 0 && isPagurusError(error) && error.code === "token_not_found") return ended;
      throw error;
    }
  }

  async callerOf(secret: string): Promise<Caller | undefined> {
    return isLoginSecret(secret) ? this.#logins.callerOf(secret) : this.#tokens.callerOf(secret);
  }

  async authorityOf(tokenId: string): Promise<Authority | undefined> {
    return isLoginId(tokenId) ? this.#logins.authorityOf(tokenId) : this.#tokens.authorityOf(tokenId);
  }

  async isValid(tokenId: string): Promise<boolean> {
    return isLoginId(tokenId) ? this.#logins.isValid(tokenId) : this.#tokens.isValid(tokenId);
  }

  async valid(tokenIds: readonly string[]): Promise<ReadonlySet<string>> {
    const logins = tokenIds.filter((id) => isLoginId(id) && this.#logins.isValid(id));
    const others = tokenIds.filter((id) => !isLoginId(id));
    const tokens = others.length === 0 ? [] : await this.#tokens.valid(others);
    return new Set([...logins, ...tokens]);
  }
}
