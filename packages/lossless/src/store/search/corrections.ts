/**
 * Statements of a person about the same thing at different times, such as a fact and its correction: the newest one comes first,
 * and the older ones name it.
 */
import type { Spot } from "./placing.ts";
import type { Probe } from "./probe.ts";
import { windowsOf, type Window } from "./search-rank.ts";
import { areOfOthers, formsOf, statementOf, type Statement } from "./statements.ts";
import type { WordForms } from "./word-forms.ts";

/** Limits on the best messages that are compared, and on the length of a statement in characters. */
const COMPARED = 60;
const LONGEST = 400;
/** Limit on a statement that is compared with its correction by some of its words only: longer ones have those by chance. Characters. */
const SHORT = 160;
/**
 * Two statements are about the same thing when they have the same words of the query, share so many words, and this share of the
 * shorter one's words: less where they have several words of the query. One that corrects need not have all words of the query.
 */
const LEAST_SHARED = 2;
const SHARED_WORDS = { oneWord: 0.5, moreWords: 0.3 };

/** A part of a message that was found. */
interface Ranked extends Spot {
  text: string;
  window: Window;
  score: number;
  isBest: boolean;
  newer?: Ranked;
  newerId?: string;
}

class Compared {
  readonly found: Ranked;
  /** Words of the query that it has. */
  readonly asked: ReadonlySet<number>;
  readonly #forms: WordForms;
  #statement: Statement | undefined;

  constructor(found: Ranked, forms: WordForms) {
    this.found = found;
    this.asked = new Set(found.window.hits.map(({ word }) => word));
    this.#forms = forms;
  }

  /** On demand: it takes 0.1 ms, and most pairs differ in the words of the query already. */
  get statement(): Statement {
    return (this.#statement ??= statementOf(this.found.text, this.#forms));
  }
}

function common<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): number {
  let count = 0;
  for (const each of one) if (other.has(each)) count += 1;
  return count;
}

function isAboutTheSame(newer: Compared, older: Compared): boolean {
  if (newer.found.session.num !== older.found.session.num || asks(newer)) return false;
  if (!saysTheSame(newer, older) && !corrects(newer, older)) return false;
  return !newer.statement.adds && !areOfOthers(newer.statement, older.statement);
}

/** What asks replaces no statement. */
function asks({ found }: Compared): boolean {
  return /[?？؟]/.test(found.text);
}

function saysTheSame(newer: Compared, older: Compared): boolean {
  if (newer.asked.size !== older.asked.size || common(newer.asked, older.asked) < older.asked.size)
    return false;
  const [{ words }, { words: before }] = [newer.statement, older.statement];
  const shared = common(words, before);
  const share = newer.asked.size > 1 ? SHARED_WORDS.moreWords : SHARED_WORDS.oneWord;
  return shared >= LEAST_SHARED && shared >= share * Math.min(words.size, before.size);
}

/** Whether one has a number of the query that the other lacks: `Request 3` is another one than `Request 4`. */
function hasOwnNumber({ found }: Compared, { asked }: Compared): boolean {
  return found.window.hits.some(
    ({ at, end, word }) => !asked.has(word) && /\d/.test(found.text.slice(at, end)),
  );
}

/** A newer statement with a word of correction: people do not repeat all words of what they correct. */
function corrects(newer: Compared, older: Compared): boolean {
  if (asks(older) || [newer, older].some(({ found }) => found.text.length > SHORT)) return false;
  const asked = common(newer.asked, older.asked);
  if (asked === 0 || asked < Math.min(newer.asked.size, older.asked.size)) return false;
  if (hasOwnNumber(newer, older) || hasOwnNumber(older, newer)) return false;
  const [after, before] = [newer.statement, older.statement];
  if (!after.corrects) return false;
  const shared = common(after.topic, before.topic);
  if (shared === 0 || shared < SHARED_WORDS.oneWord * Math.min(after.topic.size, before.topic.size))
    return false;
  if (shared >= LEAST_SHARED) return true;
  // With less in common, a day is corrected by a day.
  if (before.kinds.size > 0) return common(after.kinds, before.kinds) > 0;
  return after.head !== undefined && after.head === before.head;
}

/** A message of the session's user that was not searched. */
export interface LaterStatement {
  id: string;
  text: string;
}

/** Sets `newerId` of statements that one of these later messages, oldest first, has replaced. */
export function markOutdated(
  ranked: readonly Ranked[],
  words: readonly Probe[],
  later: readonly LaterStatement[],
): void {
  const [place] = ranked;
  if (!place) return;
  const found = later.flatMap(({ id, text }) => {
    const [window] = text.length > LONGEST ? [] : windowsOf(text, words);
    return window ? [{ ...place, text, window, newerId: id }] : [];
  });
  const best = found.length === 0 ? [] : statementsOf(ranked);
  const forms = formsOf([...best, ...found].map(({ text }) => text));
  const newer = found.map((each) => new Compared(each, forms));
  for (const each of best) {
    const older = new Compared(each, forms);
    const newest = newer.findLast((statement) => isAboutTheSame(statement, older));
    if (newest?.found.newerId !== undefined) each.newerId = newest.found.newerId;
  }
}

/** The best statements of people. */
function statementsOf(ranked: readonly Ranked[]): Ranked[] {
  const best = ranked.filter(
    ({ isBest, role, onPath, text }) => isBest && role === "user" && onPath && text.length <= LONGEST,
  );
  return best.slice(0, COMPARED);
}

/** Exchanges the scores of statements about the same thing, so that newer ones are better, and sets `newer` of the older ones. */
export function preferNewest(ranked: readonly Ranked[]): void {
  const compared = statementsOf(ranked);
  const forms = formsOf(compared.map(({ text }) => text));
  const statements = compared.map((each) => new Compared(each, forms));
  const newestFirst = statements.toSorted((a, b) => b.found.place - a.found.place);
  const taken = new Set<Compared>();
  for (const newest of newestFirst) {
    if (taken.has(newest)) continue;
    const group = newestFirst.filter((other) => !taken.has(other) && other.found.place <= newest.found.place);
    const same = group.filter((other) => other === newest || isAboutTheSame(newest, other));
    for (const each of same) taken.add(each);
    const scores = same.map(({ found }) => found.score).sort((a, b) => b - a);
    for (const [index, { found }] of same.entries()) {
      found.score = scores[index] ?? found.score;
      if (index > 0) found.newer = newest.found;
    }
  }
}
