/**
 * The register of everything that stays open for a token: requests, sockets, event streams, ACP connections, background responses. A token
 * that is revoked (also by another process or host) or expires ends them all within a second; its open work in the inbox ends too.
 */
import type { Awaitable } from "@pagurus/inbox/inbox";
import { isTokenId } from "./tokens.ts";

/** Interval of the check whether tokens are still valid, ms. */
const CHECK_MS = 250;

export interface TokenEnds {
  /** Those of the token ids that are valid now. */
  valid(ids: readonly string[]): Awaitable<ReadonlySet<string>>;
  /** Ids of the tokens with open work; absent for a server without an inbox of its own. */
  ofWork?(): Awaitable<readonly string[]>;
  endWork?(ids: ReadonlySet<string>): Awaitable<void>;
}

export class OpenByToken {
  readonly #ends: TokenEnds;
  readonly #open = new Map<string, Set<() => void>>();
  readonly #timer: NodeJS.Timeout;
  #isChecking = false;

  constructor(ends: TokenEnds) {
    this.#ends = ends;
    this.#timer = setInterval(() => void this.#check(), CHECK_MS);
    this.#timer.unref();
  }

  /** Calls `end` once when the token is no longer valid, unless the returned function was called before. */
  readonly add = (tokenId: string, end: () => void): (() => void) => {
    let open = this.#open.get(tokenId);
    if (!open) this.#open.set(tokenId, (open = new Set()));
    // Equal functions are entries of their own.
    const entry = (): void => end();
    open.add(entry);
    return () => {
      open.delete(entry);
      if (open.size === 0 && this.#open.get(tokenId) === open) this.#open.delete(tokenId);
    };
  };

  /** Number of open things, of one token or of all. */
  count(tokenId?: string): number {
    if (tokenId !== undefined) return this.#open.get(tokenId)?.size ?? 0;
    return [...this.#open.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Number of open things by token id. */
  counts(): Map<string, number> {
    return new Map([...this.#open].map(([id, { size }]) => [id, size]));
  }

  /** If the tokens cannot be read, the next check looks again. */
  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const ofWork = (await this.#ends.ofWork?.()) ?? [];
      const ids = [...new Set([...this.#open.keys(), ...ofWork])].filter(isTokenId);
      if (ids.length === 0) return;
      const valid = await this.#ends.valid(ids);
      const ended = new Set(ids.filter((id) => !valid.has(id)));
      for (const id of ended) this.#end(id);
      if (ofWork.some((id) => ended.has(id))) await this.#ends.endWork?.(ended);
    } catch {
      return;
    } finally {
      this.#isChecking = false;
    }
  }

  #end(tokenId: string): void {
    const open = this.#open.get(tokenId) ?? [];
    this.#open.delete(tokenId);
    for (const end of open) end();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
