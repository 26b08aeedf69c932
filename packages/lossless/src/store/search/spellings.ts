/** Names that a conversation spells in another way than the query (`Nikolas` for `Nicolas`, `Mohammed` for `Muhammad`). */
import { editDistance } from "@pagurus/core/data/edit-distance";
import type { Database } from "@pagurus/core/data/sqlite";
import type { QueryWord } from "./query.ts";

/** Letters of the shortest name that is compared. */
const LEAST_LETTERS = 4;
/** Letters from which on two names may also differ in their vowels: shorter ones then are other words (`John`, `join`). */
const LONG_NAME = 7;
/** Limit on the edits between two spellings. */
const MOST_EDITS = 3;
/** Letters of the shorter name from which on one may be a slip for the other, and the least number and share of the texts that have the other name. */
const SLIP_LETTERS = 5;
const SLIP_TEXTS = 10;
const SLIP_SHARE = 0.01;
/** Limit on the texts of an index whose words are listed: each has to be counted. */
const MOST_TEXTS = 30_000;
/** Limit on the spellings of one name. */
const MOST_SPELLINGS = 4;

/** A name with one letter for each sound of a consonant. */
function plainOf(name: string): string {
  return name
    .replace(/ph/g, "f")
    .replace(/ck|[cq]/g, "k")
    .replace(/z/g, "s")
    .replace(/y/g, "i")
    .replace(/(.)\1+/g, "$1");
}

/** The first letter of a name and the sounds of its consonants. */
function soundOfName(name: string): string {
  const plain = plainOf(name);
  return plain.slice(0, 1) + plain.slice(1).replace(/[aeiouh]/g, "");
}

/** Whether two folded names may be spellings of one. */
export function isSpelling(name: string, other: string): boolean {
  if (plainOf(name) === plainOf(other)) return true;
  const isLong = Math.min(name.length, other.length) >= LONG_NAME;
  return isLong && soundOfName(name) === soundOfName(other) && editDistance(name, other) <= MOST_EDITS;
}

/**
 * Whether a name may be the other one with one slip of the keyboard: a letter too many or too few before the last (`Andew` for `Andrew`), or, in
 * longer names, a wrong one. Names of different people may differ by as much (`Maria`, `Marina`).
 */
export function isSlip(name: string, other: string): boolean {
  const least = name.length === other.length ? LONG_NAME : SLIP_LETTERS;
  const isInside = name.length === other.length || name.at(-1) === other.at(-1);
  return isInside && Math.min(name.length, other.length) >= least && editDistance(name, other) === 1;
}

const VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.spellings USING fts5vocab(main, words, row)";
/** Makes `temp.spellings`, the words of the index. */
export function openVocabulary(db: Database): void {
  db.raw.exec(VOCABULARY);
}

const TERMS =
  "SELECT term, doc FROM temp.spellings WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?";

/** The name as a word that its spellings in the index count as; undefined where there are none. `texts`: all of the index. */
export function respelled(
  db: Database,
  word: QueryWord,
  { texts, readsSlips }: { texts: number; readsSlips: boolean },
): QueryWord | undefined {
  const { text } = word;
  if (texts > MOST_TEXTS || text.length < LEAST_LETTERS || !/^[a-z]+$/.test(text)) return undefined;
  openVocabulary(db);
  const first = text.slice(0, 1);
  const after = String.fromCharCode(first.charCodeAt(0) + 1);
  const isFrequent = (doc: number): boolean => doc >= Math.max(SLIP_TEXTS, texts * SLIP_SHARE);
  const lengths = [text.length - MOST_EDITS, text.length + MOST_EDITS] as const;
  const spellings = db
    .all<{ term: string; doc: number }>(TERMS, first, after, ...lengths)
    .filter(
      ({ term, doc }) => isSpelling(text, term) || (readsSlips && isFrequent(doc) && isSlip(text, term)),
    )
    .map(({ term }) => term)
    .toSorted((one, other) => editDistance(text, one) - editDistance(text, other) || (one < other ? -1 : 1))
    .slice(0, MOST_SPELLINGS);
  if (spellings.length === 0) return undefined;
  const expression = spellings.map((each) => `"${each}"`).join(" OR ");
  return { ...word, expression, forms: { starts: [first], all: new Set([text, ...spellings]) } };
}
