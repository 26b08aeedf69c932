import { toPagurusError } from "@pagurus/contract/errors";
import type { ModelInfo } from "@pagurus/contract/model";
import type { RunRequest } from "@pagurus/contract/host/run";
import { readContext } from "../context/context-slice.ts";
import type { Guard } from "../guard/guard.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { contextEntries } from "../fragments/merge.ts";
import { mergeSlice, TurnFragments } from "../fragments/turn-fragments.ts";

/** Longest wait for another writer of the session, ms. */
const LOCK_WAIT_MS = 1_000;

/**
 * Records the additional context of an input that a hook has blocked, as Codex does (measured with 0.169.0); it comes before the next
 * message of the conversation. A conversation without entries stays empty. A failure is a degradation.
 */
export function takeBlockedContext(
  host: AgentHost,
  request: Pick<RunRequest, "additionalContext">,
  place: {
    sessionKey: string;
    cwd: string;
    model: Pick<ModelInfo, "contextWindow">;
    guard: Pick<Guard, "degrade">;
  },
): void {
  const { sessionKey, cwd, model, guard } = place;
  if (!host.store.find(sessionKey)) return;
  const { additionalContext } = request;
  const window = model.contextWindow;
  try {
    const reader = host.store.openReader(sessionKey);
    try {
      const { changed, inject } = mergeSlice(readContext(reader, window), contextEntries(additionalContext));
      if (reader.leafId === null || (!changed && inject.length === 0)) return;
    } finally {
      reader.close();
    }
    const writer = host.store.openWriter(sessionKey, { cwd, create: false, deadlineMs: LOCK_WAIT_MS });
    try {
      const slice = (): ReturnType<typeof readContext> => readContext(writer, window);
      new TurnFragments({ writer: () => writer, slice }).merge(additionalContext, "input");
    } finally {
      writer.close();
    }
  } catch (error) {
    guard.degrade("transcript", toPagurusError(error).message);
  }
}
