/** M1 and M2: how much of the evidence a recaller brings back within a budget. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { mulberry32 } from "../../generate.ts";
import type { Question } from "./facts.ts";
import type { Passage, Recaller } from "./recaller.ts";

/** A history that is asked about. */
export interface RecallCase {
  name: string;
  messages: readonly AgentMessage[];
  questions: readonly Question[];
  /** Provider tokens for each estimated one. */
  factor: number;
}

export interface Recalled {
  category: string;
  /** Share of the gold strings found. */
  found: number;
}

export interface RecallScore {
  questions: number;
  /** Mean share of the evidence, and its 95 % interval by bootstrap. */
  recall: number;
  low: number;
  high: number;
  /** Share of the questions with all of it. */
  allHit: number;
  /** Mean tokens read for a question, calibrated. */
  tokens: number;
}

/** The passages that are read: whole ones until the budget is spent. */
export function within(passages: readonly Passage[], budget: number): { text: string; tokens: number } {
  const read: string[] = [];
  let tokens = 0;
  for (const { text } of passages) {
    const size = estimateTokens(text);
    if (tokens + size > budget) break;
    tokens += size;
    read.push(text);
  }
  return { text: read.join("\n"), tokens };
}

export function shareOf(gold: readonly string[], text: string): number {
  return gold.filter((value) => text.includes(value)).length / Math.max(1, gold.length);
}

const ROUNDS = 1_000;

/** Mean with the 95 % interval of a percentile bootstrap; the same for the same values. */
export function score(shares: readonly number[], tokens: number): RecallScore {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const random = mulberry32(1);
  const means = Array.from({ length: ROUNDS }, () =>
    mean(shares.map(() => shares[Math.floor(random() * shares.length)] ?? 0)),
  ).toSorted((a, b) => a - b);
  return {
    questions: shares.length,
    recall: mean(shares),
    low: means[Math.floor(ROUNDS * 0.025)] ?? 0,
    high: means[Math.floor(ROUNDS * 0.975)] ?? 0,
    allHit: shares.filter((share) => share === 1).length / Math.max(1, shares.length),
    tokens,
  };
}

/** M1: each question with one answer of the whole budget. */
export async function recallAt(
  recaller: Recaller,
  asked: RecallCase,
  budget: number,
): Promise<{ shares: Recalled[]; tokens: number }> {
  const shares: Recalled[] = [];
  const most = Math.floor(budget / asked.factor);
  let tokens = 0;
  for (const { category, text, gold } of asked.questions) {
    const read = within(await recaller.recall(text, most), most);
    tokens += read.tokens * asked.factor;
    shares.push({ category, found: shareOf(gold, read.text) });
  }
  return { shares, tokens };
}

/** Tokens of one answer of a recall tool. */
const ANSWER_TOKENS = 2_000;

/** M2: up to `calls` answers of 2,000 tokens, a search with the question's words and then its next pages. */
export async function reachableAt(
  recaller: Recaller,
  asked: RecallCase,
  calls: number,
): Promise<{ shares: Recalled[]; tokens: number }> {
  const shares: Recalled[] = [];
  const most = Math.floor(ANSWER_TOKENS / asked.factor);
  let tokens = 0;
  for (const { category, text, gold } of asked.questions) {
    let seen = "";
    for (let page = 0; page < calls && shareOf(gold, seen) < 1; page++) {
      const read = within(await recaller.recall(text, most, page), most);
      seen += `\n${read.text}`;
      tokens += read.tokens * asked.factor;
    }
    shares.push({ category, found: shareOf(gold, seen) });
  }
  return { shares, tokens };
}
