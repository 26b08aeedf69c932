/** An engine that owns no compaction and intercepts those of a harness; it returns its input unchanged. */
import type { AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import type {
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { renderSummary } from "../../../packages/contract/src/engine/summary.ts";

/** `remembers`: handled, and from then on the engine's context begins with its summary. */
export type Answering = "handled" | "remembers" | "declines" | "throws" | "hangs";

export const ENGINE_ID = "answers";

export function summaryOf(nth: number): string {
  return `The engine says what was, the ${nth}. time.`;
}

/** The request, without what cannot be serialized. */
export type Asked = Omit<CompactionInterceptRequest, "signal">;

export function answeringEngine(how: Answering, note: (asked: Asked) => void): ContextEngine {
  let answered = 0;
  let head: { summary: string; gone: Set<string | undefined> } | undefined;
  const afterSummary = (messages: AgentMessage[]): AgentMessage[] => {
    if (!head) return messages;
    const { summary, gone } = head;
    const kept = messages.filter(({ entryId }) => !gone.has(entryId));
    return [{ role: "user", content: renderSummary(summary) }, ...kept];
  };
  return {
    info: { id: ENGINE_ID, name: "Answers", interceptsCompaction: true, assembleScope: "call" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }): Promise<AssembleResult> => ({
      messages: afterSummary(messages),
      estimatedTokens: 0,
      ...(head ? { contextProjection: { mode: "thread_bootstrap", epoch: `epoch-${answered}` } } : {}),
    }),
    compact: async () => ({ ok: true, compacted: false, reason: "The test wants none." }),
    interceptCompaction: async ({ signal: _signal, ...asked }): Promise<CompactionInterceptResult> => {
      note(asked);
      if (how === "throws") throw new Error("the engine broke");
      if (how === "hangs") return new Promise(() => undefined);
      if (how === "declines") return { handled: false, reason: "not now" };
      answered += 1;
      const { firstKeptEntryId, tokensBefore } = asked;
      const summary = summaryOf(answered);
      if (how === "remembers")
        head = { summary, gone: new Set(asked.messages.map(({ entryId }) => entryId)) };
      return { handled: true, summary, firstKeptEntryId, tokensBefore };
    },
  };
}
