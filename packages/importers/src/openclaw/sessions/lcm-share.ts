/** Which conversations of lossless-claw belong to a transcript of OpenClaw, and which are imported on their own. */
import { PagurusError } from "@pagurus/contract/errors";
import { ownKey } from "../../sessions/import-foreign.ts";
import type { LcmConversation, LcmDatabase } from "../../sessions/lcm/lcm-database.ts";
import { lcmKey } from "../../sessions/lcm/lcm.ts";
import type { OpenClawConversation } from "./home.ts";
import type { Beside } from "./links.ts";

const AGENT_OF_KEY = /^agent:([^:]+):/;

export class LcmShare {
  readonly #db: LcmDatabase | undefined;
  /** Conversations that were not joined with a transcript. */
  readonly #apart: Set<LcmConversation>;
  readonly #bySession = new Map<string, LcmConversation>();
  readonly #byKey = new Map<string, LcmConversation>();
  readonly #sessions: ReadonlySet<string>;
  readonly #keys: ReadonlySet<string>;
  readonly #agentOf: ReadonlyMap<string, string>;

  constructor(db: LcmDatabase | undefined, conversations: readonly OpenClawConversation[]) {
    this.#db = db;
    this.#sessions = new Set(conversations.map(({ sessionId }) => sessionId));
    this.#keys = new Set(
      conversations.flatMap(({ current, sessionKey }) => (current ? (sessionKey ?? []) : [])),
    );
    this.#agentOf = new Map(conversations.map(({ sessionId, agentId }) => [sessionId, agentId]));
    const all = db?.conversations() ?? [];
    this.#apart = new Set(all);
    for (const each of all) {
      this.#bySession.set(each.sessionId, each);
      if (each.active && each.sessionKey !== undefined) this.#byKey.set(each.sessionKey, each);
    }
  }

  get db(): LcmDatabase {
    if (this.#db) return this.#db;
    throw new PagurusError("internal", "A database that is not there was asked for a conversation.");
  }

  get apart(): LcmConversation[] {
    return [...this.#apart];
  }

  /** By the session, else by the key, which outlives sessions. */
  of({ sessionId, sessionKey, current }: OpenClawConversation): Beside | undefined {
    const byKey = current && sessionKey !== undefined ? this.#byKey.get(sessionKey) : undefined;
    const other = byKey && !this.#sessions.has(byKey.sessionId) ? byKey : undefined;
    const conversation = this.#bySession.get(sessionId) ?? other;
    return this.#db && conversation && { db: this.#db, conversation };
  }

  joined(conversation: LcmConversation): void {
    this.#apart.delete(conversation);
  }

  placed(conversation: LcmConversation): { agentId: string; sourceId: string; keys: string[] } {
    const { id, sessionId, sessionKey, active } = conversation;
    const agentId =
      this.#agentOf.get(sessionId) ?? AGENT_OF_KEY.exec(sessionKey ?? "")?.[1]?.toLowerCase() ?? "main";
    const alone = active && sessionKey !== undefined && !this.#keys.has(sessionKey);
    const own = ownKey(lcmKey(conversation));
    const keys = [...(alone ? [ownKey(sessionKey)] : []), own, ownKey(`lcm:${sessionId}:${id}`)];
    return { agentId, sourceId: `${id}-${sessionId}`, keys };
  }
}
