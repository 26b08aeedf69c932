/** Applies rewinds of the user's program (Esc Esc, /rewind) to the session. */
import { createHash } from "node:crypto";
import type { AgentMessage } from "@pagurus/contract/message";
import type { SessionStore } from "@pagurus/contract/session/store";
import { rewindSession } from "@pagurus/host/command/rewind";
import { Pace } from "@pagurus/core/platform/pace";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { conversationOf } from "../request/order.ts";
import type { Recorded } from "./recorded.ts";
import { contentKey, historyMessages } from "./request-messages.ts";

interface Followed {
  sessionKey: string;
  recorded: Recorded;
  /** Entry id of the input. */
  entryId: string;
  /** Digest of the program's history before the input. */
  before: string;
}

/** Digest of the program's history, without thinking and the content of results, which may be dropped later. */
export async function historyDigest(history: readonly AgentMessage[]): Promise<string> {
  const digest = createHash("sha256");
  await new Pace().each(history, (message) => digest.update(JSON.stringify(contentKey(message))));
  return digest.digest("base64url");
}

/** Followed turns, by the program's name for their conversation. */
export class Rewinds {
  readonly #followed = new Map<string, Followed[]>();
  readonly #cwd: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  note(thread: string, turn: Followed): void {
    const known = this.#followed.get(thread) ?? [];
    this.#followed.set(thread, [...known.filter(({ entryId }) => entryId !== turn.entryId), turn]);
  }

  /** Drops the turns of a thread whose own history has changed: it shows nothing any more. */
  forget(thread: string): void {
    this.#followed.delete(thread);
  }

  /**
   * Called before a turn begins. A rewind is only detected if the history ends between two followed turns, or as before the first of
   * them; any other history may have other reasons. Returns whether the session was rewound. Throws `session_locked`.
   */
  async follow(request: WireRequest, store: SessionStore): Promise<boolean> {
    const thread = conversationOf(request);
    const followed = this.#followed.get(thread) ?? [];
    if (followed.length === 0) return false;
    const history = historyMessages(request);
    const kept = followed.findLastIndex(({ recorded }) => history.some((message) => recorded.has(message)));
    const first = followed[kept + 1];
    if (!first) return false;
    if (kept < 0 && history.length > 0 && (await historyDigest(history)) !== first.before) return false;
    this.#followed.set(thread, followed.slice(0, kept + 1));
    const reader = store.openReader(first.sessionKey);
    try {
      const entry = await reader.cursor.get(first.entryId);
      if (!entry) return false;
      rewindSession(store, first.sessionKey, entry.parentId, this.#cwd);
      return true;
    } finally {
      reader.close();
    }
  }
}
