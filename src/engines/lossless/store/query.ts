/** A query as the index understands it. Nothing that is typed is query syntax. */
import { isUnspaced, partsOf, queryPairs } from "./scripts.ts";

/** Different words of a query that are looked up; of more, the rest is left out. */
const WORD_LIMIT = 64;
/** Queries of at most so many words are looked for as names too, of so many words. */
const NAMED_WORDS = 12;
const LONGEST_NAME = 3;
/** Tokens of a word that the index is asked for. */
const TOKEN_LIMIT = 16;

export interface QueryWord {
  /** As it is looked for in texts: folded, with its punctuation (`src/a.ts`). */
  text: string;
  /** Tokens of the index that every text which has it has, folded; several make a joined word. */
  tokens: readonly string[];
  /** The same as an FTS5 expression. */
  expression: string;
  /** Of a script without spaces: it is found anywhere, without the edges of a word. */
  unspaced: boolean;
  /** Nobody typed it: words that follow each other, as one name. A text need not have it. */
  made: boolean;
}

const PLAIN = /^[\0-\x7f]*$/;
const FOREIGN = /[^\0-\x7f]/gu;

function foldCharacter(character: string): string {
  const folded = character
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
  return folded.length === character.length ? folded : character;
}

/** Lower case without diacritics; every character stays at its place. */
export function fold(text: string): string {
  return (PLAIN.test(text) ? text : text.replace(FOREIGN, foldCharacter)).toLowerCase();
}

// As SQLite's tokenizer cuts: marks end a token, but for the diacritics of Latin letters.
const GAP = /[^\p{L}\p{N}\p{Co}]+/u;
const EDGES = /^[^\p{L}\p{N}\p{Co}]+|[^\p{L}\p{N}\p{Co}]+$/gu;
const LATIN_MARKS = /[\u0300-\u036f]/gu;
const HAS_LETTER = /[\p{L}\p{N}\p{Co}]/u;

function tokensOf(word: string): string[] {
  const tokens = queryPairs(word).replace(LATIN_MARKS, "").split(GAP);
  return [...new Set(tokens.filter((token) => HAS_LETTER.test(token)))];
}

class Words {
  readonly found = new Map<string, QueryWord>();

  /** A word as it was typed, and what it is made of. */
  add(typed: string): void {
    const text = fold(typed);
    const tokens = tokensOf(typed);
    const [first] = tokens;
    if (first === undefined || this.found.has(text)) return;
    const unspaced = isUnspaced(typed);
    const quoted = tokens.slice(0, TOKEN_LIMIT).map((token) => `"${token}"`);
    // A lone character is found as the beginning of a pair.
    const isLone = unspaced && Array.from(typed).length === 1;
    const expression = isLone ? `"${first}"*` : quoted.join(" AND ");
    this.found.set(text, { text, tokens: tokens.map(fold), expression, unspaced, made: false });
    if (tokens.length === 1) for (const part of partsOf(typed)) this.add(part);
    // A part of one letter says nothing, and is everywhere.
    else for (const token of tokens) if (token.length > 1) this.add(token);
  }
}

const PLAIN_WORD = /^[a-z0-9]{2,}$/;

/** Words behind each other as one, as names are made of them (`orderDesk` of `order desk`). */
function namesOf(words: readonly QueryWord[]): QueryWord[] {
  if (words.length > NAMED_WORDS) return [];
  const names: QueryWord[] = [];
  for (let size = 2; size <= LONGEST_NAME; size++)
    for (let start = 0; start + size <= words.length; start++) {
      const parts = words.slice(start, start + size).map(({ text }) => text);
      if (!parts.every((part) => PLAIN_WORD.test(part))) continue;
      const text = parts.join("");
      names.push({ text, tokens: [text], expression: `"${text}"`, unspaced: false, made: true });
    }
  return names;
}

/** The different words of a query, in its order: each as it was typed and its parts, then what they may make. */
export function queryWords(query: string): QueryWord[] {
  const words = new Words();
  // The private character marks the words that the store itself adds.
  for (const typed of query
    .normalize("NFC")
    .replaceAll("\ue000", " ")
    .match(/[^\s"]+/gu) ?? []) {
    words.add(typed.replace(EDGES, ""));
    if (words.found.size >= WORD_LIMIT) break;
  }
  const typed = [...words.found.values()].slice(0, WORD_LIMIT);
  return [...typed, ...namesOf(typed).filter(({ text }) => !words.found.has(text))];
}
