/** Run tokens: who holds one may use the route that it was made for, while that is open. */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";

const BYTES = 32;
/** Of the digest, to find the entry by. */
const INDEX_BYTES = 8;

function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

function indexOf(digest: Buffer): string {
  return digest.toString("hex", 0, INDEX_BYTES);
}

/** Tokens are kept as digests only, so that what is compared tells by its time nothing of a token. */
export class RunTokens<T> {
  readonly #entries = new Map<string, { digest: Buffer; owner: T }>();

  issue(owner: T): { token: string; revoke(): void } {
    const token = randomBytes(BYTES).toString("base64url");
    const digest = digestOf(token);
    const index = indexOf(digest);
    this.#entries.set(index, { digest, owner });
    return { token, revoke: () => void this.#entries.delete(index) };
  }

  ownerOf(token: string): T | undefined {
    const digest = digestOf(token);
    const entry = this.#entries.get(indexOf(digest));
    return entry !== undefined && timingSafeEqual(entry.digest, digest) ? entry.owner : undefined;
  }
}
