/**
 * Statements of a person about the same thing at different times, such as a fact and its correction: the newest one comes first,
 * and the older ones name it.
 */
import type { Spot } from "./placing.ts";
import { fold } from "./query.ts";
import type { Probe } from "./probe.ts";
import { windowsOf, type Window } from "./search-rank.ts";
import { WordForms } from "./word-forms.ts";

/** Limits on the best messages that are compared, and on the length of a statement in characters. */
const COMPARED = 60;
const LONGEST = 400;
/**
 * Two statements are about the same thing when they have the same words of the query, share so many words, and this share of the
 * shorter one's words: less where they have several words of the query.
 */
const LEAST_SHARED = 2;
const SHARED = { oneWord: 0.5, moreWords: 0.3 };

/** A part of a message that was found. */
interface Ranked extends Spot {
  text: string;
  window: Window;
  score: number;
  isBest: boolean;
  newer?: Ranked;
  newerId?: string;
}

interface Statement {
  found: Ranked;
  /** Words with a meaning of their own, by their stems. */
  words: ReadonlySet<string>;
  /** Words of the query that it has. */
  asked: ReadonlySet<number>;
}

function statementOf(found: Ranked): Statement {
  const words = fold(found.text).match(/[\p{L}\p{N}]+/gu) ?? [];
  const forms = new WordForms(words);
  const stems = words.filter((word) => !forms.isStopWord(word)).map((word) => forms.stem(word) ?? word);
  return { found, words: new Set(stems), asked: new Set(found.window.hits.map(({ word }) => word)) };
}

function common<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): number {
  let count = 0;
  for (const each of one) if (other.has(each)) count += 1;
  return count;
}

function isAboutTheSame(newer: Statement, older: Statement): boolean {
  if (newer.found.session.num !== older.found.session.num) return false;
  if (newer.asked.size !== older.asked.size || common(newer.asked, older.asked) < older.asked.size)
    return false;
  const shared = common(newer.words, older.words);
  const share = newer.asked.size > 1 ? SHARED.moreWords : SHARED.oneWord;
  return shared >= LEAST_SHARED && shared >= share * Math.min(newer.words.size, older.words.size);
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
  const newer = later.flatMap(({ id, text }) => {
    const [window] = text.length > LONGEST ? [] : windowsOf(text, words);
    return window ? [{ id, statement: statementOf({ ...place, text, window }) }] : [];
  });
  for (const older of newer.length === 0 ? [] : statementsOf(ranked)) {
    const newest = newer.findLast(({ statement }) => isAboutTheSame(statement, older));
    if (newest) older.found.newerId = newest.id;
  }
}

/** The best statements of people, oldest first. */
function statementsOf(ranked: readonly Ranked[]): Statement[] {
  const best = ranked.filter(
    ({ isBest, role, onPath, text }) => isBest && role === "user" && onPath && text.length <= LONGEST,
  );
  return best
    .slice(0, COMPARED)
    .map(statementOf)
    .sort((a, b) => a.found.place - b.found.place);
}

/** Exchanges the scores of statements about the same thing, so that newer ones are better, and sets `newer` of the older ones. */
export function preferNewest(ranked: readonly Ranked[]): void {
  const newestFirst = statementsOf(ranked).toReversed();
  const taken = new Set<Statement>();
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
