/**
 * Search over messages and summaries. Bounded: only a few hundred texts are read and ranked. Yields to other work between
 * steps.
 */
import { setImmediate } from "node:timers/promises";
import type { Database } from "@pagurus/core/data/sqlite";
import { nodeAt } from "../node-rows.ts";
import { fused, type Found } from "./fusion.ts";
import { isNarrow, Placing, type Home, type Spot } from "./placing.ts";
import { Probes, promising, scopeOf, textBefore, type Candidate, type Probe, type Scope } from "./probe.ts";
import { datesIn } from "./date-words.ts";
import { withFamilies } from "./index-forms.ts";
import { isEnough, matcher, mostOf, type LeastMatch, type Match } from "./match.ts";
import { namesIn, queryWords } from "./query.ts";
import { respelled } from "./spellings.ts";
import { areCovered, similarityRanks } from "./vectors.ts";
import { windowSnippet, windowsOf, type Window } from "./search-rank.ts";
import { textAt } from "../entries/texts.ts";
import { depthOf, entryAt, requireSession } from "../entries/entry-tree.ts";
import type { SearchHit, SearchQuery } from "../store-types.ts";
import { defined } from "@pagurus/core/data/defined";

/** Minimum number of texts that are read and ranked, and the limit on their total characters. */
const RANKED = 240;
const RANKED_CHARACTERS = 1_500_000;
/** Ranked texts whose place is looked up, for each wanted message. */
const PLACED_EACH = 3;
const PLACED_LEAST = 60;
/** Texts that are ranked where their similarity to the query orders them. */
const SIMILAR_RANKED = 900;
/** How many times as many texts are looked at where only some times or one author are asked for. */
const NARROWED = 16;
const SLICE_MS = 5;
/** Words of the text beside a query that are looked up and that count, and what they weigh relative to its own. */
const BESIDE_LOOKED = 24;
const BESIDE_WORDS = 6;
const BESIDE_SHARE = 0.25;
/** Factor on the score of a message of a time that the query names. */
const DATED = 3;

export interface Answer {
  words: readonly Probe[];
  match: Match;
  /** Best first. */
  found: readonly Found[];
}

/** Yields to other work of the process when a time slice is used up. */
class Slices {
  #start = performance.now();

  readonly pause = async (): Promise<void> => {
    if (performance.now() - this.#start < SLICE_MS) return;
    await setImmediate();
    this.#start = performance.now();
  };
}

interface Scored {
  num: number;
  text: string;
  windows: Window[];
}

/** Composes letters and their marks into one character, as in queries. */
function composed(text: string): string {
  return /[\u0300-\u036f]/.test(text) ? text.normalize("NFC") : text;
}

/** Scores texts, best first. */
async function score(
  db: Database,
  nums: readonly number[],
  words: readonly Probe[],
  { slices, characters: most }: { slices: Slices; characters: number },
): Promise<Scored[]> {
  const scored: Scored[] = [];
  let characters = 0;
  for (const num of nums) {
    const body = textAt(db, num);
    if (body === undefined) continue;
    characters += body.length;
    if (characters > most && scored.length > 0) break;
    const text = composed(body);
    const windows = windowsOf(text, words);
    if (windows.length > 0) scored.push({ num, text, windows });
    await slices.pause();
  }
  const best = ({ windows }: Scored): number => windows[0]?.score ?? 0;
  return scored.sort((a, b) => best(b) - best(a) || b.num - a.num);
}

/** The texts that are used where the query asks for them, at most `limit`, in their order. */
async function placed(
  nums: readonly number[],
  placing: Placing,
  { limit, pause }: { limit: number; pause: () => Promise<void> },
): Promise<number[]> {
  const kept: number[] = [];
  for (const num of nums) {
    if (kept.length >= limit) break;
    if (placing.of(num).length > 0) kept.push(num);
    await pause();
  }
  return kept;
}

/** Whether a text is only in what is not searched: the question does not know its own words. */
function isAside(spots: readonly Spot[], isHidden: ((spot: Spot) => boolean) | undefined): boolean {
  return isHidden !== undefined && spots.length > 0 && spots.every((spot) => isHidden(spot));
}

/**
 * Parts of messages that answer a query, best first; from at least `wanted` messages, if there are as many. Nothing where no message can
 * match as well as `least`.
 */
export async function find(
  home: Home,
  query: SearchQuery,
  wanted: number,
  isHidden?: (spot: Spot) => boolean,
  least?: LeastMatch,
): Promise<Answer> {
  const { db } = home;
  const slices = new Slices();
  const sessions = query.sessions?.map((id) => requireSession(db, id));
  const whole = scopeOf(db, sessions);
  const { effort } = least ?? {};
  const scope = {
    ...whole,
    ...(query.to === undefined ? {} : { until: textBefore(db, query.to, whole.last) }),
    ...defined({ effort }),
  };
  const asked = await withFamilies(db, queryWords(query.query), {
    texts: whole.last,
    pause: slices.pause,
  });
  const probes = new Probes(db, scope, slices.pause);
  await probes.look(asked.filter(({ made }) => !made));
  const placing = new Placing(home, query, sessions);
  if (least) probes.forget((num) => isAside(placing.of(num), isHidden));
  const names = namesIn(query.query);
  for (const word of asked.filter(({ text, made }) => !made && names.has(text) && !probes.has(text))) {
    const spelled = respelled(db, word, { texts: whole.last, readsSlips: least?.readsSlips ?? false });
    if (spelled) await probes.look([spelled]);
    await slices.pause();
  }
  const dates = datesIn(query.query, query.askedAt);
  const terms = { query: query.query, asked, dates, texts: scope.texts };
  const most = mostOf({ ...terms, known: probes.known() });
  // The index alone says that no text can match so well.
  if (least && !isEnough(most, least)) return { words: [], match: most, found: [] };
  await probes.look(asked.filter(({ made }) => made));
  const words = probes.known();
  const matchIn = matcher({ ...terms, known: words });
  const enough = Math.max(PLACED_LEAST, PLACED_EACH * wanted);
  const limit = effort?.ranked ?? Math.max(RANKED, enough);
  const candidates = home.encode ? Math.max(SIMILAR_RANKED, limit) : limit;
  const narrow = isNarrow(query);
  const promised = await promising(db, words, scope, {
    limit: narrow ? limit * NARROWED : candidates,
    pause: slices.pause,
  });
  let ranked: readonly Probe[] = words;
  if (least) {
    const isUsed = (num: number): boolean => placing.of(num).some((spot) => !isHidden?.(spot));
    const reaching = { db, words, matchIn, least, isUsed, slices };
    const reached = await reachedBy(promised.slice(0, limit), reaching);
    if (!isEnough(reached, least)) return { words: [], match: reached, found: [] };
    const beside =
      query.beside === undefined ? [] : await wordsBeside(db, query.beside, words, scope, slices);
    ranked = [...words, ...beside];
  }
  let nums = promised.map(({ num }) => num);
  // Texts of other times and authors would take the places of those that are asked for.
  if (narrow) nums = await placed(nums, placing, { limit: candidates, pause: slices.pause });
  const characters = effort?.characters ?? RANKED_CHARACTERS;
  const ranking = { db, words: ranked, dates, placing, isHidden, slices, characters };
  const found = await foundIn(nums.slice(0, limit), enough, ranking);
  const match = matchIn(found.map(({ window }) => window.hits));
  const vector = home.encode && areCovered(db, textsOf(found)) ? await home.encode(query.query) : undefined;
  const orders = { words: ranked, ranksTurns: query.ranksTurns === true };
  if (!vector) return { words: ranked, match, found: fused(found, orders) };
  // Meaning orders more of them than words could.
  found.push(...(await foundIn(nums.slice(limit), SIMILAR_RANKED, ranking)));
  const similar = similarityRanks(db, textsOf(found), vector);
  return { words: ranked, match, found: fused(found, { ...orders, similar }) };
}

/** The rarest words of what was written before the query, which it may be about: they order what has its own words. */
async function wordsBeside(
  db: Database,
  text: string,
  words: readonly Probe[],
  scope: Scope,
  slices: Slices,
): Promise<Probe[]> {
  const known = new Set(words.map(({ text: word }) => word));
  const probes = new Probes(db, scope, slices.pause);
  const others = queryWords(text).filter((word) => !word.made && !known.has(word.text));
  await probes.look(others.slice(0, BESIDE_LOOKED));
  return probes
    .known()
    .filter(({ isCommon }) => !isCommon)
    .slice(0, BESIDE_WORDS)
    .map((word) => ({ ...word, weight: word.weight * BESIDE_SHARE }));
}

interface Reaching {
  db: Database;
  words: readonly Probe[];
  matchIn: ReturnType<typeof matcher>;
  least: LeastMatch;
  /** Whether a text is one of those that the query asks for. */
  isUsed: (num: number) => boolean;
  slices: Slices;
}

/**
 * The match of the first of these texts that is enough, or else the best one: for most inputs none is, and then nothing has to be ranked.
 * Reads only texts that may have enough of the words.
 */
async function reachedBy(candidates: readonly Candidate[], reaching: Reaching): Promise<Match> {
  const { db, words, matchIn, least, isUsed, slices } = reaching;
  const all = words.map((_, word) => ({ word }));
  let best = matchIn([]);
  for (const { num, mayHave } of candidates) {
    const most = matchIn([all.filter(({ word }) => mayHave & (1 << word))]);
    if (!isEnough(most, least) || !isUsed(num)) continue;
    const windows = windowsOf(composed(textAt(db, num) ?? ""), words);
    const match = matchIn(windows.map(({ hits }) => hits));
    if (isEnough(match, least)) return match;
    if (match.share > best.share) best = match;
    await slices.pause();
  }
  return best;
}

interface Ranking {
  db: Database;
  words: readonly Probe[];
  dates: ReturnType<typeof datesIn>;
  placing: Placing;
  isHidden: ((spot: Spot) => boolean) | undefined;
  slices: Slices;
  /** Limit on the characters of the texts. */
  characters: number;
}

/** The parts of these texts that have words of the query, of at most `most` texts. */
async function foundIn(nums: readonly number[], most: number, ranking: Ranking): Promise<Found[]> {
  const { db, words, dates, placing, isHidden, slices } = ranking;
  const found: Found[] = [];
  let count = 0;
  for (const { num, text, windows } of await score(db, nums, words, ranking)) {
    if (count >= most) break;
    const spots = placing.of(num).filter((spot) => !isHidden?.(spot));
    for (const spot of spots) {
      const weight = spot.weight * (dates?.has(spot.time) === true ? DATED : 1);
      for (const window of windows)
        found.push({ ...spot, num, text, window, score: window.score * weight, isBest: false });
    }
    if (spots.length > 0) count += 1;
    await slices.pause();
  }
  return found;
}

function textsOf(found: readonly Found[]): ReadonlySet<number> {
  return new Set(found.map(({ num }) => num));
}

export async function search(home: Home, query: SearchQuery): Promise<SearchHit[]> {
  const limit = Math.min(200, Math.max(0, query.limit ?? 20));
  if (limit === 0) return [];
  const { found } = await find(home, query, limit);
  return found
    .filter(({ isBest }) => isBest)
    .slice(0, limit)
    .map((item) => hitOf(home.db, item));
}

function hitOf(db: Database, item: Found): SearchHit {
  const { session, place, text, window, score: value, onPath, kind, role } = item;
  const shared = {
    sessionId: session.id,
    ...defined({ sessionKey: session.key ?? undefined }),
    snippet: windowSnippet(text, window),
    score: value,
    onPath,
    position: depthOf(db, place),
  };
  const row = entryAt(db, place);
  if (kind === "node") {
    const node = nodeAt(db, item.node ?? 0);
    return {
      ...shared,
      kind,
      entryId: node?.firstEntryId ?? "",
      nodeId: node?.nodeId ?? "",
      role: "summary",
      time: row?.time ?? 0,
    };
  }
  const named = role ?? (kind === "compaction" ? "summary" : "notice");
  return { ...shared, kind: "entry", entryId: row?.id ?? "", role: named, time: row?.time ?? 0 };
}
