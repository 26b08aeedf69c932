/** Guard and readers of a session that is looked at without a turn. */
import { isPagurusError } from "@pagurus/contract/errors";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { SessionReader } from "@pagurus/contract/session/writer";
import { Guard, type GuardOptions } from "../guard/guard.ts";
import type { AgentHost } from "./agent-host.ts";

/** A guard for a view or a compaction outside a turn; without a listener its degradations are not reported. */
export function lookGuard(
  host: AgentHost,
  engineId: string,
  turnId: string,
  report?: GuardOptions["report"],
): Guard {
  return new Guard({
    engineId,
    turnId,
    logger: host.logger,
    report: report ?? (() => undefined),
    deadlines: host.config.agents?.defaults?.engineDeadlines,
  });
}

/** A cursor independent of any writer: each read opens the session's current generation and closes it again. */
export function detachedCursor(host: AgentHost, sessionKey: string): TranscriptCursor {
  const read = async function* (
    direction: "forward" | "backward",
    from: string | undefined,
  ): AsyncGenerator<TranscriptEntry> {
    const reader = sessionReader(host, sessionKey);
    if (!reader) return;
    try {
      yield* reader.cursor[direction](from);
    } finally {
      reader.close();
    }
  };
  return {
    forward: (afterId) => read("forward", afterId),
    backward: (beforeId) => read("backward", beforeId),
    get: async (id) => {
      const reader = sessionReader(host, sessionKey);
      try {
        return await reader?.cursor.get(id);
      } finally {
        reader?.close();
      }
    },
    async *ofEngine(engineId) {
      const reader = sessionReader(host, sessionKey);
      try {
        if (reader?.cursor.ofEngine) yield* reader.cursor.ofEngine(engineId);
      } finally {
        reader?.close();
      }
    },
  };
}

/** An empty cursor, for a session that does not exist yet. */
export const emptyCursor: TranscriptCursor = {
  async *forward() {},
  async *backward() {},
  get: () => Promise.resolve(undefined),
};

/** The session's reader; undefined when the key has no session. */
export function sessionReader(host: AgentHost, sessionKey: string): SessionReader | undefined {
  try {
    return host.store.openReader(sessionKey);
  } catch (error) {
    if (isPagurusError(error) && error.code === "session_not_found") return undefined;
    throw error;
  }
}
