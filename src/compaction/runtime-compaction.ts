/** The built-in compaction: a plan, then one summary of what is older. */
import type { CompactResult } from "../contract/engine-params.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { LlmComplete } from "../contract/model.ts";
import { renderSummary } from "../contract/summary.ts";
import { withDeadline } from "../platform/deadline.ts";
import { messageTokens } from "../tokens/messages.ts";
import { summarizeExtractively } from "./extract.ts";
import { filesTouched } from "./files.ts";
import { summarizeWithModel } from "./model-summary.ts";
import { planCompaction, type CompactionPlan } from "./plan.ts";

/** A summary that is larger costs more in each request than its words bring back. */
const MOST_SUMMARY_TOKENS = 4_000;
const SUMMARY_SHARE_OF_BUDGET = 0.2;
const DEFAULT_TIMEOUT_MS = 180_000;

interface RuntimeCompactionParams {
  /** A context as the store gives it; see `planCompaction`. */
  messages: readonly AgentMessage[];
  liveStart: number;
  /** Counts as half of `tokenBudget` where it is more. */
  keepRecentTokens: number;
  tokenBudget: number;
  /** Absent: the summary is extractive. */
  llm?: LlmComplete;
  /** Window of the summarizing model. */
  windowTokens: number;
  /** What the summary should dwell on. */
  customInstructions?: string;
  signal?: AbortSignal;
  /** For all calls of the model together. Default 180 s. */
  timeoutMs?: number;
  /** Calibrated count of a message; the plain estimate where absent. */
  tokens?: (message: AgentMessage) => number;
  /** Entry ids of messages that no user wrote (fragments, notices); a summary never holds their words. */
  fragments?: ReadonlySet<string>;
}

interface Summary {
  text: string;
  origin: "model" | "extractive";
  modelError?: string;
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  throw new PagurusError("turn_aborted", "The compaction was aborted.", { cause: signal.reason });
}

function sum(messages: readonly AgentMessage[], tokens: (message: AgentMessage) => number): number {
  return messages.reduce((total, message) => total + tokens(message), 0);
}

/** Tokens of the summary: so few that a compaction gains, whatever it summarizes. In plain estimates. */
function summaryTokens(params: RuntimeCompactionParams, plan: CompactionPlan): number {
  const tokens = params.tokens ?? messageTokens;
  const summarized = sum(plan.toSummarize, tokens);
  const previous = plan.previousSummary ?? "";
  const before = previous === "" ? 0 : tokens({ role: "user", content: renderSummary(previous) });
  const most = Math.min(
    MOST_SUMMARY_TOKENS,
    params.tokenBudget * SUMMARY_SHARE_OF_BUDGET,
    before + summarized / 2,
  );
  const plain = sum(plan.toSummarize, messageTokens);
  const correction = Math.min(3, Math.max(0.5, plain === 0 ? 1 : summarized / plain));
  return Math.max(1, Math.floor(most / correction));
}

/** Estimated size of the context once the summary stands in it. */
function tokensAfter(params: RuntimeCompactionParams, plan: CompactionPlan, summary: string): number {
  const tokens = params.tokens ?? messageTokens;
  const { messages, liveStart } = params;
  const input = plan.splitTurnInputId === undefined ? [] : messages.slice(liveStart, liveStart + 1);
  const head: AgentMessage = { role: "user", content: renderSummary(summary) };
  return sum([...input, head, ...messages.slice(plan.firstKeptIndex)], tokens);
}

async function summarize(params: RuntimeCompactionParams, plan: CompactionPlan): Promise<Summary> {
  const { llm, signal, customInstructions } = params;
  const shared = {
    messages: plan.toSummarize,
    maxTokens: summaryTokens(params, plan),
    ...(plan.previousSummary === undefined ? {} : { previousSummary: plan.previousSummary }),
  };
  const extract = (): string =>
    summarizeExtractively({
      ...shared,
      ...(customInstructions === undefined ? {} : { focus: customInstructions }),
    });
  if (!llm) return { text: extract(), origin: "extractive" };
  try {
    const text = await withDeadline(
      (inner) =>
        summarizeWithModel({
          ...shared,
          llm,
          windowTokens: params.windowTokens,
          signal: inner,
          ...(customInstructions === undefined ? {} : { customInstructions }),
        }),
      { ms: params.timeoutMs ?? DEFAULT_TIMEOUT_MS, label: "The summary of the context", signal },
    );
    if (tokensAfter(params, plan, text) < plan.tokensBefore) return { text, origin: "model" };
    throw new PagurusError("compaction_failed", "The model's summary would not make the context smaller.");
  } catch (error) {
    throwIfAborted(signal);
    const { code, message } = toPagurusError(error, "compaction_failed");
    return { text: extract(), origin: "extractive", modelError: `${code}: ${message}` };
  }
}

/**
 * Summarizes the older part of a context and says what stays. The summary is the model's where `llm` is given,
 * else (or when the model fails, which `details.modelError` then tells) an extract. `compacted: false` with `ok`
 * means that there was nothing to do; without it, that nothing would be gained. Throws `turn_aborted` when
 * `signal` fires, nothing else.
 */
export async function compactByRuntime(params: RuntimeCompactionParams): Promise<CompactResult> {
  throwIfAborted(params.signal);
  const keepRecentTokens = Math.min(params.keepRecentTokens, Math.floor(params.tokenBudget / 2));
  const { messages, liveStart, tokens, fragments } = params;
  const planned = planCompaction({ messages, liveStart, keepRecentTokens, ...(tokens ? { tokens } : {}) });
  if ("reason" in planned) return { ok: true, compacted: false, reason: planned.reason };
  const toSummarize = planned.toSummarize.filter((message) => !fragments?.has(message.entryId ?? ""));
  if (toSummarize.length === 0) {
    const reason = "There is nothing to compact: the older messages are fragments, which no summary holds.";
    return { ok: true, compacted: false, reason };
  }
  const plan: CompactionPlan = { ...planned, toSummarize };
  const { tokensBefore } = plan;
  const summary = await summarize(params, plan);
  throwIfAborted(params.signal);
  const after = tokensAfter(params, plan, summary.text);
  if (summary.text === "" || after >= tokensBefore) {
    const why =
      summary.text === "" ? "no line of a summary fits the budget" : "the context would not get smaller";
    const hint =
      summary.modelError === undefined ? "" : ` (the model failed before that: ${summary.modelError})`;
    return { ok: false, compacted: false, reason: `The compaction was not made because ${why}${hint}.` };
  }
  return {
    ok: true,
    compacted: true,
    result: {
      summary: summary.text,
      firstKeptEntryId: plan.firstKeptEntryId,
      origin: summary.origin,
      tokensBefore,
      tokensAfter: after,
      ...(plan.splitTurnInputId === undefined ? {} : { splitTurnInputId: plan.splitTurnInputId }),
      details: {
        messagesSummarized: toSummarize.length,
        messagesKept: messages.length - plan.firstKeptIndex + (plan.splitTurnInputId === undefined ? 0 : 1),
        files: filesTouched(toSummarize),
        ...(summary.modelError === undefined ? {} : { modelError: summary.modelError }),
      },
    },
  };
}
