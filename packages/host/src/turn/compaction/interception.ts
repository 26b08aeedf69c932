/**
 * The engine's own answer to a compaction of the in-attempt lane. Called only when `info.interceptsCompaction` is true, whatever
 * `ownsCompaction` is: the two flags are two lanes. The compaction's deadline and abort signal bound the call; an invalid answer falls back
 * to the default. Source: interceptCompaction specification, the blocking review finding included.
 */
import type {
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "@pagurus/contract/engine/engine-compaction";
import type { AgentMessage } from "@pagurus/contract/message";
import type { LaneFacts, LaneScope } from "./lane-scope.ts";
import { defined } from "@pagurus/core/data/defined";

export interface Interception {
  facts: LaneFacts;
  firstKeptEntryId: string;
  tokensBefore: number;
  messages: AgentMessage[];
  customInstructions: string | undefined;
  deadlineMs: number | undefined;
}

export type Intercepted = Extract<CompactionInterceptResult, { handled: true }>;

/** The engine's replacement; undefined for the default, whose reason is logged. */
export async function intercept(scope: LaneScope, request: Interception): Promise<Intercepted | undefined> {
  const { engine, guard, signal } = scope;
  const began = performance.now();
  const pass = (reason: string): undefined => {
    log(scope, request, { handled: false, reason, durationMs: Math.round(performance.now() - began) });
    return undefined;
  };
  const ask = engine.interceptCompaction?.bind(engine);
  if (!ask) return pass("the engine has no interceptCompaction()");
  const sessionFile = scope.context.freshSessionFile();
  if (sessionFile === undefined) return pass("there is no session file");
  const answer = await guard.call(
    "intercept",
    (bounded) => ask(interceptRequest(scope, request, sessionFile, bounded)),
    { signal, deadlineMs: request.deadlineMs, check: problemOf },
  );
  if (!answer.ok) return pass(answer.code);
  if (!answer.value.handled) {
    const { reason } = answer.value as { reason?: unknown };
    return pass(typeof reason === "string" ? reason.slice(0, 200) : "no reason");
  }
  log(scope, request, { handled: true, durationMs: Math.round(performance.now() - began) });
  return answer.value;
}

function interceptRequest(
  scope: LaneScope,
  request: Interception,
  sessionFile: string,
  signal: AbortSignal,
): CompactionInterceptRequest {
  const { session, model, context } = scope;
  const { sessionId, sessionKey } = session.writer.record;
  const known = context.currentTokenCount;
  const { customInstructions } = request;
  return {
    sessionId,
    sessionKey,
    sessionFile,
    contextWindow: model.contextWindow,
    ...defined({ currentTokenCount: known }),
    firstKeptEntryId: request.firstKeptEntryId,
    tokensBefore: request.tokensBefore,
    messages: scope.host.slot.bundled ? [...request.messages] : structuredClone(request.messages),
    ...defined({ customInstructions }),
    trigger: request.facts.trigger,
    backend: request.facts.backend,
    signal,
  };
}

/** The problem of an answer, as text. */
function problemOf(answer: CompactionInterceptResult): string | undefined {
  if (typeof answer !== "object" || answer === null) return "interceptCompaction() returned no object";
  if (!answer.handled) return undefined;
  return replacementProblem("interceptCompaction()", answer);
}

/** The problem of a summary that replaces the default one. */
export function replacementProblem(
  who: string,
  answer: { summary?: unknown; firstKeptEntryId?: unknown; tokensBefore?: unknown },
): string | undefined {
  if (typeof answer.summary !== "string" || answer.summary.trim() === "") return `${who} gave no summary`;
  if (typeof answer.firstKeptEntryId !== "string") return `${who} names no first kept entry`;
  if (typeof answer.tokensBefore !== "number" || !Number.isFinite(answer.tokensBefore)) {
    return `${who} gave no count of tokensBefore`;
  }
  return undefined;
}

function log(
  scope: LaneScope,
  request: Interception,
  fields: Record<string, string | number | boolean>,
): void {
  const { host, engine, session, turnId } = scope;
  host.logger.debug("compaction interception", {
    engineId: engine.info.id,
    sessionId: session.writer.record.sessionId,
    turnId,
    trigger: request.facts.trigger,
    tokensBefore: request.tokensBefore,
    messageCount: request.messages.length,
    ...fields,
  });
}
