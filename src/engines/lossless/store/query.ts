/** A query as the index understands it. Nothing that is typed is query syntax. */
import { isLoneCharacter, queryPairs } from "./scripts.ts";

/** Words of a query that count; the rest is left out. */
const WORD_LIMIT = 12;

export interface QueryWord {
  /** As it is looked for in texts: folded, with its punctuation (`src/a.ts`). */
  text: string;
  /** An FTS5 expression that every text which has the word matches. */
  expression: string;
}

const PLAIN = /^[\0-\x7f]*$/;

/** Lower case without diacritics. */
export function fold(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return text
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
}

const GAP = /[^\p{L}\p{N}\p{M}\p{Co}]+/u;
const HAS_LETTER = /[\p{L}\p{N}\p{Co}]/u;
const EDGES = /^[^\p{L}\p{N}\p{Co}]+|[^\p{L}\p{N}\p{Co}]+$/gu;

function quote(token: string): string {
  return `"${token}"`;
}

function expressionOf(word: string): string | undefined {
  const tokens = queryPairs(word)
    .split(GAP)
    .filter((token) => HAS_LETTER.test(token));
  if (tokens.length === 0) return undefined;
  const quoted = [...new Set(tokens)].slice(0, 16).map(quote);
  return isLoneCharacter(word) ? `${quoted[0] ?? ""}*` : quoted.join(" AND ");
}

/** The different words of a query, in its order. */
export function queryWords(query: string): QueryWord[] {
  const words = new Map<string, QueryWord>();
  // The private character marks the words that the store itself adds.
  for (const word of query.replaceAll("\ue000", " ").match(/[^\s"]+/gu) ?? []) {
    const trimmed = word.replace(EDGES, "");
    const text = fold(trimmed);
    const expression = expressionOf(trimmed);
    if (expression !== undefined && !words.has(text)) words.set(text, { text, expression });
  }
  return [...words.values()].slice(0, WORD_LIMIT);
}
