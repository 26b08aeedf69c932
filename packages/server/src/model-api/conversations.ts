/** Finds the session that a client's request continues, by the header or by what the client resends. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { AgentMessage } from "@pagurus/contract/message";
import { rewindSession } from "@pagurus/host/command/rewind";
import { isPagurusError } from "@pagurus/contract/errors";
import type { WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import { Pace } from "@pagurus/core/platform/pace";
import { InOrder } from "./in-order.ts";
import { nextDigest, requestChain } from "./message-chain.ts";
import type { PrefixIndex } from "./prefix-index.ts";

/** How long a request waits for an equal one that is being answered, ms. */
const REPEATS_MS = 100;

/** A session for a request. */
export interface Place {
  sessionKey: string;
  chain: string[];
  /** The client has messages before its newest input that the session may lack. */
  hasGap: boolean;
  /** Number of the client's messages that the session has; undefined where the client named the session. */
  known: number | undefined;
}

/** Whose conversations a request may continue. */
export interface Whose {
  /** Those of a token, or of one conversation of it that has a name. */
  owner: string;
  /** Key of the session that the client named. */
  named?: string;
  /** Of several sessions with the same words, the one to continue. */
  preferred?: string;
  /** Workspace of its new sessions. */
  folder: string;
  /** The turn of a repeated input continues. */
  continuesTurn?: boolean;
}

export interface ConversationsOptions {
  index: PrefixIndex;
  store(): SessionStore;
  /** Undefined: no request of the session is being answered. */
  busy(sessionKey: string): Promise<void> | undefined;
  /** Its turns are followed now, so a repeated request is noticed there. */
  isLive(sessionKey: string): boolean;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  /** Decisions of each owner. */
  readonly #deciding = new InOrder();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /** Calls `take` with the place before any other request of the owner is decided on. Throws the store's errors. */
  async place(whose: Whose, request: WireRequest, take: (place: Place) => Promise<void>): Promise<void> {
    const { owner, named } = whose;
    for (let isFirst = true; ; isFirst = false) {
      let waits: Promise<void> | undefined;
      await this.#deciding.run(owner, async () => {
        const found =
          named === undefined ? await this.#find(whose, request, isFirst) : await this.#named(request, named);
        if ("wait" in found) waits = found.wait;
        else await take(found);
      });
      if (!waits) return;
      await waits;
    }
  }

  async #named(request: WireRequest, sessionKey: string): Promise<Place> {
    const { chain } = await requestChain(request);
    return { sessionKey, chain, hasGap: false, known: undefined };
  }

  async #find(
    { owner, preferred, folder, continuesTurn }: Whose,
    request: WireRequest,
    isFirst: boolean,
  ): Promise<Place | { wait: Promise<void> }> {
    const { index, busy, isLive, store } = this.#options;
    const { chain, before } = await requestChain(request);
    const found = index
      .found(owner, chain, { before, preferred })
      .filter(({ sessionKey }) => (store().find(sessionKey) ?? busy(sessionKey)) !== undefined);
    for (const { sessionKey, count, isHead } of found) {
      const running = isHead ? busy(sessionKey) : undefined;
      // The same words again while the first are being answered are another conversation; an answer after them is not noted yet.
      if (running && count < chain.length) return { wait: running };
      // A client that repeats its request has left the first one, which may not be noticed yet.
      if (running && isFirst) return { wait: Promise.race([running, pause(REPEATS_MS)]) };
      if (!isHead || running) continue;
      const isRepeated = count === chain.length && continuesTurn !== true;
      if (isRepeated && !isLive(sessionKey)) await this.#takeBack(sessionKey, chain.slice(0, before), folder);
      return { sessionKey, chain, hasGap: count < before, known: count };
    }
    const sessionKey = `api/${owner}/${randomUUID()}`;
    let known = 0;
    for (const { sessionKey: source } of found) {
      const shared = before === 0 ? undefined : await this.#shared(source, chain.slice(0, before));
      if (!shared) continue;
      await store().fork(source, sessionKey, { entryId: shared.entryId });
      known = shared.count;
      break;
    }
    return { sessionKey, chain, hasGap: false, known };
  }

  /** Rewinds an input that was never answered: the request that repeats it brings it again. */
  async #takeBack(sessionKey: string, before: readonly string[], folder: string): Promise<void> {
    const target = before.length === 0 ? null : (await this.#shared(sessionKey, before))?.entryId;
    const found = this.#options.store().find(sessionKey);
    if (target === undefined || !found) return;
    try {
      rewindSession(this.#options.store(), sessionKey, target, folder);
    } catch (error) {
      // Another program uses the session; the request waits for it there.
      if (!isPagurusError(error) || error.code !== "session_locked") throw error;
    }
  }

  /** The last entry of a session that belongs to the prefix, whose first digest may be that of several messages. */
  async #shared(
    sessionKey: string,
    chain: readonly string[],
  ): Promise<{ entryId: string; count: number } | undefined> {
    const path: { id: string; message: AgentMessage }[] = [];
    const reader = this.#options.store().openReader(sessionKey);
    try {
      for await (const entry of reader.cursor.backward())
        if (entry.type === "message") path.unshift({ id: entry.id, message: entry.message });
    } finally {
      reader.close();
    }
    let digest = "";
    let last: { entryId: string; count: number } | undefined;
    const pace = new Pace();
    for (const { id, message } of path) {
      if (pace.due) await pace.rest();
      digest = nextDigest(digest, message);
      const count = last?.count ?? 0;
      if (digest === chain[count]) last = { entryId: id, count: count + 1 };
      else if (last) break;
    }
    return last;
  }
}
