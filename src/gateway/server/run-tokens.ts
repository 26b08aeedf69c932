/** Run tokens: a token gives access to one route, while that is open. */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";

const BYTES = 32;
/** Bytes of the digest that index the entry. */
const INDEX_BYTES = 8;

function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

function indexOf(digest: Buffer): string {
  return digest.toString("hex", 0, INDEX_BYTES);
}

/** Stores only digests of tokens, so that comparison times reveal nothing about a token. */
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
