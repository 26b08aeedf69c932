/** Extractive summaries: verbatim lines chosen by score, without a model, deterministic. */
import type { AgentMessage } from "@pagurus/contract/message";
import { estimateTokens } from "../../tokens/estimate.ts";
import { candidatesOf, type Candidate } from "./candidates.ts";
import { surveyStrings, type SpanStrings } from "./identifiers.ts";
import { Pace } from "../../platform/pace.ts";
import { readSections, renderSections, type Section, type SummaryLine } from "./sections.ts";
import { shorten } from "./sentences.ts";
import { termsOf } from "./terms.ts";

interface ExtractParams {
  messages: readonly AgentMessage[];
  previousSummary?: string;
  maxTokens: number;
  /** What the summary should focus on; lines that share words with it score higher. */
  focus?: string;
  /** False: no lines of facts from results, except errors and outcomes. Default true. */
  resultFacts?: boolean;
  /** `off`: no exact identifiers. Default `strict`. */
  identifierPolicy?: "strict" | "off";
  signal?: AbortSignal;
}

/** Limit on each section's share of the budget while other sections still have lines to place. */
const SECTION_SHARES: Record<Section, number> = {
  Requests: 0.35,
  "Decisions and constraints": 0.2,
  Answers: 0.15,
  "Work done": 0.25,
  Errors: 0.12,
  "From data": 0.15,
  Earlier: 0.2,
  "Files touched": 0.12,
  "Exact identifiers": 0.28,
};
const HEADING_TOKENS = 5;

async function withFocus(
  candidates: readonly Candidate[],
  focus: string | undefined,
  pace: Pace,
): Promise<readonly Candidate[]> {
  const wanted = new Set(termsOf(focus ?? ""));
  if (wanted.size === 0) return candidates;
  const focused: Candidate[] = [];
  await pace.each(candidates, (item) => {
    const hits = new Set(termsOf(item.text).filter((term) => wanted.has(term))).size;
    focused.push(hits === 0 ? item : { ...item, score: item.score + 3 + Math.min(hits, 3) });
  });
  return focused;
}

interface Ranked extends Candidate {
  /** Position in the text. */
  at: number;
  /** Tokens of the line, once counted. */
  tokens?: number;
}

function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || b.at - a.at;
}

/** Least length to which a line is shortened, characters. */
const LEAST_LINE = 24;
/** Characters of a token, for a line that has to fit a number of them. */
const TOKEN_CHARS = 3;

/** Chooses whole lines by score; `capped` keeps each section within its share. */
class Selection {
  readonly #chosen = new Set<Ranked>();
  readonly #spent = new Map<Section, number>();
  readonly #maxTokens: number;
  #total = 0;

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  async take(ranked: readonly Ranked[], budget: number, capped: boolean, pace: Pace): Promise<void> {
    for (const item of ranked) {
      // Every line takes at least one token.
      if (this.#total + 1 > budget) return;
      if (pace.due) await pace.rest();
      if (this.#chosen.has(item)) continue;
      const spent = this.#spent.get(item.section) ?? 0;
      item.tokens ??= estimateTokens(`\n- ${item.text}`);
      const cost = item.tokens + (spent === 0 ? HEADING_TOKENS : 0);
      if (this.#total + cost > budget) {
        if (item.isCarried && spent === 0) this.#takeShortened(item, budget);
        continue;
      }
      // The best line of a section may exceed its share: a share of a small budget fits no line at all.
      if (capped && spent > 0 && spent + cost > SECTION_SHARES[item.section] * this.#maxTokens) continue;
      this.#chosen.add(item);
      this.#spent.set(item.section, spent + cost);
      this.#total += cost;
    }
  }

  /** The only line of a section of the summary before: a section without a line would seem to have been empty. */
  #takeShortened(item: Ranked, budget: number): void {
    const chars = Math.floor((budget - this.#total - HEADING_TOKENS - 1) * TOKEN_CHARS);
    if (chars < LEAST_LINE) return;
    item.text = shorten(item.text, chars);
    item.tokens = estimateTokens(`\n- ${item.text}`);
    const cost = item.tokens + HEADING_TOKENS;
    if (this.#total + cost > budget) return;
    this.#chosen.add(item);
    this.#spent.set(item.section, cost);
    this.#total += cost;
  }

  get total(): number {
    return this.#total;
  }

  get inOrder(): Ranked[] {
    return [...this.#chosen].sort((a, b) => a.at - b.at);
  }

  /** Removes the lowest line; false when there is none. */
  dropLeast(): boolean {
    const least = [...this.#chosen].sort(byScore).at(-1);
    return least !== undefined && this.#chosen.delete(least);
  }
}

/**
 * Exact strings that are not in `shown` yet: those of `first`, then the best of the span, then those of the previous
 * summary.
 */
export function identifierLines(
  strings: SpanStrings,
  previousSummary: string | undefined,
  shown: string,
  budget: number,
  first: readonly string[] = [],
): SummaryLine[] {
  const section = "Exact identifiers";
  const carried = readSections(previousSummary ?? "").filter((line) => line.section === section);
  const fresh = strings.ranked.map(({ value }) => value);
  const lines: SummaryLine[] = [];
  let total = HEADING_TOKENS;
  for (const text of new Set([...first, ...fresh, ...carried.map((line) => line.text)])) {
    if (shown.includes(text)) continue;
    const cost = estimateTokens(`, ${text}`);
    if (total + cost > budget) continue;
    lines.push({ section, text });
    total += cost;
  }
  return lines;
}

/**
 * Builds a structured extract within `maxTokens`: the user's requests verbatim, decisions and constraints, work done
 * with its outcomes, errors, files, exact identifiers. Lines of `previousSummary` stay as long as nothing newer
 * replaces them and they outscore new lines. Lines are taken whole; empty when not even one fits. Runs in slices,
 * between which other work runs. Throws `turn_aborted` when `signal` fires.
 */
export async function summarizeExtractively(params: ExtractParams): Promise<string> {
  const { messages, previousSummary, maxTokens } = params;
  const pace = new Pace(params.signal);
  const lineChars = Math.min(400, Math.max(60, Math.floor(maxTokens * 0.4)));
  const found = await candidatesOf(
    { messages, previousSummary, lineChars, resultFacts: params.resultFacts ?? true },
    pace,
  );
  const candidates = await withFocus(found, params.focus, pace);
  const ranked = await pace.sorted(
    candidates.map((item, at): Ranked => ({ ...item, at })),
    byScore,
  );

  const selection = new Selection(maxTokens);
  // Summaries alone bring no identifiers, so nothing is reserved for them.
  const reserved = messages.length === 0 ? 0 : SECTION_SHARES["Exact identifiers"];
  await selection.take(ranked, maxTokens * (1 - reserved), true, pace);
  const shown = renderSections(selection.inOrder);
  const strings =
    params.identifierPolicy === "off"
      ? []
      : identifierLines(
          await surveyStrings(messages, pace),
          previousSummary,
          shown,
          maxTokens - selection.total,
        );
  const stringTokens = estimateTokens(renderSections(strings));
  await selection.take(ranked, maxTokens - stringTokens, false, pace);

  // Estimates of parts do not add up exactly: the lowest lines are dropped until the text fits.
  let text = renderSections([...selection.inOrder, ...strings]);
  while (text !== "" && estimateTokens(text) > maxTokens) {
    if (strings.length > 0 || !selection.dropLeast()) strings.pop();
    text = renderSections([...selection.inOrder, ...strings]);
    if (pace.due) await pace.rest();
  }
  return text;
}
