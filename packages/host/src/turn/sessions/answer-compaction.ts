/** A harness's compaction between turns, of a session that follows a program of the user's own. */
import type {
  CompactionQuestion,
  NativeCompactionQuestion,
} from "@pagurus/contract/harness/native-compaction";
import { checkCompactionOwner } from "../admit/admit-turn.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { contextTokens, type LaneScope } from "../compaction/lane-scope.ts";
import { askEngine, type OuterAnswer } from "../compaction/outer-compaction.ts";
import { compactQueued } from "../compaction/queued.ts";
import { readContext } from "../context/context-slice.ts";
import { surroundings } from "./inspect-session.ts";
import { harnessOf } from "./native-sessions.ts";
import { noteDegradations, openLane } from "./open-lane.ts";

/**
 * Answers a compaction of a program that runs outside of any turn. For a user's request an engine that owns compaction compacts first, as `/compact` does; its
 * `interceptCompaction()` is called only when that leaves no text, since each call may compact once more. Throws `runtime_unknown`,
 * `model_unknown`, `session_locked`, `host_requirement`.
 */
export async function answerBetweenTurns(
  host: AgentHost,
  request: NativeCompactionQuestion & { signal: AbortSignal },
): Promise<OuterAnswer | undefined> {
  const { cwd, model, signal, trigger } = request;
  const sessionKey = sessionKeyOf(host, request);
  const harness = harnessOf(host, request.runtime);
  if (!host.store.find(sessionKey)) return undefined;
  const around = await surroundings(host, { cwd, sessionKey, turnId: "manual", model, harness });
  const { info } = around.engine;
  checkCompactionOwner(host, around.engine);
  const isOwned = trigger === "manual" && info.ownsCompaction === true;
  if (!isOwned && info.interceptsCompaction !== true) return undefined;
  const scope = openLane(host, around, { sessionKey, signal, emit: () => undefined });
  try {
    const made = isOwned ? await compactFirst(scope, request) : undefined;
    const answer = made ?? (await askBetween(scope, request));
    noteDegradations(scope);
    return answer;
  } finally {
    scope.session.close();
  }
}

async function compactFirst(
  scope: LaneScope,
  { customInstructions: focus }: CompactionQuestion,
): Promise<OuterAnswer | undefined> {
  const { messages } = readContext(scope.session.writer, scope.model.contextWindow);
  const currentTokens = contextTokens(scope, messages);
  const { compacted, summary } = await compactQueued(scope, { trigger: "manual", currentTokens, focus });
  return compacted && summary !== undefined ? { summary } : undefined;
}

async function askBetween(scope: LaneScope, question: CompactionQuestion): Promise<OuterAnswer | undefined> {
  const { engine, session, model, signal } = scope;
  if (engine.info.interceptsCompaction !== true || signal.aborted) return undefined;
  const { messages } = readContext(session.writer, model.contextWindow);
  // The whole conversation is dropped; the newest entry is the closest value.
  const firstKeptEntryId = messages.at(-1)?.entryId;
  if (firstKeptEntryId === undefined) return undefined;
  const cut = { messages, keptFrom: messages.length, firstKeptEntryId };
  return askEngine(scope, question, cut, (customType, data) =>
    session.writer.append({ type: "custom", customType, data }),
  );
}
