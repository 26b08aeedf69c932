/** Run tokens: a token gives access to one route, while that is open. */
import { randomBytes, timingSafeEqual } from "node:crypto";

const TOKEN_BYTES = 32;
/** Characters by which a token's entry is found; they are no secret, the other 208 bits are. */
const NAME_LENGTH = 8;

/** The time of a comparison reveals nothing about a token but its name. */
export class RunTokens<T> {
  readonly #entries = new Map<string, { token: Buffer; owner: T }>();

  issue(owner: T): { token: string; revoke(): void } {
    let token = randomBytes(TOKEN_BYTES).toString("base64url");
    while (this.#entries.has(nameOf(token))) token = randomBytes(TOKEN_BYTES).toString("base64url");
    this.#entries.set(nameOf(token), { token: Buffer.from(token), owner });
    return { token, revoke: () => void this.#entries.delete(nameOf(token)) };
  }

  ownerOf(token: string): T | undefined {
    const entry = this.#entries.get(nameOf(token));
    if (entry === undefined) return undefined;
    const asked = Buffer.from(token);
    const isIt = asked.length === entry.token.length && timingSafeEqual(entry.token, asked);
    return isIt ? entry.owner : undefined;
  }
}

function nameOf(token: string): string {
  return token.slice(0, NAME_LENGTH);
}
