/** A summary made of the words themselves: no model, no time, no randomness. */
import type { AgentMessage } from "../contract/message.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { candidatesOf, type Candidate } from "./candidates.ts";
import { identifiers } from "./identifiers.ts";
import { readSections, renderSections, type Section, type SummaryLine } from "./sections.ts";
import { termsOf } from "./terms.ts";

interface ExtractParams {
  messages: readonly AgentMessage[];
  previousSummary?: string;
  maxTokens: number;
  /** What the summary should dwell on; lines that share words with it go first. */
  focus?: string;
  /** `off`: no exact identifiers. Default `strict`. */
  identifierPolicy?: "strict" | "off";
}

/** Most of the budget that a section takes before every other one had its turn. */
const SHARE: Record<Section, number> = {
  Requests: 0.35,
  "Decisions and constraints": 0.2,
  Answers: 0.15,
  "Work done": 0.25,
  Errors: 0.12,
  Earlier: 0.2,
  "Files touched": 0.12,
  "Exact identifiers": 0.28,
};
const MOST_IDENTIFIERS = 600;
const HEADING_TOKENS = 5;

function withFocus(candidates: readonly Candidate[], focus: string | undefined): Candidate[] {
  const wanted = new Set(termsOf(focus ?? ""));
  if (wanted.size === 0) return [...candidates];
  return candidates.map((item) => {
    const hits = new Set(termsOf(item.text).filter((term) => wanted.has(term))).size;
    return hits === 0 ? item : { ...item, score: item.score + 3 + Math.min(hits, 3) };
  });
}

/** Chooses whole lines by score; `capped` keeps each section within its share. */
class Selection {
  readonly chosen = new Set<Candidate>();
  readonly #spent = new Map<Section, number>();
  readonly #maxTokens: number;
  #total = 0;

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  take(ranked: readonly Candidate[], budget: number, capped: boolean): void {
    for (const item of ranked) {
      if (this.chosen.has(item)) continue;
      const spent = this.#spent.get(item.section) ?? 0;
      const cost = estimateTokens(`\n- ${item.text}`) + (spent === 0 ? HEADING_TOKENS : 0);
      if (this.#total + cost > budget) continue;
      // The best line of a section may exceed its share: a share of a small budget holds no line at all.
      if (capped && spent > 0 && spent + cost > SHARE[item.section] * this.#maxTokens) continue;
      this.chosen.add(item);
      this.#spent.set(item.section, spent + cost);
      this.#total += cost;
    }
  }

  get total(): number {
    return this.#total;
  }
}

/**
 * Exact strings that no chosen line shows already: those of `first`, then the best of the span, then those carried
 * from before.
 */
export function identifierLines(
  messages: readonly AgentMessage[],
  previousSummary: string | undefined,
  shown: string,
  budget: number,
  first: readonly string[] = [],
): SummaryLine[] {
  const section = "Exact identifiers";
  const carried = readSections(previousSummary ?? "").filter((line) => line.section === section);
  const fresh = identifiers(messages, MOST_IDENTIFIERS);
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
 * A structured extract within `maxTokens`: what the user asked in their own words, decisions and constraints,
 * what was done and how it ended, errors, files, exact identifiers. Lines of `previousSummary` stay as long as
 * nothing newer replaces them and they outweigh what is new. Lines are taken whole; empty where not even one fits.
 */
export function summarizeExtractively(params: ExtractParams): string {
  const { messages, previousSummary, maxTokens } = params;
  const lineChars = Math.min(400, Math.max(60, Math.floor(maxTokens * 0.4)));
  const candidates = withFocus(candidatesOf({ messages, previousSummary, lineChars }), params.focus);
  const position = new Map(candidates.map((item, index) => [item, index]));
  const at = (item: Candidate): number => position.get(item) ?? 0;
  const ranked = candidates.toSorted((a, b) => b.score - a.score || at(b) - at(a));

  const selection = new Selection(maxTokens);
  selection.take(ranked, maxTokens * (1 - SHARE["Exact identifiers"]), true);
  const inOrder = (): SummaryLine[] => candidates.filter((item) => selection.chosen.has(item));
  const shown = renderSections(inOrder());
  const strings =
    params.identifierPolicy === "off"
      ? []
      : identifierLines(messages, previousSummary, shown, maxTokens - selection.total);
  const stringTokens = estimateTokens(renderSections(strings));
  selection.take(ranked, maxTokens - stringTokens, false);

  // Estimates of parts do not add up exactly: the least of the choice makes room.
  const leastFirst = ranked.filter((item) => selection.chosen.has(item)).toReversed();
  let text = renderSections([...inOrder(), ...strings]);
  while (text !== "" && estimateTokens(text) > maxTokens) {
    const least = strings.length > 0 ? undefined : leastFirst.shift();
    if (least) selection.chosen.delete(least);
    else strings.pop();
    text = renderSections([...inOrder(), ...strings]);
  }
  return text;
}
