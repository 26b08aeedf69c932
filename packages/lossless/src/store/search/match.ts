/** How well a session can answer a query: what its best message has of the words, and whether it knows the names. */
import type { DateWords } from "./date-words.ts";
import { namesIn, partlyKnown, type QueryWord } from "./query.ts";
import { rarity, type Hit, type WeighedWord } from "./search-rank.ts";

/** Weight of an unknown name, relative to another unknown word: a question about another person is not answered here. */
const NAME_FACTOR = 3;
/** The same in another alphabet than Latin, where a question has fewer words, and for what such a question is about. */
const FOREIGN_FACTOR = 6;
/** Share of the words of a query that is all of them, but for rounding. */
const WHOLE = 0.99;
/** Least weight of a word that is not common: one in about seven texts has it. */
const RARE = 2;

/**
 * Share of the words of a query that counts: words of scripts without spaces are found inside of others, the shorter the more often, and those
 * of Devanagari without the signs at their end.
 */
const CHANCES: readonly (readonly [RegExp, number])[] = [
  [/[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u, 0.68],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 0.76],
  [/[\p{Script=Han}\p{Script=Devanagari}]/u, 0.9],
];

/** A letter of another alphabet than Latin; a curly apostrophe is none. */
const OTHER_LETTER = /[^\P{L}\p{Script=Latin}]/u;

function chanceIn(query: string): number {
  return CHANCES.find(([script]) => script.test(query))?.[1] ?? 1;
}

/** How well the best message matches a query. */
export interface Match {
  /** Rarity of its words of the query together, but for common ones. */
  weight: number;
  /** The same as a share of all words of the query, 0 to 1. An unknown word weighs most, an unknown name even more. */
  share: number;
  /** The query is about names, all of which are known, and not only calls them. */
  isNamed: boolean;
}

/** What a match needs to be of use. */
export interface LeastMatch {
  share: number;
  weight: number;
  /** The share that is enough where the query is about known names, whatever the weight. Default: none is. */
  namedShare?: number;
  /** Names are also read as others that they may be a slip of the keyboard for. Default false. */
  readsSlips?: boolean;
  /** The weight that is enough where one message has all the words. Default: `weight`. */
  wholeWeight?: number;
  /** Less is read to find it. Default: as much as a search reads. */
  effort?: Effort;
}

/** How much is read. */
export interface Effort {
  /** Newest texts of one word. */
  newest: number;
  /** Common words that are searched in pairs. */
  paired: number;
  /** Texts that are ranked, and the limit on their total characters. */
  ranked: number;
  characters: number;
}

export function isEnough(match: Match, least: LeastMatch): boolean {
  const { share, weight, namedShare = Infinity, wholeWeight = weight } = least;
  const enough = match.share >= WHOLE ? wholeWeight : weight;
  return (match.share >= share && match.weight >= enough) || (match.isNamed && match.share >= namedShare);
}

/** The words of a query, and those that the index knows. */
export interface AskedWords {
  query: string;
  asked: readonly QueryWord[];
  known: readonly WeighedWord[];
  dates: DateWords | undefined;
  /** Number of texts that are searched. */
  texts: number;
}

type Messages = Iterable<readonly Pick<Hit, "word">[]>;

/** For matches of the same words with many messages. */
export function matcher({ query, asked, known, dates, texts }: AskedWords): (messages: Messages) => Match {
  const typed = asked.filter(({ made, text }) => !made && dates?.words.has(text) !== true);
  const index = new Map(known.map((word, at) => [word.text, { at, weight: word.weight }]));
  const names = namesIn(query);
  const named = typed.filter(({ text }) => names.has(text));
  const partial = partlyKnown(query, (name) => index.has(name));
  const factorOf = ({ text, isName, isTopic }: QueryWord): number => {
    if (OTHER_LETTER.test(text))
      return isName === true || isTopic === true || names.has(text) ? FOREIGN_FACTOR : 1;
    return names.has(text) ? NAME_FACTOR : 1;
  };
  const unknown = (word: QueryWord): number =>
    partial.has(word.text) ? 0 : rarity(0, texts) * factorOf(word);
  const all = typed.reduce(
    (sum, word) => sum + (word.part ?? 1) * (index.get(word.text)?.weight ?? unknown(word)),
    0,
  );
  const chance = chanceIn(query);
  // What is asked about a person in another alphabet has to be known, too: words that only the name is beside have nothing of it.
  const isLatinQuery = !OTHER_LETTER.test(query);
  const cued = new Set(typed.flatMap(({ text, isName }) => (isName === true ? [text] : [])));
  const isOther = (text: string): boolean => !names.has(text) && !cued.has(text);
  // A date is something that is asked about a name.
  const isOnlyCall = !typed.some(({ text }) => isOther(text)) && dates === undefined;
  const isNamed =
    named.length > 0 && !isOnlyCall && named.every(({ text }) => index.has(text) || partial.has(text));
  const sum = (of: readonly number[]): number => of.reduce((left, right) => left + right, 0);
  return (messages) => {
    const best = { weight: 0, share: 0, isNamed: isNamed && isLatinQuery };
    for (const hits of messages) {
      const has = new Set(hits.map(({ word }) => word));
      const had = typed.flatMap(({ text, part = 1 }) => {
        const word = index.get(text);
        return word && has.has(word.at) ? [{ weight: word.weight, part, isOther: isOther(text) }] : [];
      });
      const found = isLatinQuery || isOnlyCall || had.some((hit) => hit.isOther) ? had : [];
      best.isNamed ||= isNamed && found.some((hit) => !hit.isOther);
      const shares = found.map(({ weight, part }) => weight * part);
      const weights = found.map(({ weight }) => weight);
      const share = sum(shares) / Math.max(all, Number.MIN_VALUE);
      best.share = Math.max(best.share, share < WHOLE ? chance * share : share);
      best.weight = Math.max(best.weight, sum(weights.filter((weight) => weight >= RARE)));
    }
    return best;
  };
}

/** The match of a message that has all the words of the query that the index knows. */
export function mostOf(words: AskedWords): Match {
  return matcher(words)([words.known.map((_, word) => ({ word }))]);
}
