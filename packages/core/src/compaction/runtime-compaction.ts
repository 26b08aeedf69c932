/** The built-in compaction: plans the cut, then summarizes the older messages. */
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { LlmComplete } from "@pagurus/contract/model";
import { renderSummary } from "@pagurus/contract/engine/summary";
import { withDeadline } from "../platform/deadline.ts";
import { messageTokens } from "../tokens/message-tokens.ts";
import { summarizeExtractively } from "./summary/extract.ts";
import { readCalls } from "./summary/calls.ts";
import { filesTouched } from "./summary/touched-files.ts";
import { summarizeWithModel, wholeSummary, type Progress } from "./summary/model-summary.ts";
import { Pace } from "../platform/pace.ts";
import {
  leastGain,
  planRuntimeCompaction,
  summaryLimit,
  tokensWith,
  type RuntimePlan,
  type RuntimePlanParams,
} from "./runtime-plan.ts";
import { defined } from "../data/defined.ts";

/** Limit on a summary; a larger one costs more in each request than it is worth. */
const MOST_SUMMARY_TOKENS = 4_000;
const SUMMARY_SHARE_OF_BUDGET = 0.2;
const DEFAULT_TIMEOUT_MS = 180_000;

export interface SummaryOptions {
  /** The summary is extractive when absent. */
  llm?: LlmComplete;
  /** Window of the summarizing model. */
  windowTokens: number;
  /** `safeguard`: the model's summary is complete, or there is none. Default `default`. */
  mode?: "default" | "safeguard";
  /** Default `strict`. */
  identifierPolicy?: "strict" | "off";
  /** What the summary should focus on. */
  customInstructions?: string;
  signal?: AbortSignal;
  /** Timeout of all model calls together. Default 180 s. */
  timeoutMs?: number;
}

interface Summary {
  text: string;
  origin: "model" | "extractive";
  modelError?: string;
  /** Messages that the model had summarized before it failed. */
  messagesByModel?: number;
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  throw new PagurusError("turn_aborted", "The compaction was aborted.", { cause: signal.reason });
}

/** Limit on the summary, so that the compaction always gains. In uncalibrated tokens. */
async function summaryTokens(plan: RuntimePlan, pace: Pace): Promise<number> {
  const { tokens, toSummarize, previousSummary = "" } = plan;
  let summarized = 0;
  let plain = 0;
  await pace.each(toSummarize, (message) => {
    summarized += tokens(message);
    plain += messageTokens(message);
  });
  const before =
    previousSummary === "" ? 0 : tokens({ role: "user", content: renderSummary(previousSummary) });
  const most = Math.min(
    MOST_SUMMARY_TOKENS,
    plan.tokenBudget * SUMMARY_SHARE_OF_BUDGET,
    before + summarized / 2,
    summaryLimit(plan),
  );
  const correction = Math.min(3, Math.max(0.5, plain === 0 ? 1 : summarized / plain));
  return Math.max(1, Math.floor(most / correction));
}

interface SummaryTask {
  messages: readonly AgentMessage[];
  maxTokens: number;
  previousSummary?: string;
  identifierPolicy: "strict" | "off";
}

async function taskOf(plan: RuntimePlan, options: SummaryOptions): Promise<SummaryTask> {
  return {
    messages: plan.toSummarize,
    maxTokens: await summaryTokens(plan, new Pace(options.signal)),
    identifierPolicy: options.identifierPolicy ?? "strict",
    ...defined({ previousSummary: plan.previousSummary }),
  };
}

/** The model's summary. Throws `compaction_failed` when it gains too little, and the model's errors. */
async function askModel(
  plan: RuntimePlan,
  options: SummaryOptions & { llm: LlmComplete },
  task: SummaryTask,
  onProgress: (progress: Progress) => void,
): Promise<string> {
  const { llm, windowTokens, signal, customInstructions, mode = "default" } = options;
  const work = (inner: AbortSignal): Promise<string> =>
    summarizeWithModel({
      ...task,
      llm,
      windowTokens,
      mode,
      signal: inner,
      onProgress,
      ...defined({ customInstructions }),
    });
  const ms = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const text = await withDeadline(work, { ms, label: "The summary of the context", signal });
  const gain = plan.tokensBefore - tokensWith(plan, text);
  if (gain >= leastGain(plan.tokensBefore)) return text;
  throw new PagurusError("compaction_failed", "The model's summary would not make the context smaller.");
}

/** An extract; messages that a model has summarized already keep the model's text. */
async function extract(task: SummaryTask, options: SummaryOptions, progress?: Progress): Promise<string> {
  const { customInstructions: focus, signal } = options;
  const rest = progress && {
    messages: task.messages.slice(progress.covered),
    previousSummary: await wholeSummary(task, progress, new Pace(signal)),
  };
  return await summarizeExtractively({ ...task, ...rest, ...defined({ focus, signal }) });
}

async function summarize(plan: RuntimePlan, options: SummaryOptions): Promise<Summary | { refused: string }> {
  const { llm, signal, mode } = options;
  if (!llm) {
    if (mode !== "safeguard") {
      return { text: await extract(await taskOf(plan, options), options), origin: "extractive" };
    }
    return {
      refused:
        "safeguard mode takes no extract, and no model writes summaries here: set agents.defaults.compaction.model",
    };
  }
  const task = await taskOf(plan, options);
  let progress: Progress | undefined;
  try {
    const text = await askModel(plan, { ...options, llm }, task, (made) => {
      progress = made;
    });
    return { text, origin: "model" };
  } catch (error) {
    throwIfAborted(signal);
    const { code, message } = toPagurusError(error, "compaction_failed");
    const modelError = `${code}: ${message}`;
    if (mode === "safeguard") return { refused: `in safeguard mode a failed summary ends it: ${modelError}` };
    const messagesByModel = progress?.covered ?? 0;
    return {
      text: await extract(task, options, progress),
      origin: "extractive",
      modelError,
      ...(messagesByModel === 0 ? {} : { messagesByModel }),
    };
  }
}

/**
 * Summarizes the messages of a plan. The model writes the summary when `llm` is set; without it, or when the model
 * fails (see `details.modelError`), it is an extract. Safeguard mode has no such fallback. `compacted: false` means that
 * the gain was too small or that safeguard mode refused. Throws `turn_aborted` when `signal` fires, nothing else.
 */
export async function summarizePlan(plan: RuntimePlan, options: SummaryOptions): Promise<CompactResult> {
  throwIfAborted(options.signal);
  const { tokensBefore, toSummarize, splitTurnInputId } = plan;
  const summary = await summarize(plan, options);
  throwIfAborted(options.signal);
  if ("refused" in summary) {
    const reason = `The compaction was not made and the context is unchanged: ${summary.refused.replace(/\.$/, "")}.`;
    return { ok: false, compacted: false, reason };
  }
  const after = tokensWith(plan, summary.text);
  const calls = await readCalls(toSummarize, new Pace(options.signal));
  if (summary.text === "" || tokensBefore - after < leastGain(tokensBefore)) {
    const why =
      summary.text === ""
        ? "no line of a summary fits the budget"
        : `only ${Math.max(0, Math.round(tokensBefore - after))} of ${Math.round(tokensBefore)} tokens would be gained`;
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
      ...defined({ splitTurnInputId }),
      details: {
        messagesSummarized: toSummarize.length,
        messagesKept: plan.messages.length - plan.firstKeptIndex + (splitTurnInputId === undefined ? 0 : 1),
        files: filesTouched(calls),
        ...defined({ modelError: summary.modelError, messagesByModel: summary.messagesByModel }),
      },
    },
  };
}

/**
 * Plans and summarizes. `compacted: false` with `ok: true` means that there was nothing to do; with `ok: false`, that
 * nothing would be gained. Throws as `summarizePlan`.
 */
export async function compactByRuntime(params: RuntimePlanParams & SummaryOptions): Promise<CompactResult> {
  throwIfAborted(params.signal);
  const plan = await planRuntimeCompaction(params);
  if ("reason" in plan) return { ok: true, compacted: false, reason: plan.reason };
  return await summarizePlan(plan, params);
}
