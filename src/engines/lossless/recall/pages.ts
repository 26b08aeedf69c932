/** Renders passages for a model: lines with ids, in pages with a token limit. */
import { estimateTokens } from "../../../tokens/estimate.ts";
import type { Passage } from "../store/search/search-passages.ts";
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

export interface RecallRequest {
  query: string;
  /** Session ids; default: every session. */
  sessions?: readonly string[];
  /** Session that makes the request. */
  asking?: string;
  /** Estimated tokens of a page, labels included. */
  budgetTokens: number;
  /** Default 0. */
  page?: number;
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
}

/** A page while it is filled: labels that equal the previous passage's are not repeated. */
class Page {
  readonly passages: RecalledPassage[] = [];
  readonly #asking: string | undefined;
  readonly #most: number;
  #left: number;
  #where = "";

  constructor(asking: string | undefined, tokens: number) {
    this.#asking = asking;
    this.#most = tokens;
    this.#left = tokens;
  }

  /** Adds a passage; false when it does not fit. An empty page takes a part of it. */
  add(passage: Passage): boolean {
    const where = this.#whereOf(passage);
    const head = where === this.#where || where === "" ? "" : `(${where})\n`;
    const text = head + line(passage);
    const tokens = estimateTokens(`${text}\n`);
    const isFirst = this.passages.length === 0;
    if (tokens > this.#left && !isFirst) return false;
    this.passages.push({
      id: passage.id,
      text: tokens > this.#most ? slice(text, 0, this.#most - 1).part : text,
    });
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

function line({ id, role, toolName, beside, offset, isWhole, text }: Passage): string {
  const who = toolName === undefined ? role : `result of ${toolName}`;
  const from = offset > 0 ? ` from ${offset}` : "";
  // A complete message beside its question needs no separate id.
  return beside && isWhole ? `+ ${who}: ${text}` : `${beside ? "+ " : ""}${id} ${who}${from}: ${text}`;
}

/**
 * A page of passages that answer a query, best first. The same request gives the same page until new messages come.
 * Throws `session_not_found`.
 */
export async function recallPassages(store: LosslessStore, request: RecallRequest): Promise<RecallPage> {
  const { budgetTokens, page: asked = 0, asking, ...query } = request;
  let page = new Page(asking, budgetTokens);
  let number = 0;
  // Equal for every page, since it affects the order.
  const wanted = Math.max(LEAST_WANTED, Math.ceil(budgetTokens / PASSAGE_TOKENS));
  const found = await store.passages({
    ...query,
    wanted,
    ...(asking === undefined ? {} : { asking }),
  });
  for (const passage of found) {
    if (page.add(passage)) continue;
    if (number === asked) return { passages: page.passages, more: true };
    page = new Page(asking, budgetTokens);
    page.add(passage);
    number += 1;
  }
  return { passages: number === asked ? page.passages : [], more: false };
}
