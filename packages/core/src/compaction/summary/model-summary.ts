/** Summaries written by a model, checked before they replace anything. */
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { LlmComplete, LlmCompleteResult } from "@pagurus/contract/model";
import { estimateTokens } from "../../tokens/estimate.ts";
import { collect, requiredOf, withCollected, type RequiredParts, type Span } from "./collected.ts";
import { Pace } from "../../platform/pace.ts";
import { missingHeadings, question, SYSTEM, type Rejected } from "./summary-prompt.ts";
import { transcriptChunks, type TranscriptChunk } from "./transcript-text.ts";

/** Share of a window that estimates may fill; the rest is a margin for their error. */
const WINDOW_SHARE = 0.85;
/** Share of the summary for files and identifiers, which code collects. */
const COLLECTED_SHARE = 0.3;
/** Minimum chunk: with smaller ones the model would mostly summarize its own summary. Tokens. */
const SMALLEST_CHUNK = 256;
const FRAME_TOKENS = 120;
/** A text whose estimate exceeds its limit by this factor is too long: no estimate is off by more. */
const MOST_OVER_LIMIT = 1.5;

interface ModelSummaryParams {
  messages: readonly AgentMessage[];
  previousSummary?: string;
  customInstructions?: string;
  llm: LlmComplete;
  /** Limit on the whole summary. */
  maxTokens: number;
  /** Window of the summarizing model, which input and answer share. */
  windowTokens: number;
  /** `safeguard`: retries once after an answer that is bad or incomplete, then refuses. Default `default`. */
  mode?: "default" | "safeguard";
  /** Default `strict`. */
  identifierPolicy?: "strict" | "off";
  signal: AbortSignal;
  /** Called after each chunk but the last. */
  onProgress?: (progress: Progress) => void;
}

/** The model's text for the previous summary and the first `covered` messages; `wholeSummary` completes it. */
export interface Progress {
  words: string;
  covered: number;
}

interface Limits {
  /** Limit on the transcript in one request, tokens. */
  chunkTokens: number;
  words: number;
}

/** An unusable answer; `why` quotes nothing of it. */
class BadAnswer extends Error {
  readonly rejected: Rejected;
  readonly details: Record<string, unknown>;

  constructor(why: string, details: Record<string, unknown>, text = "", forModel = why) {
    super(why);
    this.rejected = { text, why: forModel };
    this.details = details;
  }
}

function failed(why: string, details: Record<string, unknown>): PagurusError {
  return new PagurusError(
    "compaction_failed",
    `The summary of the context was not taken because ${why}; the context is unchanged.`,
    { details },
  );
}

/** The part of a summary that a model wrote; files and identifiers are collected again each time. */
function writtenSummary(summary: string): string {
  const end = summary.search(/^## (?:Files touched|Exact identifiers)\s*$/m);
  return (end < 0 ? summary : summary.slice(0, end)).trim();
}

/** Text of an answer. Throws `BadAnswer` when it is empty, cut, too long, or no shorter than its input. */
function checked(answer: LlmCompleteResult, maxTokens: number, inputTokens: number): string {
  // An answer from a foreign model client may lack what its type promises.
  const text = typeof answer.text === "string" ? answer.text.trim() : "";
  if (text === "") throw new BadAnswer("the model's answer was empty", { inputTokens });
  const tokens = estimateTokens(text);
  const output = answer.usage?.output ?? 0;
  if (
    answer.stopReason === "length" ||
    output >= maxTokens ||
    (answer.usage === undefined && tokens >= maxTokens)
  ) {
    throw new BadAnswer("the model's answer was cut at its length limit", { tokens, output, maxTokens });
  }
  if (tokens > maxTokens * MOST_OVER_LIMIT) {
    throw new BadAnswer("the model's answer was longer than its limit", { tokens, maxTokens });
  }
  if (tokens >= inputTokens) {
    const why = "the model's answer was not shorter than what it stands for";
    throw new BadAnswer(why, { tokens, inputTokens });
  }
  return text;
}

/** Throws `BadAnswer` when the summary lacks a heading, a changed file or an exact string. */
function checkComplete(text: string, whole: string, required: RequiredParts): void {
  const headings = missingHeadings(text);
  const files = required.files.filter((path) => !whole.includes(path));
  const strings = required.identifiers.filter((value) => !whole.includes(value));
  const lacks = headings.map((heading) => `the part "${heading}"`);
  const forModel = headings.map((heading) => `the heading "## ${heading}" with its content`);
  if (files.length > 0) {
    lacks.push(`changed files (${files.length})`);
    forModel.push(`these changed files: ${files.join(", ")}`);
  }
  if (strings.length > 0) {
    lacks.push(`exact identifiers (${strings.length})`);
    forModel.push(`these exact strings: ${strings.join(", ")}`);
  }
  if (lacks.length === 0) return;
  const details = { headings, files: files.length, identifiers: strings.length };
  throw new BadAnswer(`it lacks ${lacks.join(", ")}`, details, text, `it lacks ${forModel.join("; ")}`);
}

function limitsOf(params: ModelSummaryParams): Limits {
  const { maxTokens, windowTokens, customInstructions } = params;
  const textTokens = Math.floor(maxTokens * (1 - COLLECTED_SHARE));
  const summary = writtenSummary(params.previousSummary ?? "");
  const frame = estimateTokens(SYSTEM) + estimateTokens(customInstructions ?? "") + FRAME_TOKENS + maxTokens;
  const chunkTokens =
    Math.floor(windowTokens * WINDOW_SHARE) - frame - Math.max(textTokens, estimateTokens(summary));
  if (chunkTokens < SMALLEST_CHUNK) {
    throw failed("the window of the summarizing model is too small for it", { windowTokens, maxTokens });
  }
  return { chunkTokens, words: Math.max(30, Math.floor(textTokens * 0.6)) };
}

async function ask(params: ModelSummaryParams, content: string): Promise<string> {
  const { llm, signal, maxTokens } = params;
  signal.throwIfAborted();
  const answer = await llm({
    messages: [{ role: "user", content }],
    systemPrompt: SYSTEM,
    maxTokens,
    purpose: "compaction",
    signal,
  });
  signal.throwIfAborted();
  return checked(answer, maxTokens, estimateTokens(content));
}

/** The rejected text for the retry prompt; only the reason when the text does not fit the window. */
function summarizeAgain(params: ModelSummaryParams, first: string, rejected: Rejected): Rejected {
  const tokens = estimateTokens(SYSTEM) + estimateTokens(first) + estimateTokens(rejected.text);
  const fits = tokens + FRAME_TOKENS + params.maxTokens <= params.windowTokens * WINDOW_SHARE;
  return fits ? rejected : { ...rejected, text: "" };
}

/** Updates the summary with `chunk`. `accept` throws `BadAnswer` to reject a text. */
async function summarizeChunk(
  params: ModelSummaryParams,
  asked: { chunk: TranscriptChunk; summary: string; words: number },
  accept: (text: string) => void,
): Promise<string> {
  const base = {
    chunk: asked.chunk.text,
    summary: asked.summary,
    words: asked.words,
    instructions: params.customInstructions,
  };
  const tryOnce = async (content: string): Promise<string> => {
    const text = await ask(params, content);
    accept(text);
    return text;
  };
  const first = question(base);
  try {
    return await tryOnce(first);
  } catch (error) {
    if (!(error instanceof BadAnswer)) throw error;
    if (params.mode !== "safeguard") throw failed(error.message, error.details);
    try {
      return await tryOnce(question({ ...base, rejected: summarizeAgain(params, first, error.rejected) }));
    } catch (second) {
      if (!(second instanceof BadAnswer)) throw second;
      throw failed(`${second.message}, also when asked again`, second.details);
    }
  }
}

/** Summarizes all chunks, each on the summary so far. An overflow of the model's window halves the remaining chunks. */
async function summarizeChunks(
  params: ModelSummaryParams,
  acceptLast: (text: string) => void,
  pace: Pace,
): Promise<string> {
  const { messages, signal, onProgress } = params;
  const limits = limitsOf(params);
  let { chunkTokens } = limits;
  let chunks = await transcriptChunks(messages, chunkTokens, pace);
  let summary = writtenSummary(params.previousSummary ?? "");
  let covered = 0;
  for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) {
    const last = chunks.length === 0;
    const accept = (text: string): void => {
      if (last) acceptLast(text);
    };
    try {
      summary = await summarizeChunk(params, { chunk, summary, words: limits.words }, accept);
    } catch (error) {
      const tooLong = isPagurusError(error) && error.code === "context_overflow";
      if (!tooLong || chunkTokens / 2 < SMALLEST_CHUNK) throw error;
      chunkTokens = Math.floor(chunkTokens / 2);
      const done = covered;
      const rest = await transcriptChunks(messages.slice(done), chunkTokens, pace);
      chunks = rest.map(({ text, covered: more }) => ({ text, covered: done + more }));
      continue;
    }
    signal.throwIfAborted();
    covered = chunk.covered;
    if (!last) onProgress?.({ words: summary, covered });
  }
  return summary;
}

/**
 * Requests a structured summary from `llm`, chunk by chunk on the summary so far when the transcript exceeds the
 * window. Code appends files touched and exact identifiers. Throws `compaction_failed` when an answer is empty, cut,
 * too long, lacks a part (safeguard mode, after a retry), or the window is too small; the model's errors unchanged;
 * `turn_aborted` when `signal` fires. The caller sets a deadline for a model that ignores the signal.
 */
export async function summarizeWithModel(params: ModelSummaryParams): Promise<string> {
  const { signal, mode } = params;
  const pace = new Pace(signal);
  try {
    const collected = await collect(
      { ...params, identifierPolicy: params.identifierPolicy ?? "strict" },
      pace,
    );
    const required = requiredOf(collected);
    const acceptLast = (text: string): void => {
      if (mode === "safeguard") checkComplete(text, withCollected(collected, text, required), required);
    };
    const summary = await summarizeChunks(params, acceptLast, pace);
    return withCollected(collected, summary, required);
  } catch (error) {
    if (signal.aborted) {
      throw new PagurusError("turn_aborted", "The compaction was aborted.", { cause: error });
    }
    throw toPagurusError(error, "compaction_failed");
  }
}

/**
 * Completes the model's text so far with the files and exact strings of the messages that it covers, for a caller
 * whose model failed at the rest. Built only then, since it reads those messages again.
 */
export async function wholeSummary(span: Span, { words, covered }: Progress, pace: Pace): Promise<string> {
  const collected = await collect({ ...span, messages: span.messages.slice(0, covered) }, pace);
  return withCollected(collected, words, requiredOf(collected));
}
