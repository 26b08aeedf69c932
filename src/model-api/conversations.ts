/** Finds the session that a client's request continues, by the header or by what the client resends. */
import { randomUUID } from "node:crypto";
import type { SessionStore } from "../contract/session/store.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { WireRequest } from "../gateway/dialect/wire-dialect.ts";
import { historyMessages, liveMessages } from "../gateway/wrap/request-messages.ts";
import { chainOf, nextDigest } from "./message-chain.ts";
import type { PrefixIndex } from "./prefix-index.ts";

/** A session for a request. */
export interface Place {
  sessionKey: string;
  chain: string[];
  /** The client has messages before its newest input that the session may lack. */
  hasGap: boolean;
  /** Number of the client's messages that the session has; undefined where the client named the session. */
  known: number | undefined;
}

export interface ConversationsOptions {
  index: PrefixIndex;
  store(): SessionStore;
  /** Undefined: no request of the session is being answered. */
  busy(sessionKey: string): Promise<void> | undefined;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  /** Of each token, the decision that the next one waits for. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /** Calls `take` with the place before any other request of the token is decided on. Throws the store's errors. */
  async place(
    token: string,
    request: WireRequest,
    named: string | undefined,
    take: (place: Place) => Promise<void>,
  ): Promise<void> {
    for (;;) {
      let waits: Promise<void> | undefined;
      await this.#inOrder(token, async () => {
        const found = named === undefined ? await this.#find(token, request) : this.#named(request, named);
        if ("wait" in found) waits = found.wait;
        else await take(found);
      });
      if (!waits) return;
      await waits;
    }
  }

  async #inOrder(token: string, work: () => Promise<void>): Promise<void> {
    const before = this.#deciding.get(token) ?? Promise.resolve();
    const own = before.then(work);
    const settled = own.catch(() => undefined);
    this.#deciding.set(token, settled);
    await own.finally(() => {
      if (this.#deciding.get(token) === settled) this.#deciding.delete(token);
    });
  }

  #named(request: WireRequest, sessionKey: string): Place {
    return { sessionKey, chain: chainOf(messagesOf(request)), hasGap: false, known: undefined };
  }

  async #find(token: string, request: WireRequest): Promise<Place | { wait: Promise<void> }> {
    const { index, busy, store } = this.#options;
    const messages = messagesOf(request);
    const chain = chainOf(messages);
    const before = historyMessages(request).length;
    const found = index
      .longest(token, chain)
      .filter(({ sessionKey }) => (store().find(sessionKey) ?? busy(sessionKey)) !== undefined);
    for (const { sessionKey, count, isHead } of found) {
      const running = isHead ? busy(sessionKey) : undefined;
      // The same words again while the first are being answered are another conversation; an answer after them is not noted yet.
      if (running && count < chain.length) return { wait: running };
      if (isHead && !running) return { sessionKey, chain, hasGap: count < before, known: count };
    }
    const sessionKey = `api/${token}/${randomUUID()}`;
    let known = 0;
    for (const { sessionKey: source } of found) {
      const shared = before === 0 ? undefined : await this.#shared(source, chain.slice(0, before));
      if (!shared) continue;
      store().fork(source, sessionKey, { entryId: shared.entryId });
      known = shared.count;
      break;
    }
    return { sessionKey, chain, hasGap: false, known };
  }

  /** The last entry of a session that belongs to the prefix; undefined if it shares none. */
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
    for (const [at, { id, message }] of path.entries()) {
      digest = nextDigest(digest, message);
      if (digest !== chain[at]) break;
      last = { entryId: id, count: at + 1 };
    }
    return last;
  }
}

function messagesOf(request: WireRequest): AgentMessage[] {
  return [...historyMessages(request), ...liveMessages(request)];
}
