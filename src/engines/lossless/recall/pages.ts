/** Renders passages for a model: lines with ids, in pages with a token limit. */
import { estimateTokens } from "../../../tokens/estimate.ts";
import type { Passage, PassageQuery } from "../store/search/search-passages.ts";
import type { Match } from "../store/search/store-search.ts";
import type { LosslessStore } from "../store/lossless-store.ts";

/** Approximate tokens of a passage; a larger page looks for more passages. */
const PASSAGE_TOKENS = 160;
const LEAST_WANTED = 80;
/** Upper estimate of characters per token, for a first cut of a long text. */
const TOKEN_CHARS = 4;

/** A part of a long text from `offset` on, of at most `maxTokens`, and the offset of the next one. */
export function slice(
  whole: string,
  offset: number,
  maxTokens: number,
): { part: string; next: number | undefined } {
  let end = Math.min(whole.length, offset + maxTokens * TOKEN_CHARS);
  while (end > offset + 1 && estimateTokens(whole.slice(offset, end)) > maxTokens)
    end = offset + Math.floor((end - offset) * 0.9);
  // Never splits a surrogate pair.
  if (end < whole.length && /[\uD800-\uDBFF]/.test(whole.charAt(end - 1))) end += 1;
  return { part: whole.slice(offset, end), next: end < whole.length ? end : undefined };
}

export function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

export interface RecallRequest extends Pick<PassageQuery, "from" | "to" | "who" | "least"> {
  query: string;
  /** Session ids; default: every session. */
  sessions?: readonly string[];
  /** Session that makes the request. */
  asking?: string;
  /** Only entries before this one, where the request is for one session. */
  before?: string;
  /** Estimated tokens of a page, labels included. */
  budgetTokens: number;
  /** Default 0. */
  page?: number;
  /** Passages of a page by time instead of best first; which ones it has is the same. Default false. */
  byTime?: boolean;
}

export interface RecalledPassage {
  /** Of the entry, or of the summary. */
  id: string;
  /** Rendered text, with id and author. */
  text: string;
}

export interface RecallPage {
  passages: RecalledPassage[];
  /** There is a next page. */
  more: boolean;
  match: Match;
}

/** A page while it is filled: labels that equal the previous passage's are not repeated. */
class Page {
  readonly passages: RecalledPassage[] = [];
  readonly taken: Passage[] = [];
  readonly #asking: string | undefined;
  readonly #most: number;
  readonly #isSorted: boolean;
  #left: number;
  #where = "";

  /** A page that will be sorted counts every label, since any of them may be needed. */
  constructor(asking: string | undefined, tokens: number, isSorted: boolean) {
    this.#asking = asking;
    this.#isSorted = isSorted;
    this.#most = tokens;
    this.#left = tokens;
  }

  /** Adds a passage; false when it does not fit. An empty page takes a part of it. */
  add(passage: Passage): boolean {
    const where = this.#whereOf(passage);
    const label = where === "" ? "" : `(${where})\n`;
    const text = (where === this.#where ? "" : label) + line(passage);
    const tokens = estimateTokens(`${this.#isSorted ? label + line(passage) : text}\n`);
    const isFirst = this.passages.length === 0;
    if (tokens > this.#left && !isFirst) return false;
    this.passages.push({
      id: passage.id,
      text: tokens > this.#most ? slice(text, 0, this.#most - 1).part : text,
    });
    this.taken.push(passage);
    this.#left -= tokens;
    this.#where = where;
    return true;
  }

  #whereOf({ sessionId, sessionKey, onPath, time }: Passage): string {
    const parts: string[] = [];
    if (time > 0) parts.push(dateOf(time).slice(0, 10));
    if (sessionId !== this.#asking) parts.push(`session ${sessionKey ?? sessionId}`);
    if (!onPath) parts.push("a branch that was left");
    return parts.join(", ");
  }
}

function line({ id, role, toolName, beside, offset, isWhole, newer, text }: Passage): string {
  const who = toolName === undefined ? role : `result of ${toolName}`;
  const from = offset > 0 ? ` from ${offset}` : "";
  const later = newer === undefined ? "" : ` (older than ${newer})`;
  // A complete message beside its question needs no separate id.
  return beside && isWhole
    ? `+ ${who}: ${text}`
    : `${beside ? "+ " : ""}${id} ${who}${from}${later}: ${text}`;
}

/** The passages of a page, the oldest first; a passage without a time, of a summary, comes last. */
function inTime({ taken }: Page, asking: string | undefined, tokens: number): RecalledPassage[] {
  const page = new Page(asking, tokens, true);
  for (const passage of taken.toSorted((a, b) => (a.time || Infinity) - (b.time || Infinity)))
    page.add(passage);
  return page.passages;
}

/**
 * A page of passages that answer a query, best first. The same request gives the same page until new messages come.
 * Throws `session_not_found`.
 */
export async function recallPassages(store: LosslessStore, request: RecallRequest): Promise<RecallPage> {
  const { budgetTokens, page: asked = 0, asking, byTime = false, ...query } = request;
  let page = new Page(asking, budgetTokens, byTime);
  let number = 0;
  const shown = (): RecalledPassage[] => (byTime ? inTime(page, asking, budgetTokens) : page.passages);
  // Equal for every page, since it affects the order.
  const wanted = Math.max(LEAST_WANTED, Math.ceil(budgetTokens / PASSAGE_TOKENS));
  const found = await store.passages({
    ...query,
    wanted,
    ...(asking === undefined ? {} : { asking }),
  });
  for (const each of found) {
    // In the order of time a related message is not next to the one that it belongs to.
    const passage = byTime ? { ...each, beside: false } : each;
    if (page.add(passage)) continue;
    if (number === asked) return { passages: shown(), more: true, match: found.match };
    page = new Page(asking, budgetTokens, byTime);
    page.add(passage);
    number += 1;
  }
  return { passages: number === asked ? shown() : [], more: false, match: found.match };
}
