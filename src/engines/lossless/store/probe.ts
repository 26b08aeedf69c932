/**
 * Which texts are worth reading for a query. Bounded: of each word only the newest texts are looked at, of several
 * common words only what is new enough.
 */
import type { Db } from "./db.ts";
import type { QueryWord } from "./query.ts";
import { rarity, type WeighedWord } from "./rank.ts";
import { treeWord } from "./texts.ts";
import { treesOf, type SessionRow } from "./tree.ts";

/** Newest texts of one word that are looked at. */
const NEWEST = 1_024;
/** The rarest words of a query are looked for, the others say too little. */
const MOST_WORDS = 24;
/** Texts that the rarer of several common words may have where all of them are looked for together. */
const CROSSED = 20_000;
/** The common words that are looked for two by two, and how many texts that gives. */
const PAIRED = 3;
const CROSSED_TEXTS = 240;
/** Sessions that the index can be asked for by name; more are filtered afterwards. */
const SCOPED = 32;

/** Share of all texts. */
const MOST = 0.5;

/** Part of the index that is searched: an expression to add, and how many texts it has, about. */
export interface Scope {
  expression: string;
  texts: number;
  /** Highest number of a text. */
  last: number;
}

export interface Probe extends WeighedWord {
  /** How many texts have it, as far as the newest ones tell. */
  having: number;
  /** More texts have it than are looked at. */
  isCommon: boolean;
  /** Numbers of the newest texts that have it, newest first. */
  newest: readonly number[];
}

export function scopeOf(db: Db, wanted: readonly SessionRow[] | undefined): Scope {
  const last = db.get<{ num: number | null }>("SELECT max(num) AS num FROM texts")?.num ?? 0;
  const all: Scope = { expression: "", texts: last, last };
  if (!wanted || wanted.length > SCOPED) return all;
  let texts = 0;
  for (const { num } of wanted)
    texts +=
      db.get<{ n: number | null }>("SELECT sum(length) AS n FROM members WHERE session = ?", num)?.n ?? 0;
  // Where most of it is theirs, to ask for theirs only costs more than to leave the rest out afterwards.
  if (texts > last * MOST) return all;
  const trees = [...new Set(wanted.flatMap((session) => treesOf(db, session.num)))];
  // A session without entries has no tree, and no hits.
  const words = (trees.length === 0 ? [0] : trees).map((tree) => `"${treeWord(tree)}"`);
  return { expression: ` AND (${words.join(" OR ")})`, texts, last };
}

/** SQLite's tokenizer knows fewer characters than we do: what it cuts in two cannot be asked for. */
function isUnknownToken(error: unknown): boolean {
  return error instanceof Error && error.message.includes("phrase queries are not supported");
}

/** Newest first. */
function matching(db: Db, expression: string, floor: number, limit: number): number[] {
  return db
    .all<{ rowid: number }>(
      "SELECT rowid FROM words WHERE words MATCH ? AND rowid >= ? ORDER BY rowid DESC LIMIT ?",
      expression,
      floor,
      limit,
    )
    .map(({ rowid }) => rowid);
}

/** From which text on several words are looked for together, so that the rarest of them is met that often at most. */
function floorFor(rarest: number, most: number, scope: Scope): number {
  return rarest <= most ? 0 : Math.floor(scope.last * (1 - most / rarest));
}

/** Undefined where no text has the word. */
function probe(db: Db, word: QueryWord, floor: number, scope: Scope): Probe | undefined {
  let newest: number[];
  try {
    newest = matching(db, `(${word.expression})${scope.expression}`, floor, NEWEST);
  } catch (error) {
    if (isUnknownToken(error)) return undefined;
    throw error;
  }
  const count = newest.length;
  const oldest = newest.at(-1);
  if (oldest === undefined) return undefined;
  const isCommon = count >= NEWEST;
  // The newest ones tell how dense the rest is.
  const having = isCommon ? (count / Math.max(1, scope.last - oldest + 1)) * scope.last : count;
  return { ...word, having, isCommon, newest, weight: rarity(having, Math.max(scope.texts, having)) };
}

/** The words that are in the index, the rarest first; as many as are worth a look. */
export async function probeWords(
  db: Db,
  words: readonly QueryWord[],
  scope: Scope,
  pause: () => Promise<void>,
): Promise<Probe[]> {
  const singles = new Map<string, Probe>();
  const probes: Probe[] = [];
  const isSingle = ({ tokens }: QueryWord): boolean => tokens.length === 1;
  // The parts of a joined word tell how far back it may be looked for.
  for (const word of [...words.filter(isSingle), ...words.filter((word) => !isSingle(word))]) {
    const parts = word.tokens.map((token) => singles.get(token)?.having ?? scope.texts);
    const floor = isSingle(word) ? 0 : floorFor(Math.min(...parts), CROSSED, scope);
    const found = probe(db, word, floor, scope);
    if (!found) continue;
    probes.push(found);
    if (isSingle(word)) singles.set(word.text, found);
    await pause();
  }
  return probes.sort((a, b) => b.weight - a.weight).slice(0, MOST_WORDS);
}

/** Texts with the words that they have as far as it is known: one bit for each probe. */
class Found {
  readonly bits = new Map<number, number>();

  add(nums: readonly number[], bits: number): void {
    for (const num of nums) this.bits.set(num, (this.bits.get(num) ?? 0) | bits);
  }
}

/** Common words together: what is older than the newest texts of each is found where it has several of them. */
function cross(db: Db, found: Found, probes: readonly Probe[], scope: Scope): void {
  const common = probes.map((word, bit) => ({ ...word, bit })).filter(({ isCommon }) => isCommon);
  const few = common.slice(0, PAIRED);
  const groups = few.flatMap((word, index) => few.slice(index + 1).map((other) => [word, other]));
  if (few.length > 2) groups.push(few);
  for (const group of groups) {
    const rarest = Math.min(...group.map(({ having }) => having));
    const expression = group.map((word) => `(${word.expression})`).join(" AND ");
    const bits = group.reduce((sum, { bit }) => sum | (1 << bit), 0);
    const floor = floorFor(rarest, CROSSED / groups.length, scope);
    found.add(matching(db, expression + scope.expression, floor, CROSSED_TEXTS), bits);
  }
}

/** Numbers of texts, the most promising first, at most `limit`. */
export async function promising(
  db: Db,
  probes: readonly Probe[],
  scope: Scope,
  { limit, pause }: { limit: number; pause: () => Promise<void> },
): Promise<number[]> {
  const found = new Found();
  for (const [bit, { newest }] of probes.entries()) found.add(newest, 1 << bit);
  await pause();
  cross(db, found, probes, scope);
  await pause();
  const weightOf = (bits: number): number =>
    probes.reduce((sum, { weight }, bit) => (bits & (1 << bit) ? sum + weight : sum), 0);
  const weights = new Map<number, number>();
  const weighed = [...found.bits].map(([num, bits]) => {
    let weight = weights.get(bits);
    if (weight === undefined) {
      weight = weightOf(bits);
      weights.set(bits, weight);
    }
    return { num, weight };
  });
  weighed.sort((a, b) => b.weight - a.weight || b.num - a.num);
  return weighed.slice(0, limit).map(({ num }) => num);
}
