/**
 * Selects the texts to read for a query. Bounded: for each word only the newest texts are considered, for several common
 * words only recent ones.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import type { QueryWord } from "./query.ts";
import type { Effort } from "./match.ts";
import { hasWord, rarity, type WeighedWord } from "./search-rank.ts";
import { textAt, treeWord } from "../entries/texts.ts";
import { treesOf, type SessionRow } from "../entries/entry-tree.ts";

/** Limit on the newest texts of one word. */
const NEWEST_TEXTS = 1_024;
/** Limit on the words of a query: the rarest ones are searched. */
const MOST_WORDS = 24;
/** Limit on the texts of the rarer word when several common words are searched together. */
const CROSSED = 20_000;
/** Limits on the common words that are searched in pairs, and on the texts of a pair. */
const PAIRED = 3;
const CROSSED_TEXTS = 240;
/** Texts that are read to count those with a word and not only its tokens, and so many of which all are read where none of those has it. */
const VERIFIED = 48;
const SOUGHT = 512;
/** Texts of a word that is looked at for whether it is only in texts that are not searched. */
const FEW = 4;
/** Least share of the texts with its tokens that is counted. */
const LEAST_HAVING = 0.5 / VERIFIED;
/** Limit on sessions in an index query; more are filtered afterwards. */
const SCOPED = 32;

/** Share of all texts above which an index query is not restricted to sessions. */
const MOST_SHARE = 0.5;

/** Part of the index that is searched: an expression to add, and its approximate number of texts. */
export interface Scope {
  expression: string;
  texts: number;
  /** Highest number of a text. */
  last: number;
  /** Texts up to this number are searched too where newer ones would take all places. */
  until?: number;
  /** Default: that of a search. */
  effort?: Effort;
}

export interface Probe extends WeighedWord {
  /** Estimated number of texts with the word, from the newest ones. */
  having: number;
  /** True when more texts have the word than are considered. */
  isCommon: boolean;
  /** Numbers of the newest texts with the word, newest first. */
  newest: readonly number[];
}

export function scopeOf(db: Database, wanted: readonly SessionRow[] | undefined): Scope {
  const last = db.get<{ num: number | null }>("SELECT max(num) AS num FROM texts")?.num ?? 0;
  const all: Scope = { expression: "", texts: last, last };
  if (!wanted || wanted.length > SCOPED) return all;
  let texts = 0;
  for (const { num } of wanted)
    texts +=
      db.get<{ n: number | null }>("SELECT sum(length) AS n FROM members WHERE session = ?", num)?.n ?? 0;
  // When most texts are theirs, filtering afterwards is cheaper than a restricted query.
  if (texts > last * MOST_SHARE) return all;
  const trees = [...new Set(wanted.flatMap((session) => treesOf(db, session.num)))];
  // A session without entries has no tree, and no hits.
  const words = (trees.length === 0 ? [0] : trees).map((tree) => `"${treeWord(tree)}"`);
  return { expression: ` AND (${words.join(" OR ")})`, texts, last };
}

/** True for words that SQLite's tokenizer splits and so cannot query: it knows fewer characters than we do. */
function isUnknownToken(error: unknown): boolean {
  return error instanceof Error && error.message.includes("phrase queries are not supported");
}

const TIME_OF =
  "SELECT e.time FROM uses u JOIN entries e ON e.num = u.place WHERE u.text = ? AND u.place >= 0 ORDER BY u.place LIMIT 1";
/** Texts without a time of their own that are passed over, one after the other. */
const MOST_TIMELESS = 64;

/** About the newest text before a time: texts are numbered as they come, and an import brings old ones late. */
export function textBefore(db: Database, time: number, last: number): number {
  const timeOf = (num: number): number => {
    for (let at = num; at > Math.max(0, num - MOST_TIMELESS); at--) {
      const found = db.get<{ time: number }>(TIME_OF, at)?.time ?? 0;
      if (found > 0) return found;
    }
    return 0;
  };
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (timeOf(middle) < time) low = middle;
    else high = middle - 1;
  }
  return low;
}

interface Bounds {
  floor: number;
  limit: number;
  until: number | undefined;
}

/** Numbers of matching texts, newest first. */
function matching(db: Database, expression: string, { floor, limit, until }: Bounds): number[] {
  // As one text: SQLite hands over a thousand rows in as long as it finds them.
  const below = (last: number): number[] => {
    const { nums } =
      db.get<{ nums: string | null }>(
        `SELECT group_concat(rowid) AS nums FROM (
          SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?)`,
        expression,
        floor,
        last,
        limit,
      ) ?? {};
    return nums ? nums.split(",").map(Number) : [];
  };
  const newest = below(Number.MAX_SAFE_INTEGER);
  if (until === undefined || newest.length < limit) return newest;
  const older = below(until);
  const oldest = newest.at(-1) ?? 0;
  return [...newest, ...older.filter((num) => num < oldest)];
}

/** Limit on the texts of the rarer word, less where less of each word is read. */
function crossedIn({ effort }: Scope): number {
  return (CROSSED * (effort?.newest ?? NEWEST_TEXTS)) / NEWEST_TEXTS;
}

/** First text for a search of several words together, so that the rarest of them has at most `most` texts. */
function floorFor(rarest: number, most: number, scope: Scope): number {
  return rarest <= most ? 0 : Math.floor(scope.last * (1 - most / rarest));
}

/** About how many of these texts have a word, and not only its tokens; with those that have it, where few do. */
function verified(
  db: Database,
  word: QueryWord,
  nums: readonly number[],
): { count: number; newest: readonly number[] } {
  const has = (num: number): boolean => hasWord(textAt(db, num) ?? "", word);
  const step = Math.ceil(nums.length / VERIFIED);
  const sample = nums.filter((_, at) => at % step === 0);
  const having = sample.filter((num) => has(num)).length;
  if (step <= 1) return { count: having, newest: nums };
  if (having > 1 || nums.length > SOUGHT)
    return { count: Math.max(LEAST_HAVING, having / sample.length) * nums.length, newest: nums };
  // Short words have the tokens of many others: without one text that has it, the word is not known.
  const holders = nums.filter((num) => has(num));
  return { count: holders.length, newest: holders };
}

/** Looks up a word; undefined when no text has it. */
function probe(db: Database, word: QueryWord, floor: number, scope: Scope): Probe | undefined {
  const expression = `(${word.expression})${scope.expression}`;
  const limit = scope.effort?.newest ?? NEWEST_TEXTS;
  try {
    const found = matching(db, expression, { floor, limit, until: scope.until });
    const oldest = found.at(-1);
    if (oldest === undefined) return undefined;
    const { count, newest } =
      word.isLoose === true ? verified(db, word, found) : { count: found.length, newest: found };
    if (count === 0) return undefined;
    const isCommon = found.length >= limit;
    // Extrapolates the density of the newest texts.
    const having = isCommon ? (count / Math.max(1, scope.last - oldest + 1)) * scope.last : count;
    const weight = rarity(having, Math.max(scope.texts, having));
    return { ...word, having, isCommon, weight, newest };
  } catch (error) {
    if (isUnknownToken(error)) return undefined;
    throw error;
  }
}

/** The words of a query that are in the index. */
export class Probes {
  readonly #db: Database;
  readonly #scope: Scope;
  readonly #pause: () => Promise<void>;
  #found: Probe[] = [];
  /** How many texts have a token. */
  readonly #having = new Map<string, number>();

  constructor(db: Database, scope: Scope, pause: () => Promise<void>) {
    this.#db = db;
    this.#scope = scope;
    this.#pause = pause;
  }

  /** Looks up words. Those of one token come first: they limit how far back a joined word is searched. */
  async look(words: readonly QueryWord[]): Promise<void> {
    const isSingle = ({ tokens }: QueryWord): boolean => tokens.length === 1;
    for (const word of [...words.filter(isSingle), ...words.filter((word) => !isSingle(word))]) {
      const parts = word.tokens.map((token) => this.#having.get(token) ?? this.#scope.texts);
      const floor = isSingle(word) ? 0 : floorFor(Math.min(...parts), crossedIn(this.#scope), this.#scope);
      const found = probe(this.#db, word, floor, this.#scope);
      if (found) this.#found.push(found);
      if (found && isSingle(word)) this.#having.set(word.text, found.having);
      await this.#pause();
    }
  }

  /** Makes words unknown that are only in a few such texts. */
  forget(isAside: (num: number) => boolean): void {
    this.#found = this.#found.filter(
      ({ newest }) => newest.length > FEW || !newest.every((num) => isAside(num)),
    );
  }

  /** Whether a text has the word, also where it is beyond the limit. */
  has(text: string): boolean {
    return this.#found.some((each) => each.text === text);
  }

  /** Rarest first, up to the limit. */
  known(): Probe[] {
    return this.#found.toSorted((a, b) => b.weight - a.weight).slice(0, MOST_WORDS);
  }
}

/** Texts with their known words: one bit for each probe. */
class Found {
  readonly bits = new Map<number, number>();

  add(nums: readonly number[], bits: number): void {
    for (const num of nums) this.bits.set(num, (this.bits.get(num) ?? 0) | bits);
  }
}

/** Searches common words together, to find older texts that have several of them. */
function cross(db: Database, found: Found, probes: readonly Probe[], scope: Scope): void {
  const common = probes.map((word, bit) => ({ ...word, bit })).filter(({ isCommon }) => isCommon);
  const few = common.slice(0, scope.effort?.paired ?? PAIRED);
  const groups = few.flatMap((word, index) => few.slice(index + 1).map((other) => [word, other]));
  if (few.length > 2) groups.push(few);
  for (const group of groups) {
    const rarest = Math.min(...group.map(({ having }) => having));
    const expression = group.map((word) => `(${word.expression})`).join(" AND ");
    const bits = group.reduce((sum, { bit }) => sum | (1 << bit), 0);
    const floor = floorFor(rarest, crossedIn(scope) / groups.length, scope);
    const bounds = { floor, limit: CROSSED_TEXTS, until: scope.until };
    found.add(matching(db, expression + scope.expression, bounds), bits);
  }
}

/** A text that may answer a query. */
export interface Candidate {
  num: number;
  /** The words that it has, or may have: those of which only newer texts are known. One bit for each probe. */
  mayHave: number;
}

/** The words of which it is unknown whether older texts have them, with the oldest text that is known. */
function unknownBelow(probes: readonly Probe[], scope: Scope): { bit: number; oldest: number }[] {
  return [...probes.entries()]
    .filter(([, { isCommon }]) => isCommon)
    .map(([bit, word]) => ({
      bit,
      oldest: scope.until === undefined ? (word.newest.at(-1) ?? Infinity) : Infinity,
    }));
}

/** The most promising texts first, at most `limit`. */
export async function promising(
  db: Database,
  probes: readonly Probe[],
  scope: Scope,
  { limit, pause }: { limit: number; pause: () => Promise<void> },
): Promise<Candidate[]> {
  const found = new Found();
  for (const [bit, word] of probes.entries()) found.add(word.newest, 1 << bit);
  await pause();
  cross(db, found, probes, scope);
  await pause();
  const unknown = unknownBelow(probes, scope);
  return heaviest(found, probes, limit).map(({ num, bits }) => {
    let mayHave = bits;
    for (const { bit, oldest } of unknown) if (num < oldest) mayHave |= 1 << bit;
    return { num, mayHave };
  });
}

/** The texts whose words weigh most, newer ones first among equals. Thousands are found and a few are wanted, so only those are sorted. */
function heaviest(
  { bits: found }: Found,
  probes: readonly Probe[],
  limit: number,
): { num: number; bits: number }[] {
  const numsOf = new Map<number, number[]>();
  for (const [num, bits] of found) {
    const nums = numsOf.get(bits);
    if (nums) nums.push(num);
    else numsOf.set(bits, [num]);
  }
  const weightOf = (bits: number): number =>
    probes.reduce((sum, { weight }, bit) => (bits & (1 << bit) ? sum + weight : sum), 0);
  const groups = Map.groupBy(numsOf.keys(), weightOf);
  const taken: { num: number; bits: number }[] = [];
  for (const [, same] of [...groups].sort(([a], [b]) => b - a)) {
    if (taken.length >= limit) break;
    const texts = same.flatMap((bits) => (numsOf.get(bits) ?? []).map((num) => ({ num, bits })));
    taken.push(...texts.sort((a, b) => b.num - a.num).slice(0, limit - taken.length));
  }
  return taken;
}
