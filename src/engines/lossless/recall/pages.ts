/** Passages as a model reads them: lines with ids, in pages of a number of tokens. */
import { estimateTokens } from "../../../tokens/estimate.ts";
import type { Passage } from "../store/passages.ts";
import type { LosslessStore } from "../store/store.ts";

/** Tokens that a passage takes, about: a larger page looks for more of them. */
const PASSAGE_TOKENS = 160;
const LEAST_WANTED = 80;
/** Characters of a token at most, for a first cut of a long text. */
const TOKEN_CHARS = 4;

/** A part of a long text from `offset` on that has at most `maxTokens`, and where the next one begins. */
export function slice(
  whole: string,
  offset: number,
  maxTokens: number,
): { part: string; next: number | undefined } {
  let end = Math.min(whole.length, offset + maxTokens * TOKEN_CHARS);
  while (end > offset + 1 && estimateTokens(whole.slice(offset, end)) > maxTokens)
    end = offset + Math.floor((end - offset) * 0.9);
  // A pair of surrogates is one character.
  if (end < whole.length && /[\uD800-\uDBFF]/.test(whole.charAt(end - 1))) end += 1;
  return { part: whole.slice(offset, end), next: end < whole.length ? end : undefined };
}

export function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

export interface RecallRequest {
  query: string;
  /** Session ids; every session where absent. */
  sessions?: readonly string[];
  /** Session that asks. */
  asking?: string;
  /** Tokens of a page, estimated, what stands before the words included. */
  budgetTokens: number;
  /** 0 where absent. */
  page?: number;
}

export interface RecalledPassage {
  /** Of the entry, or of the summary. */
  id: string;
  /** As it is shown, with its id and who said it. */
  text: string;
}

export interface RecallPage {
  passages: RecalledPassage[];
  /** There is a next page. */
  more: boolean;
}

/** One page while it is filled: what was told of the passage before is not told again. */
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

  /** False where there is no room for it; an empty page takes what it can. */
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
  // What is whole and stands with its question needs no id of its own.
  return beside && isWhole ? `+ ${who}: ${text}` : `${beside ? "+ " : ""}${id} ${who}${from}: ${text}`;
}

/**
 * A page of what answers a query, best first. The same request gives the same page while nothing is said. Throws
 * `session_not_found`.
 */
export async function recallPassages(store: LosslessStore, request: RecallRequest): Promise<RecallPage> {
  const { budgetTokens, page: asked = 0, asking, ...query } = request;
  let page = new Page(asking, budgetTokens);
  let number = 0;
  // The same for every page, since it decides upon the order.
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
