/**
 * Which session a client without ids means: the history that it resends is compared with those of its token's sessions. A
 * continued history continues its session, one that was edited or asked again is a fork, any other is a new session.
 */
import { createHash } from "node:crypto";
import { isPagurusError } from "../contract/errors.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { SessionStore } from "../contract/session/store.ts";
import { assistantWords, callIds, userKey } from "../gateway/wrap/request-messages.ts";

/** Sessions of a token that are compared, last used first. */
const MOST_SESSIONS = 200;

/** One message of a session, with the hash of all messages up to it. */
interface Link {
  hash: string;
  entryId: string;
}

interface KnownSession {
  links: Link[];
  /** Id of the entry that was read last. */
  readTo: string | undefined;
}

export type Match =
  | { how: "continue"; sessionKey: string }
  | { how: "fork"; sessionKey: string; entryId: string }
  | { how: "new" };

function keyOf(message: AgentMessage): unknown {
  if (message.role === "toolResult") return ["result", message.toolCallId];
  if (message.role === "user") return ["user", userKey(message)];
  return ["answer", assistantWords(message), ...callIds(message)];
}

function linked(before: string, message: AgentMessage): string {
  return createHash("sha256")
    .update(JSON.stringify([before, keyOf(message)]))
    .digest("base64url");
}

/** Hash of each message with all before it. */
function chainOf(messages: readonly AgentMessage[]): string[] {
  let last = "";
  return messages.map((message) => (last = linked(last, message)));
}

export class ConversationMatch {
  readonly #store: () => SessionStore;
  readonly #known = new Map<string, KnownSession>();

  constructor(store: () => SessionStore) {
    this.#store = store;
  }

  /**
   * `isOwn`: whether a session is one of the token's. `isAnswering`: whether a request of it is being answered. Throws
   * `store_read_failed`.
   */
  async find(
    { history, live }: { history: readonly AgentMessage[]; live: readonly AgentMessage[] },
    { isOwn, isAnswering }: { isOwn(key: string): boolean; isAnswering(key: string): boolean },
  ): Promise<Match> {
    const chain = chainOf([...history, ...live]);
    let best: { sessionKey: string; links: readonly Link[]; shared: number } | undefined;
    for (const sessionKey of this.#keys(isOwn)) {
      const { links } = await this.#read(sessionKey);
      const shared = sharedOf(chain, links);
      if (shared > (best?.shared ?? 0)) best = { sessionKey, links, shared };
    }
    if (!best) return { how: "new" };
    const { sessionKey, links, shared } = best;
    const isWhole = shared === links.length;
    if (isWhole && (chain.length > shared || !isAnswering(sessionKey)))
      return { how: "continue", sessionKey };
    const entryId = links[Math.min(shared, history.length) - 1]?.entryId;
    return entryId === undefined ? { how: "new" } : { how: "fork", sessionKey, entryId };
  }

  #keys(isOwn: (key: string) => boolean): string[] {
    return this.#store()
      .list()
      .filter(({ current, sessionKey }) => current && isOwn(sessionKey))
      .slice(0, MOST_SESSIONS)
      .map(({ sessionKey }) => sessionKey);
  }

  async #read(sessionKey: string): Promise<KnownSession> {
    const known = this.#known.get(sessionKey) ?? { links: [], readTo: undefined };
    this.#known.set(sessionKey, known);
    const reader = this.#store().openReader(sessionKey);
    try {
      await extend(known, reader.cursor);
    } catch (error) {
      // The path is another one than before: a rewind, or another generation.
      if (!isPagurusError(error) || error.code !== "entry_not_found") throw error;
      Object.assign(known, { links: [], readTo: undefined });
      await extend(known, reader.cursor);
    } finally {
      reader.close();
    }
    return known;
  }
}

async function extend(
  known: KnownSession,
  cursor: ReturnType<SessionStore["openReader"]>["cursor"],
): Promise<void> {
  for await (const entry of cursor.forward(known.readTo)) {
    known.readTo = entry.id;
    if (entry.type !== "message") continue;
    known.links.push({ hash: linked(known.links.at(-1)?.hash ?? "", entry.message), entryId: entry.id });
  }
}

function sharedOf(chain: readonly string[], links: readonly Link[]): number {
  let shared = Math.min(chain.length, links.length);
  // Each hash covers all before it.
  while (shared > 0 && chain[shared - 1] !== links[shared - 1]?.hash) shared -= 1;
  return shared;
}
