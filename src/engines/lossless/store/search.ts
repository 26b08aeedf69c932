/**
 * Search over what was said and over summaries. Bounded: of each word only the newest hits are looked at, of two common
 * words only what is new enough, and only a few hundred texts are ranked. Between steps other work gets its turn.
 */
import { setImmediate } from "node:timers/promises";
import type { Db } from "./db.ts";
import { nodeAt } from "./nodes.ts";
import { queryWords, type QueryWord } from "./query.ts";
import { rarity, roleWeight, scoreOf, snippetOf, type WeighedWord } from "./rank.ts";
import { positionOf, segmentOf } from "./place.ts";
import { kindOf } from "./rows.ts";
import { treeWord } from "./texts.ts";
import {
  depthOf,
  entryAt,
  membersOf,
  requireSession,
  resolve,
  treesOf,
  type Member,
  type Paths,
  type SessionRow,
} from "./tree.ts";
import type { SearchHit, SearchQuery } from "./types.ts";

/** Newest hits of one word that are looked at. */
const PROBE = 256;
/** Texts that are read and ranked, and how many characters they may have together. */
const RANKED = 240;
const RANKED_CHARACTERS = 1_500_000;
/** Hits of the rarer of several common words that an intersection may run over. */
const CROSSED = 20_000;
/** Sessions that the index can be asked for by name; more are filtered afterwards. */
const SCOPED = 32;
/** Of the ranked texts, those whose place is looked up: so many for each hit that is wanted, at least. */
const PLACED_EACH = 3;
const PLACED_LEAST = 60;
/** Uses of one text that are looked at: the newest ones. */
const USES = 8;
/** How much a rank in the list counts against the next one. */
const FUSION = 20;
const SESSION_SHARE = 0.35;
const SLICE_MS = 5;

interface Home {
  db: Db;
  paths: Paths;
}

interface Probe extends WeighedWord {
  /** Newest texts that have it. */
  newest: number[];
  /** How many texts have it, as far as the newest ones tell. */
  having: number;
}

interface Candidate {
  text: string;
  place: number;
  session: SessionRow;
  score: number;
  kind: SearchHit["kind"];
  /** Number of the summary. */
  node?: number;
  time: number;
  onPath: boolean;
}

/** Lets other work of the process run once a slice of time is used up. */
class Slices {
  #start = performance.now();

  async pause(): Promise<void> {
    if (performance.now() - this.#start < SLICE_MS) return;
    await setImmediate();
    this.#start = performance.now();
  }
}

export async function search({ db, paths }: Home, query: SearchQuery): Promise<SearchHit[]> {
  const limit = Math.min(200, Math.max(0, query.limit ?? 20));
  const words = queryWords(query.query);
  if (limit === 0 || words.length === 0) return [];
  const slices = new Slices();
  const wanted = query.sessions?.map((id) => requireSession(db, id));
  const scope = scopeOf(db, wanted);
  const all = db.get<{ num: number | null }>("SELECT max(num) AS num FROM texts")?.num ?? 0;
  const probes: Probe[] = [];
  for (const word of words) {
    probes.push(probe(db, word, scope, all));
    await slices.pause();
  }
  probes.sort((a, b) => b.weight - a.weight);
  const crossed = cross(db, probes, scope, all);
  await slices.pause();
  const scored = await score(db, choose(crossed, probes, limit), probes, slices);
  const found = new Map<string, Candidate>();
  const places = new Placing({ db, paths }, query, wanted);
  const enough = Math.max(PLACED_LEAST, PLACED_EACH * limit);
  let count = 0;
  for (const text of scored) {
    if (count >= enough) break;
    const candidates = places.of(text);
    for (const candidate of candidates) keepBest(found, candidate, text.score);
    if (candidates.length > 0) count += 1;
    await slices.pause();
  }
  return fused([...found.values()])
    .slice(0, limit)
    .map((candidate) => hitOf(db, candidate, probes));
}

interface Scored {
  num: number;
  body: string;
  score: number;
}

/** Best first. */
async function score(
  db: Db,
  nums: readonly number[],
  words: readonly WeighedWord[],
  slices: Slices,
): Promise<Scored[]> {
  const scored: Scored[] = [];
  let characters = 0;
  for (const num of nums) {
    const body = db.get<{ body: string }>("SELECT body FROM texts WHERE num = ?", num)?.body;
    if (body === undefined) continue;
    characters += body.length;
    if (characters > RANKED_CHARACTERS && scored.length > 0) break;
    scored.push({ num, body, score: scoreOf(body, words) });
    await slices.pause();
  }
  return scored.sort((a, b) => b.score - a.score || b.num - a.num);
}

function keepBest(found: Map<string, Candidate>, candidate: Candidate, score: number): void {
  const name = `${candidate.session.num} ${candidate.place} ${candidate.node ?? ""}`;
  candidate.score *= score;
  const other = found.get(name);
  if (!other || other.score < candidate.score) found.set(name, candidate);
}

function scopeOf(db: Db, wanted: readonly SessionRow[] | undefined): string {
  if (!wanted || wanted.length > SCOPED) return "";
  const trees = [...new Set(wanted.flatMap((session) => treesOf(db, session.num)))];
  // A session without entries has no tree, and no hits.
  if (trees.length === 0) return ` AND "${treeWord(0)}"`;
  return ` AND (${trees.map((tree) => `"${treeWord(tree)}"`).join(" OR ")})`;
}

function newest(db: Db, expression: string, limit: number, floor = 0): number[] {
  return db
    .all<{ rowid: number }>(
      "SELECT rowid FROM words WHERE words MATCH ? AND rowid >= ? ORDER BY rowid DESC LIMIT ?",
      expression,
      floor,
      limit,
    )
    .map(({ rowid }) => rowid);
}

function probe(db: Db, word: QueryWord, scope: string, all: number): Probe {
  const rows = newest(db, `(${word.expression})${scope}`, PROBE);
  const oldest = rows.at(-1) ?? 0;
  // The newest ones tell how dense the rest is.
  const having = rows.length < PROBE ? rows.length : (rows.length / Math.max(1, all - oldest + 1)) * all;
  return { ...word, newest: rows, having, weight: rarity(having, Math.max(all, having)) };
}

/** Texts that have every word, newest first. */
function cross(db: Db, probes: readonly Probe[], scope: string, all: number): number[] {
  const [rarest] = probes;
  if (!rarest || probes.length === 1) return [];
  if (probes.some((word) => word.newest.length === 0)) return [];
  if (rarest.newest.length < PROBE) {
    // Every text that has the rarest word is known: no need to read the lists of the others.
    const others = probes.slice(1).map((word) => `(${word.expression})`);
    return newest(db, `(${rarest.expression}) AND ${others.join(" AND ")}${scope}`, RANKED);
  }
  const floor = rarest.having <= CROSSED ? 0 : Math.floor(all * (1 - CROSSED / rarest.having));
  return newest(db, probes.map((word) => `(${word.expression})`).join(" AND ") + scope, RANKED, floor);
}

/** What is read and ranked: texts with all words, then those with the rarer ones. */
function choose(crossed: readonly number[], probes: readonly Probe[], limit: number): number[] {
  const chosen = new Set(crossed);
  if (chosen.size < 3 * limit) {
    for (const word of probes)
      for (const num of word.newest) {
        if (chosen.size >= RANKED) break;
        chosen.add(num);
      }
  }
  return [...chosen].slice(0, RANKED);
}

interface UseRow {
  place: number;
  kind: number | null;
  time: number | null;
  /** Of a summary: its last source entry. */
  last: number | null;
}

const USES_OF = `SELECT u.place, e.kind, e.time, n.last FROM uses u
  LEFT JOIN entries e ON e.num = u.place LEFT JOIN nodes n ON n.num = -u.place
  WHERE u.text = ? ORDER BY u.tree DESC, u.place DESC LIMIT ?`;

/** Where texts were said: in each session the newest use, on the active path where there is one. */
class Placing {
  readonly #home: Home;
  readonly #query: SearchQuery;
  readonly #wanted: ReadonlySet<number> | undefined;
  readonly #members = new Map<number, Member[]>();
  readonly #before = new Map<number, number>();

  constructor(home: Home, query: SearchQuery, wanted: readonly SessionRow[] | undefined) {
    this.#home = home;
    this.#query = query;
    this.#wanted = wanted && new Set(wanted.map(({ num }) => num));
  }

  of({ num, body }: Scored): Candidate[] {
    const bySession = new Map<number, Candidate>();
    for (const row of this.#home.db.all<UseRow>(USES_OF, num, USES)) {
      const use = this.#use(row, body);
      if (!use) continue;
      for (const { session, length } of this.#membersOf(segmentOf(use.place))) {
        if (positionOf(use.place) >= length) continue;
        if (!this.#isBefore(session, use.place)) continue;
        const onPath = this.#home.paths.holds(session, use.place);
        const other = bySession.get(session.num);
        if (other && (other.onPath || !onPath)) continue;
        bySession.set(session.num, { ...use, session, onPath });
      }
    }
    // A fork has the entries of its origin: they are said once, where they are still on a path.
    const several = [...bySession.values()].toSorted((a, b) => Number(b.onPath) - Number(a.onPath));
    return several.filter(
      (candidate, index) =>
        several.findIndex(({ place, node }) => place === candidate.place && node === candidate.node) ===
        index,
    );
  }

  #use(row: UseRow, text: string): Use | undefined {
    const { place, kind, time, last } = row;
    if (place >= 0) {
      const known = kindOf(kind ?? 0);
      return { text, place, kind: "entry", score: roleWeight(known.kind, known.role), time: time ?? 0 };
    }
    if (last === null || this.#query.nodes === false) return undefined;
    return { text, place: last, kind: "node", node: -place, score: roleWeight("node", undefined), time: 0 };
  }

  #membersOf(segment: number): readonly Member[] {
    let members = this.#members.get(segment);
    if (!members) {
      members = membersOf(this.#home.db, segment).filter(
        ({ session }) => this.#wanted?.has(session.num) ?? true,
      );
      this.#members.set(segment, members);
    }
    return members;
  }

  #isBefore(session: SessionRow, place: number): boolean {
    const { before } = this.#query;
    if (before === undefined) return true;
    const { db } = this.#home;
    let depth = this.#before.get(session.num);
    if (depth === undefined) {
      const mark = resolve(db, session.num, before);
      depth = mark === undefined ? Infinity : depthOf(db, mark);
      this.#before.set(session.num, depth);
    }
    return depthOf(db, place) < depth;
  }
}

type Use = Omit<Candidate, "session" | "onPath">;

/** Best first: the rank of the message and the rank of its session count together; newer of equal ones first. */
function fused(candidates: Candidate[]): Candidate[] {
  candidates.sort((a, b) => b.score - a.score || b.place - a.place);
  const sessions = new Map<number, number>();
  const counts = new Map<number, number>();
  for (const { session, score } of candidates) {
    const count = counts.get(session.num) ?? 0;
    counts.set(session.num, count + 1);
    // Three good messages say what a session is about; its length says nothing.
    if (count < 3) sessions.set(session.num, (sessions.get(session.num) ?? 0) + score / (count + 1));
  }
  const ranks = new Map([...sessions].toSorted((a, b) => b[1] - a[1]).map(([num], rank) => [num, rank]));
  candidates.forEach((candidate, rank) => {
    const session = ranks.get(candidate.session.num) ?? 0;
    candidate.score = FUSION / (FUSION + rank) + (SESSION_SHARE * FUSION) / (FUSION + session);
  });
  return candidates.sort((a, b) => b.score - a.score || b.place - a.place);
}

function hitOf(db: Db, candidate: Candidate, words: readonly WeighedWord[]): SearchHit {
  const { session, place, text, score, onPath, time } = candidate;
  const shared = {
    sessionId: session.id,
    ...(session.key === null ? {} : { sessionKey: session.key }),
    snippet: snippetOf(text, words),
    score,
    onPath,
    position: depthOf(db, place),
  };
  const row = entryAt(db, place);
  if (candidate.kind === "node") {
    const node = nodeAt(db, candidate.node ?? 0);
    return {
      ...shared,
      kind: "node",
      entryId: node?.firstEntryId ?? "",
      nodeId: node?.nodeId ?? "",
      role: "summary",
      time: row?.time ?? 0,
    };
  }
  const { kind, role } = kindOf(row?.kind ?? 0);
  const named = role ?? (kind === "compaction" ? "summary" : "notice");
  return { ...shared, kind: "entry", entryId: row?.id ?? "", role: named, time };
}
