/** Model summaries of spans; incomplete summaries are never kept. */
import { HOUR_MS } from "@pagurus/core/data/interval";
import { summaryOptions } from "@pagurus/core/compaction/built-in";
import { summarizeWithModel } from "@pagurus/core/compaction/summary/model-summary";
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { nodeId, nodeTokens } from "./summary-nodes.ts";
import type { LosslessSession } from "../lossless-session.ts";
import type { NewNode } from "../store/store-types.ts";
import { defined } from "@pagurus/core/data/defined";

/** Factor on the answer limit, for answers that are slightly too long. */
const ANSWER_SLACK = 1.5;
/** Minimum limit; no model completes a summary in fewer tokens. */
const LEAST_LIMIT = 300;
const CONDENSE =
  "The transcript consists of summaries of consecutive parts of one conversation, oldest first. Make one summary of them: " +
  "keep requests, constraints, decisions and what is open; tell finished work as finished. What a later part corrects is " +
  "told as corrected.";
/** Added at higher depths, which keep fewer details. */
const CONDENSE_DEEP =
  "They are summaries of summaries, of a long time: tell it in stages, a line or two each. Keep what still binds later " +
  "work, each decision with its reason, and the exact names of what exists now; leave out single steps and commands.";

/** Prompt instructions for a node's depth, in addition to the general rules. */
function depthInstructions({ kind, depth }: NewNode): string {
  if (kind === "leaf") return "";
  return depth > 1 ? `${CONDENSE} ${CONDENSE_DEEP}` : CONDENSE;
}

interface ModelRequest {
  /** The extract that the summary replaces. */
  node: NewNode;
  messages: readonly AgentMessage[];
  focus: string | undefined;
  context: RuntimeContext;
  signal: AbortSignal | undefined;
  timeoutMs: number;
}

/** Whether a model may be called now: there is one, and the hourly limit is not reached. */
export function mayAsk({ store, settings }: LosslessSession, context: RuntimeContext): boolean {
  if (store.spentSince(Date.now() - HOUR_MS).calls >= settings.summariesPerHour) return false;
  return summaryOptions(context, {}).llm !== undefined;
}

/**
 * The model's node for the same span; undefined when no model may be called now (offline, or the hourly limit is
 * reached). Throws `compaction_failed`, `deadline_exceeded`, `turn_aborted`, and the model's errors.
 */
export async function modelNode(
  session: LosslessSession,
  request: ModelRequest,
): Promise<NewNode | undefined> {
  const { store } = session;
  const { node, messages, focus, context, signal, timeoutMs } = request;
  if (!mayAsk(session, context)) return undefined;
  const options = summaryOptions(context, { customInstructions: focus });
  const { llm } = options;
  if (!llm) return undefined;
  const instructions = [depthInstructions(node), options.customInstructions ?? ""].filter(
    (text) => text !== "",
  );
  let model = "";
  let tokens = 0;
  let calls = 0;
  let cost = 0;
  const counted: typeof llm = async (asked) => {
    calls += 1;
    const answer = await llm(asked);
    model = `${answer.provider}/${answer.model}`;
    tokens += answer.usage?.totalTokens ?? 0;
    cost += answer.usage?.cost ?? 0;
    return answer;
  };
  const limit = Math.max(LEAST_LIMIT, Math.min(nodeTokens(node.sourceTokens), 2 * node.tokens));
  try {
    const whole = await withDeadline(
      (bounded) =>
        summarizeWithModel({
          messages,
          llm: counted,
          maxTokens: Math.floor(limit * ANSWER_SLACK),
          windowTokens: options.windowTokens,
          mode: "safeguard",
          ...defined({ identifierPolicy: options.identifierPolicy }),
          signal: bounded,
          ...(instructions.length > 0 ? { customInstructions: instructions.join("\n") } : {}),
        }),
      { ms: timeoutMs, label: "The summary of a part", signal },
    );
    // Files and exact strings are collected from the calls again for each head.
    const end = whole.search(/^## (?:Files touched|Exact identifiers)\s*$/m);
    const text = (end < 0 ? whole : whole.slice(0, end)).trim();
    const size = estimateTokens(text);
    if (size >= node.sourceTokens) {
      throw new PagurusError(
        "compaction_failed",
        "The model's summary is no shorter than its source; the extract stays.",
      );
    }
    const id = nodeId({ ...node, origin: "model", focus });
    return { ...node, nodeId: id, text, tokens: size, origin: "model", model, state: "prepared" };
  } finally {
    if (calls > 0) store.addSpend({ sessionId: session.sessionId, at: Date.now(), calls, tokens, cost });
  }
}
