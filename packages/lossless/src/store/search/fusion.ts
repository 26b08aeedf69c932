/** Combines the orders of what a search has found: by message, turn, session and sitting, and by meaning where there are vectors. */
import { preferNewest } from "./corrections.ts";
import type { Spot } from "./placing.ts";
import type { WeighedWord, Window } from "./search-rank.ts";

/** Constant of reciprocal rank fusion. */
const FUSION = 20;
/** Weights of the ranks of the turn and of the session, relative to the message's own. */
const TURN_SHARE = 0.35;
const SESSION_SHARE = 0.35;
/** Weight of the rank of a turn by all of its words, where people talk: what one of them asks, the other one answers. */
const WHOLE_TURN_SHARE = 1;
/** Weight of the rank of the similarity to the query: words find the texts, and meaning orders them. */
const SIMILAR_SHARE = 2;
/** Weight of the rank of the sitting, and the pause that begins another one, ms. */
const SITTING_SHARE = 0.7;
export const SITTING_PAUSE_MS = 30 * 60_000;
/** Okapi BM25: how soon a repeated word counts less, and how much the length of a turn counts. */
const K1 = 1.2;
const B = 0.75;

/** A part of a text with words of the query, and its place. */
export interface Found extends Spot {
  /** Number of the text. */
  num: number;
  text: string;
  window: Window;
  /** Higher is better; relative to the answer. */
  score: number;
  /** True for the best part of its message. */
  isBest: boolean;
  /** A newer statement about the same thing, or the id of one that was not searched. */
  newer?: Found;
  newerId?: string;
}

/** What orders the found parts beside their own scores. */
interface Orders {
  /** The words of the query, which the hits of the parts name by index. */
  words: readonly WeighedWord[];
  /** Turns are also ranked by all of their words. */
  ranksTurns: boolean;
  /** Ranks by similarity to the query, by the number of the text. */
  similar?: ReadonlyMap<number, number>;
}

function byScore(a: Found, b: Found): number {
  return b.score - a.score || b.place - a.place;
}

/** The position of each key, the one with the highest value first. */
function ranksBy(values: Iterable<readonly [string, number]>): Map<string, number> {
  return new Map([...values].toSorted((a, b) => b[1] - a[1]).map(([key], rank) => [key, rank]));
}

/** Ranks groups by their three best messages, so that a group's length has no influence. */
function groupRanks(found: readonly Found[], groupOf: (item: Found) => string): Map<string, number> {
  const groups = new Map<string, { count: number; sum: number }>();
  for (const item of found) {
    if (!item.isBest) continue;
    const group = groupOf(item);
    const { count, sum } = groups.get(group) ?? { count: 0, sum: 0 };
    if (count < 3) groups.set(group, { count: count + 1, sum: sum + item.score / (count + 1) });
  }
  return ranksBy(Array.from(groups, ([group, { sum }]) => [group, sum]));
}

/** Ranks turns by how often they have each word, relative to their length: repetition counts, as in talk about one subject. */
function wholeTurnRanks(found: readonly Found[], words: readonly WeighedWord[]): Map<string, number> {
  const turns = new Map<string, { length: number; counts: Map<number, number> }>();
  for (const item of found) {
    const name = turnOf(item);
    const turn = turns.get(name) ?? { length: 0, counts: new Map<number, number>() };
    turns.set(name, turn);
    // A message has a part for each window.
    if (item.isBest) turn.length += item.text.length;
    for (const { word } of item.window.hits) turn.counts.set(word, (turn.counts.get(word) ?? 0) + 1);
  }
  const lengths = Array.from(turns.values(), ({ length }) => length);
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const scoreOf = ({ length, counts }: { length: number; counts: Map<number, number> }): number => {
    const most = K1 * (1 - B + (B * length) / Math.max(1, mean));
    let sum = 0;
    for (const [word, count] of counts)
      sum += ((words[word]?.weight ?? 0) * count * (K1 + 1)) / (count + most);
    return sum;
  };
  return ranksBy(Array.from(turns, ([name, turn]) => [name, scoreOf(turn)]));
}

const turnOf = ({ session, turn, place }: Found): string => `${session.num} ${turn ?? place}`;
const sessionOf = ({ session }: Found): string => `${session.num}`;

/** The name of each message's sitting: messages of a session without a long pause between them. */
function sittingsOf(found: readonly Found[]): ReadonlyMap<Found, string> {
  const names = new Map<Found, string>();
  let start: Found | undefined;
  let last: Found | undefined;
  for (const item of found.toSorted((a, b) => a.session.num - b.session.num || a.time - b.time)) {
    const isNext = last?.session.num === item.session.num && item.time - last.time <= SITTING_PAUSE_MS;
    if (!start || !isNext) start = item;
    names.set(item, `${start.session.num} ${start.time}`);
    last = item;
  }
  return names;
}

/**
 * Combines the ranks of a message, of its turn, of its session and of its sitting, and of its similarity where there are any; ties go to the
 * newer one.
 */
export function fused(found: Found[], { words, ranksTurns, similar }: Orders): Found[] {
  found.sort(byScore);
  const seen = new Set<string>();
  for (const item of found) {
    const name = `${item.session.num} ${item.place} ${item.node ?? ""}`;
    item.isBest = !seen.has(name);
    seen.add(name);
  }
  const turns = groupRanks(found, turnOf);
  const wholeTurns = ranksTurns ? wholeTurnRanks(found, words) : undefined;
  const sessions = groupRanks(found, sessionOf);
  const sittings = sittingsOf(found);
  const sittingOf = (item: Found): string => sittings.get(item) ?? "";
  const sittingRanks = groupRanks(found, sittingOf);
  const part = (share: number, rank = 0): number => (share * FUSION) / (FUSION + rank);
  found.forEach((item, rank) => {
    const turn = part(TURN_SHARE, turns.get(turnOf(item)));
    const whole = wholeTurns ? part(WHOLE_TURN_SHARE, wholeTurns.get(turnOf(item))) : 0;
    const session = part(SESSION_SHARE, sessions.get(sessionOf(item)));
    const sitting = part(SITTING_SHARE, sittingRanks.get(sittingOf(item)));
    // A text without a vector keeps its rank by words.
    const meaning = similar ? part(SIMILAR_SHARE, similar.get(item.num) ?? rank) : 0;
    item.score = part(1, rank) + turn + whole + session + sitting + meaning;
  });
  found.sort(byScore);
  preferNewest(found);
  return found.sort(byScore);
}
