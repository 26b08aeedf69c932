/** The sessions that clients' model calls continue now; those that were not used for the longest time end. */
import { directAgents } from "@pagurus/gateway/upstream/direct";
import type { Place } from "./conversations.ts";
import { LiveSession, type LiveSessionOptions } from "./live-session.ts";
import { nextDigest } from "./message-chain.ts";
import type { PrefixIndex } from "./prefix-index.ts";

const DEFAULT_LIVE = 200;

export interface LiveSessionsOptions extends Pick<
  LiveSessionOptions,
  "pagurus" | "harness" | "agentId" | "logger"
> {
  index: PrefixIndex;
  /** Sessions that are kept while nothing of them runs. Default 200. */
  maxLiveSessions?: number | undefined;
}

/** Who owns a session, and its workspace if it is new. */
interface Opener {
  owner: string;
  folder: string;
}

interface Live {
  session: LiveSession;
  /** Digests of the conversation so far. */
  chain: readonly string[];
}

export class LiveSessions {
  /** Connections to the models: one of each session, or of each request, would stay open until the model's server closes it. */
  readonly agents = directAgents();
  readonly #options: LiveSessionsOptions;
  /** In order of last use. */
  readonly #live = new Map<string, Live>();

  constructor(options: LiveSessionsOptions) {
    this.#options = options;
  }

  /** Resolves when the session's requests are answered; undefined if none is being answered. */
  busy(sessionKey: string): Promise<void> | undefined {
    const session = this.#live.get(sessionKey)?.session;
    return session?.isBusy ? session.idle() : undefined;
  }

  has(sessionKey: string): boolean {
    return this.#live.has(sessionKey);
  }

  /** Throws the store's errors. */
  async open({ sessionKey, chain, hasGap }: Place, opener: Opener): Promise<LiveSession> {
    const known = this.#live.get(sessionKey);
    this.#live.delete(sessionKey);
    // One that begins again appends what the session lacks, and creates it again if it was deleted.
    const beginsAgain = known !== undefined && (hasGap || this.#isGone(known.session));
    if (beginsAgain) await known.session.close();
    const live = known && !beginsAgain ? known : this.#begin(sessionKey, opener);
    live.chain = chain;
    this.#live.set(sessionKey, live);
    for (const [key, other] of this.#live) {
      if (this.#live.size <= (this.#options.maxLiveSessions ?? DEFAULT_LIVE)) break;
      if (other.session.isBusy || other === live) continue;
      this.#live.delete(key);
      void other.session.close();
    }
    return live.session;
  }

  /** Whether the session was deleted. One whose first request is being answered has no record yet. */
  #isGone({ sessionKey, isBusy }: LiveSession): boolean {
    const { pagurus, agentId } = this.#options;
    return !isBusy && pagurus.sessions(agentId).find(sessionKey) === undefined;
  }

  #begin(sessionKey: string, { owner, folder }: Opener): Live {
    const session = new LiveSession({
      ...this.#options,
      agents: this.agents,
      sessionKey,
      cwd: folder,
      onAnswer: (message) => {
        live.chain = [...live.chain, nextDigest(live.chain.at(-1) ?? "", message)];
        this.#options.index.note(owner, sessionKey, live.chain);
      },
    });
    const live: Live = { session, chain: [] };
    return live;
  }

  /** Ends their turns. Never throws. */
  async close(): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ session }) => session.close()));
    this.#live.clear();
    this.agents.close();
  }
}
