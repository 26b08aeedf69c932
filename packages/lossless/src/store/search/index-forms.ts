/**
 * Forms of words of other alphabets. There may be too many to search each, as with Latin words, so the words of the index are asked which
 * there are.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import { firstOf, type Family } from "./families.ts";
import { fold } from "./fold.ts";
import type { QueryWord } from "./query.ts";
import { openVocabulary } from "./spellings.ts";

/** Limit on the texts of an index whose words are listed: each that has one has to be counted. */
const MOST_TEXTS = 100_000;
/** Limits on the ranges of words that are listed for a query, and on the forms of one word. */
const MOST_RANGES = 100;
const MOST_FORMS = 24;

const TERMS = "SELECT term, doc FROM temp.spellings WHERE term >= ? AND term <= ?";
const LAST = "\u{10ffff}";

/** The words with those of their forms that the index has; each counts as the word. `texts`: all of the index. */
export async function withFamilies(
  db: Database,
  words: readonly QueryWord[],
  { texts, pause }: { texts: number; pause: () => Promise<void> },
): Promise<readonly QueryWord[]> {
  if (texts > MOST_TEXTS || !words.some(({ family }) => family)) return words;
  openVocabulary(db);
  const formed: QueryWord[] = [];
  let left = MOST_RANGES;
  for (const word of words) {
    left -= word.family?.starts.length ?? 0;
    formed.push(word.family && left >= 0 ? withForms(db, word, word.family) : word);
    await pause();
  }
  return formed;
}

function withForms(db: Database, word: QueryWord, { starts, has }: Family): QueryWord {
  const terms = starts
    .flatMap((start) => db.all<{ term: string; doc: number }>(TERMS, start, start + LAST))
    .filter(({ term }) => has(term))
    .toSorted((a, b) => b.doc - a.doc || (a.term < b.term ? -1 : 1))
    .slice(0, MOST_FORMS)
    .map(({ term }) => term);
  if (terms.length === 0) return word;
  const all = new Set([word.text, ...terms.map(fold)]);
  const expression = [word.expression, ...terms.map((term) => `"${term}"`)].join(" OR ");
  return { ...word, expression, forms: { starts: firstOf([...all]), all } };
}
