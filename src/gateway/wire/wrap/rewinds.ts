/** What the user took back inside the program (Esc Esc, /rewind) is taken back in the session, too. */
import { createHash } from "node:crypto";
import type { AgentMessage } from "../../../contract/message.ts";
import type { SessionStore } from "../../../contract/store.ts";
import { rewindSession } from "../../../command/rewind.ts";
import type { WireRequest } from "../dialect/dialect.ts";
import type { Recorded } from "./recorded.ts";
import { assistantWords, callIds, historySaid, userKey } from "./said.ts";

interface Followed {
  sessionKey: string;
  recorded: Recorded;
  /** Entry of the input. */
  entryId: string;
  /** Of the program's history in front of it. */
  before: string;
}

/** What the program's history says in all; thinking and results may be left out of it later. */
export function historyDigest(history: readonly AgentMessage[]): string {
  const said = history.map((message) => {
    if (message.role === "toolResult") return ["result", message.toolCallId];
    if (message.role === "user") return ["user", userKey(message)];
    return ["answer", assistantWords(message), ...callIds(message)];
  });
  return createHash("sha256").update(JSON.stringify(said)).digest("base64url");
}

/** Turns that were followed, by the program's name for their conversation. */
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

  /** The program's own history is not what it was: nothing can be told from it. */
  forget(thread: string): void {
    this.#followed.delete(thread);
  }

  /**
   * Called before a turn begins. Only a history that ends between two turns that were followed, or as it did before the first of
   * them, says that one was taken back; anything else may have other reasons. Whether the session was rewound. Throws `session_locked`.
   */
  async follow(request: WireRequest, store: SessionStore): Promise<boolean> {
    const thread = request.native.threadId ?? "";
    const followed = this.#followed.get(thread) ?? [];
    if (followed.length === 0) return false;
    const history = historySaid(request);
    const kept = followed.findLastIndex(({ recorded }) => history.some((message) => recorded.has(message)));
    const first = followed[kept + 1];
    if (!first) return false;
    if (kept < 0 && history.length > 0 && historyDigest(history) !== first.before) return false;
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
