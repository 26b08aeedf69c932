/** Converts queries to index terms. User input is never query syntax. */
import { familyOf, type Family } from "./families.ts";
import { fold, isLatin } from "./fold.ts";
import { isCuedName, isTimeBefore } from "./name-cues.ts";
import { partsOf, queryPairs, runsOf } from "./scripts.ts";
import { unspacedWords, type UnspacedWord } from "./unspaced-words.ts";
import { WordForms } from "./word-forms.ts";

/** Limit on the distinct words of a query; further ones are ignored. */
const WORD_LIMIT = 64;
/** Limit on the words of a query that is also searched as names, and on the words of a name. */
const NAMED_WORDS = 12;
const LONGEST_NAME = 3;
/** Limit on the tokens of a word in an index query. */
const TOKEN_LIMIT = 16;
/** Limit on the words of a query that are searched in all their forms: a longer one finds enough without them. */
const FORMED_WORDS = 8;
/** The same for words of other alphabets, which have more forms. */
const FORMED_FOREIGN = 14;

export interface QueryWord {
  /** Search text: folded, with punctuation (`src/a.ts`). */
  text: string;
  /** Index tokens that every text with the word has, folded; several for a joined word. */
  tokens: readonly string[];
  /** The same as an FTS5 expression. */
  expression: string;
  /** True for a script without spaces: matched anywhere, without word boundaries. */
  unspaced: boolean;
  /** True for a name made of adjacent words, not typed by the user. Texts need not have it. */
  made: boolean;
  /** Share of a word that it is in a match; default 1. */
  part?: number;
  /** True where texts may have its tokens without the word: it was split into pairs of characters, or at signs of vowels. */
  isLoose?: boolean;
  /** True for a name, by the words beside it, in a script without capitals. */
  isName?: boolean;
  /** True for the first word of a question in a language that begins with what it is about. */
  isTopic?: boolean;
  /** The forms of the word (`paint`, `paints`, `painting`), which all count as the word, and what they begin with. */
  forms?: { starts: readonly string[]; all: ReadonlySet<string> };
  /** The forms that a word of another alphabet may have: the index says which of them there are. */
  family?: Family;
}

// Boundaries as in SQLite's tokenizer: marks end a token, except the diacritics of Latin letters.
const BETWEEN_TERMS = /[^\p{L}\p{N}\p{Co}]+/u;
const EDGES = /^[^\p{L}\p{N}\p{Co}]+|[^\p{L}\p{N}\p{Co}]+$/gu;
const LATIN_MARKS = /[\u0300-\u036f]/gu;
/** What separates the parts of a word for people, too, unlike a sign of a vowel. */
const SEPARATED = /[^\p{L}\p{N}\p{Co}\p{M}]/u;
const HAS_LETTER = /[\p{L}\p{N}\p{Co}]/u;

function tokensOf(word: string): string[] {
  const tokens = queryPairs(word).replace(LATIN_MARKS, "").split(BETWEEN_TERMS);
  return [...new Set(tokens.filter((token) => HAS_LETTER.test(token)))];
}

/** Ending of Hindi words (`गाड़ियां`), without the signs at the end, which are edges. */
const HINDI_PLURAL = /(?<=\p{Script=Devanagari}{3})िय$/u;

/** The typed words before and after one. */
interface Beside {
  before: string | undefined;
  after: string | undefined;
}

class Words {
  readonly found = new Map<string, QueryWord>();
  /** The found words as they were typed. */
  readonly #typed = new Map<string, string>();

  /** Adds a typed word: each word of a script without spaces in it, and the others. */
  addAll(typed: string, { before, after }: Beside): void {
    for (const { text, isRun } of runsOf(typed)) {
      if (isRun) for (const word of unspacedWords(text)) this.#addUnspaced(word);
      else {
        const plain = text.replace(EDGES, "");
        this.add(plain.replace(HINDI_PLURAL, ""), isCuedName(plain, before, after));
      }
    }
  }

  #addUnspaced({ text: typed, part, isMade, isName = false }: UnspacedWord): void {
    const text = fold(typed);
    const tokens = tokensOf(typed);
    const [first] = tokens;
    const known = this.found.get(text);
    if (first === undefined || (known && !known.made)) return;
    const quoted = tokens.slice(0, TOKEN_LIMIT).map((token) => `"${token}"`);
    // A single character is matched as the beginning of a pair.
    const isLone = Array.from(typed).length === 1;
    const expression = isLone ? `"${first}"*` : quoted.join(" AND ");
    const isLoose = tokens.length > 1;
    this.found.set(text, {
      text,
      tokens: tokens.map(fold),
      expression,
      unspaced: true,
      made: isMade,
      part,
      isLoose,
      isName,
    });
  }

  /** Adds a typed word, and its parts. */
  add(typed: string, isName = false): void {
    const text = fold(typed);
    const tokens = tokensOf(typed);
    const [first] = tokens;
    if (first === undefined || this.found.has(text)) return;
    const quoted = tokens.slice(0, TOKEN_LIMIT).map((token) => `"${token}"`);
    const expression = quoted.join(" AND ");
    this.#typed.set(text, typed);
    const isLoose = tokens.length > 1 && !SEPARATED.test(typed);
    this.found.set(text, {
      text,
      tokens: tokens.map(fold),
      expression,
      unspaced: false,
      made: false,
      isLoose,
      isName,
    });
    if (isLoose) return;
    if (tokens.length === 1) for (const part of partsOf(typed)) this.add(part);
    // Parts of one letter are skipped: they are everywhere.
    else for (const token of tokens) if (token.length > 1) this.add(token);
  }

  /** A word with all its forms. */
  withForms(word: QueryWord, known: WordForms): QueryWord {
    if (word.tokens.length !== 1 || word.tokens[0] !== word.text) return word;
    const stem = known.stem(word.text);
    if (stem === undefined) {
      const family = familyOf(this.#typed.get(word.text) ?? word.text);
      return family ? { ...word, family } : word;
    }
    const all = new Set([word.text, ...known.formsOf(word.text, stem)]);
    const expression = [...all].map((form) => `"${form}"`).join(" OR ");
    return { ...word, forms: { starts: [stem], all }, expression };
  }
}

/** Words with a capital that do not begin a sentence, folded. */
export function namesIn(query: string): Set<string> {
  return new Set(
    Array.from(query.matchAll(/(?<=[\p{L}\p{N},;:'"] +)\p{Lu}[\p{L}\p{N}]+/gu), ([name]) => fold(name)),
  );
}

const FULL_NAME = /(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{N}'’-]+(?: \p{Lu}[\p{L}\p{N}'’-]+)+/gu;

/** Folded parts of full names of which another part is known: `Petrowa` of `Anna Petrowa`. */
export function partlyKnown(query: string, isKnown: (name: string) => boolean): ReadonlySet<string> {
  const partly = new Set<string>();
  // German nouns have a capital, too.
  if (new WordForms(fold(query).match(/[\p{L}\p{N}]+/gu) ?? []).hasCapitalNouns) return partly;
  for (const [name] of query.matchAll(FULL_NAME)) {
    const parts = name.split(" ").map(fold);
    const bare = parts.map((part) => part.replace(/['’]s$/, ""));
    const known = parts.map((part, at) => isKnown(part) || isKnown(bare[at] ?? ""));
    for (const [at, part] of parts.entries())
      if (known[at] !== true && (known[at - 1] === true || known[at + 1] === true))
        partly.add(part).add(bare[at] ?? part);
  }
  return partly;
}

/** Scripts whose languages begin a question with what it is about, and leave the word that asks in its place. */
const TOPIC_FIRST =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Devanagari}]/u;

const PLAIN_WORD = /^[a-z0-9]{2,}$/;

/** Words that names do not have. */
const NOT_IN_NAMES = /^(?:the|an|my|your|you|we|it|what|how|why|who|did|does)$/;

/** Joins adjacent words to names (`orderDesk` from `order desk`). */
function namesOf(words: readonly QueryWord[]): QueryWord[] {
  if (words.length > NAMED_WORDS) return [];
  const names: QueryWord[] = [];
  for (let size = 2; size <= LONGEST_NAME; size++)
    for (let start = 0; start + size <= words.length; start++) {
      const parts = words.slice(start, start + size).map(({ text }) => text);
      if (!parts.every((part) => PLAIN_WORD.test(part) && !NOT_IN_NAMES.test(part))) continue;
      const text = parts.join("");
      names.push({ text, tokens: [text], expression: `"${text}"`, unspaced: false, made: true });
    }
  return names;
}

/** The distinct words of a query, in order: each typed word and its parts, then the names that they may form. */
export function queryWords(query: string): QueryWord[] {
  const words = new Words();
  // The private-use character marks words that the store itself adds.
  const typedWords =
    query
      .normalize("NFC")
      .replaceAll("\ue000", " ")
      .match(/[^\s"]+/gu) ?? [];
  for (const [at, typed] of typedWords.entries()) {
    words.addAll(typed, { before: typedWords[at - 1], after: typedWords[at + 1] });
    if (words.found.size >= WORD_LIMIT) break;
  }
  const all = [...words.found.values()].slice(0, WORD_LIMIT);
  const forms = new WordForms(all.map(({ text }) => text));
  const meaning = all.filter(({ text }) => !forms.isStopWord(text));
  const kept = meaning.length > 0 ? meaning : all;
  const count = kept.filter(({ made }) => !made).length;
  const isFormed = ({ text }: QueryWord): boolean => count <= (isLatin(text) ? FORMED_WORDS : FORMED_FOREIGN);
  const topic = kept.find(({ text, made }) => !made && !isTimeBefore(text));
  const typed = kept.map((word) => {
    const formed = isFormed(word) ? words.withForms(word, forms) : word;
    return word === topic && TOPIC_FIRST.test(word.text) ? { ...formed, isTopic: true } : formed;
  });
  // Names are made of what was typed: `isReady` of "is ready".
  return [...typed, ...namesOf(all).filter(({ text }) => !words.found.has(text))];
}
