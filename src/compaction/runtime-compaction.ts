/** The built-in compaction: a plan, then one summary of what is older. */
import type { CompactResult } from "../contract/engine-compaction.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { LlmComplete } from "../contract/model.ts";
import { renderSummary } from "../contract/summary.ts";
import { withDeadline } from "../platform/deadline.ts";
import { messageTokens } from "../tokens/messages.ts";
import { summarizeExtractively } from "./extract.ts";
import { readCalls } from "./calls.ts";
import { filesTouched } from "./files.ts";
import { summarizeWithModel, wholeSummary, type Progress } from "./model-summary.ts";
import { Pace } from "../platform/pace.ts";
import {
  leastGain,
  planRuntimeCompaction,
  summaryRoom,
  tokensWith,
  type RuntimePlan,
  type RuntimePlanParams,
} from "./runtime-plan.ts";

/** A summary that is larger costs more in each request than its words bring back. */
const MOST_SUMMARY_TOKENS = 4_000;
const SUMMARY_SHARE_OF_BUDGET = 0.2;
const DEFAULT_TIMEOUT_MS = 180_000;

export interface SummaryOptions {
  /** Absent: the summary is extractive. */
  llm?: LlmComplete;
  /** Window of the summarizing model. */
  windowTokens: number;
  /** `safeguard`: the model's summary is complete, or there is none. Default `default`. */
  mode?: "default" | "safeguard";
  /** Default `strict`. */
  identifierPolicy?: "strict" | "off";
  /** What the summary should dwell on. */
  customInstructions?: string;
  signal?: AbortSignal;
  /** For all calls of the model together. Default 180 s. */
  timeoutMs?: number;
}

interface Summary {
  text: string;
  origin: "model" | "extractive";
  modelError?: string;
  /** How many of the messages a model had summarized before it failed. */
  messagesByModel?: number;
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  throw new PagurusError("turn_aborted", "The compaction was aborted.", { cause: signal.reason });
}

/** Tokens of the summary: so few that a compaction gains, whatever it summarizes. In plain estimates. */
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
    summaryRoom(plan),
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
    ...(plan.previousSummary === undefined ? {} : { previousSummary: plan.previousSummary }),
  };
}

/** The model's summary. Throws `compaction_failed` for one that gains too little, and what the model throws. */
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
      ...(customInstructions === undefined ? {} : { customInstructions }),
    });
  const ms = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const text = await withDeadline(work, { ms, label: "The summary of the context", signal });
  const gain = plan.tokensBefore - tokensWith(plan, text);
  if (gain >= leastGain(plan.tokensBefore)) return text;
  throw new PagurusError("compaction_failed", "The model's summary would not make the context smaller.");
}

/** An extract; of what a model has summarized already it carries on the model's words. */
async function extract(task: SummaryTask, options: SummaryOptions, progress?: Progress): Promise<string> {
  const { customInstructions: focus, signal } = options;
  const rest = progress && {
    messages: task.messages.slice(progress.covered),
    previousSummary: await wholeSummary(task, progress, new Pace(signal)),
  };
  return await summarizeExtractively({
    ...task,
    ...rest,
    ...(focus === undefined ? {} : { focus }),
    ...(signal ? { signal } : {}),
  });
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
 * Summarizes what a plan says. The summary is the model's where `llm` is given, else (or when the model fails, which
 * `details.modelError` then tells) an extract; in safeguard mode the model's or none. `compacted: false` means that
 * too little would be gained, or that a safeguard refused. Throws `turn_aborted` when `signal` fires, nothing else.
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
      ...(splitTurnInputId === undefined ? {} : { splitTurnInputId }),
      details: {
        messagesSummarized: toSummarize.length,
        messagesKept: plan.messages.length - plan.firstKeptIndex + (splitTurnInputId === undefined ? 0 : 1),
        files: filesTouched(calls),
        ...(summary.modelError === undefined ? {} : { modelError: summary.modelError }),
        ...(summary.messagesByModel === undefined ? {} : { messagesByModel: summary.messagesByModel }),
      },
    },
  };
}

/**
 * Both steps in one. `compacted: false` with `ok` means that there was nothing to do; without it, that nothing would
 * be gained. Throws as `summarizePlan`.
 */
export async function compactByRuntime(params: RuntimePlanParams & SummaryOptions): Promise<CompactResult> {
  throwIfAborted(params.signal);
  const plan = await planRuntimeCompaction(params);
  if ("reason" in plan) return { ok: true, compacted: false, reason: plan.reason };
  return await summarizePlan(plan, params);
}
