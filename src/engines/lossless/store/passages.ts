/**
 * What answers a query, as a reader wants it: stretches of messages around the words, best first, each with what
 * belongs to it: the answer to a question, the result of a call, what was done upon a wish. Nothing is shown twice.
 * Reads only what it gives.
 */
import { Conversation, type Said } from "./conversation.ts";
import { around, beginning, unitsOf, widened, without, type Range } from "./excerpt.ts";
import { inSight } from "./live-turn.ts";
import { nodeAt } from "./nodes.ts";
import type { Home } from "./placing.ts";
import { find, type Answer, type Found } from "./search.ts";
import type { SearchHit, SearchQuery } from "./types.ts";
import type { CallWords } from "./words.ts";

export interface PassageQuery extends Pick<SearchQuery, "query" | "sessions" | "before"> {
  /** Session that asks: what its live turn has in sight is left out, the question itself above all. */
  asking?: string;
  /** Messages that are looked for at least, up to 200; 80 where absent. */
  wanted?: number;
}

/** Words of one entry or summary. */
export interface Passage {
  /** Of the entry, or of the summary. */
  id: string;
  sessionId: string;
  sessionKey?: string;
  role: SearchHit["role"];
  /** Of a tool's result. */
  toolName?: string;
  time: number;
  onPath: boolean;
  /** It stands here for what it belongs to: an answer, a result, a call. */
  beside: boolean;
  /** Where it begins in the words of the entry, in characters. */
  offset: number;
  /** It is all that the entry says. */
  isWhole: boolean;
  /** Verbatim, with "…" where something is left out. */
  text: string;
}

/** Messages that are looked for, and at most. */
const WANTED = 80;
const MOST_WANTED = 200;
/** Characters of a stretch around words, of a message beside it, of a call and of the calls of one message. */
const STRETCH = 500;
const BESIDE = 300;
const CALL = 160;
const CALLS = 400;
/** A message is shown with more of what stands around its words, so often, each time by so many characters. */
const WIDER = 4;
const WIDER_BY = 1_200;
/** Messages behind the user's words in which the calls are looked for that were made upon them. */
const REACH = 6;
/** What something counts beside the words that it belongs to. */
const NEXT = 1;
const RESULT = 1;
const OWN_CALLS = 1;
const WIDER_SHARE = 0.5;

/** Something to show, made when its turn comes. */
interface Item {
  value: number;
  make: () => Iterable<Passage>;
}

interface Shown {
  ranges: Range[];
}

class Passages {
  readonly #answer: Answer;
  readonly #talk: Conversation;
  readonly #home: Home;
  readonly #weights: readonly number[];
  /** What of a message was given, by its name. */
  readonly #given = new Map<string, Shown>();
  readonly #units = new Set<string>();

  constructor(home: Home, answer: Answer) {
    this.#home = home;
    this.#answer = answer;
    this.#talk = new Conversation(home);
    this.#weights = answer.words.map(({ weight }) => weight);
  }

  *all(): Generator<Passage> {
    const items = this.#answer.found.flatMap((found) => this.#itemsOf(found));
    // Of equal ones the order of making: what belongs to a stretch comes right behind it.
    for (const { make } of items.sort((a, b) => b.value - a.value)) yield* make();
  }

  #itemsOf(found: Found): Item[] {
    const { score, kind, role, isBest } = found;
    const item = (share: number, make: Item["make"]): Item => ({ value: score * share, make });
    const items = [item(1, () => this.#stretch(found))];
    if (!isBest) return items;
    if (role === "user") items.push(item(NEXT, () => this.#done(found)));
    if (role === "assistant") {
      items.push(item(NEXT, () => this.#answered(found)));
      items.push(
        item(RESULT, () => this.#result(found)),
        item(OWN_CALLS, () => this.#ownCalls(found)),
      );
    }
    if (role === "toolResult") items.push(item(RESULT, () => this.#callOf(found)));
    if (kind !== "node")
      for (let round = 1; round <= WIDER; round++)
        items.push(item(WIDER_SHARE / round, () => this.#wider(found)));
    return items;
  }

  /** What is said around the words. */
  *#stretch(found: Found): Generator<Passage> {
    const said = this.#saidBy(found);
    const base = said?.words.text.indexOf(found.text) ?? -1;
    if (!said || base < 0) return;
    const hits = found.window.hits.map(({ at, end, word }) => ({ at: at + base, end: end + base, word }));
    // What a search found before is no source.
    const isOwn = said.words.calls.some(
      ({ at, end, name }) => isRecall(name) && hits.every((hit) => hit.at >= at && hit.end <= end),
    );
    if (!isOwn) yield* this.#show(said, around(said.words.text, hits, this.#weights, STRETCH), false);
  }

  #saidBy(found: Found): Said | undefined {
    if (found.kind !== "node") {
      const said = this.#talk.at(found.session, found.place, found.onPath);
      return said?.toolName !== undefined && isRecall(said.toolName) ? undefined : said;
    }
    const node = nodeAt(this.#home.db, found.node ?? 0);
    if (!node) return undefined;
    const { session, onPath } = found;
    const words = { text: node.text, calls: [] };
    return {
      name: `node ${node.nodeId}`,
      id: node.nodeId,
      place: found.place,
      session,
      onPath,
      role: "summary",
      time: 0,
      words,
    };
  }

  /** Behind the user's words: what was said next, and the calls of the turn. */
  *#done(found: Found): Generator<Passage> {
    let said = this.#saidBy(found);
    for (let step = 0; said && step < REACH; step++) {
      said = this.#talk.next(said);
      if (!said || said.role === "user") return;
      if (said.role === "assistant" && step === 0) yield* this.#show(said, this.#begin(said), true);
      if (said.role === "assistant") yield* this.#calls(said);
    }
  }

  /** The user's answer to a question. */
  *#answered(found: Found): Generator<Passage> {
    const said = this.#saidBy(found);
    if (!said || said.words.calls.length > 0 || !/[?？]/.test(said.words.text)) return;
    const next = this.#talk.next(said);
    if (next?.role === "user") yield* this.#show(next, this.#begin(next), true);
  }

  /** The result of the call that has the words, else of the first one. */
  *#result(found: Found): Generator<Passage> {
    const said = this.#saidBy(found);
    const call = said && callAround(said, found);
    if (!said || !call || isRecall(call.name)) return;
    const result = this.#talk.resultOf(said, call.id);
    if (result) yield* this.#show(result, this.#begin(result), true);
  }

  *#ownCalls(found: Found): Generator<Passage> {
    const said = this.#saidBy(found);
    if (said) yield* this.#calls(said);
  }

  *#callOf(found: Found): Generator<Passage> {
    const said = this.#saidBy(found);
    const caller = said && this.#talk.callerOf(said);
    const call = caller?.words.calls.find(({ id }) => id === said?.callId);
    if (caller && call)
      yield* this.#show(caller, [beginning(caller.words.text, call.at, call.end, CALL)], true);
  }

  *#wider(found: Found): Generator<Passage> {
    const said = this.#saidBy(found);
    const given = said && this.#given.get(said.name);
    if (said && given) yield* this.#show(said, widened(said.words.text, given.ranges, WIDER_BY), false);
  }

  #begin({ words: { text } }: Said): Range[] {
    return [beginning(text, 0, text.length, BESIDE)];
  }

  *#calls(said: Said): Generator<Passage> {
    const ranges: Range[] = [];
    let left = CALLS;
    for (const { at, end, name } of said.words.calls) {
      if (left <= 0) break;
      if (isRecall(name)) continue;
      const range = beginning(said.words.text, at, end, Math.min(CALL, left));
      left -= range[1] - range[0];
      ranges.push(range);
    }
    yield* this.#show(said, ranges, true);
  }

  /** What of the ranges was not given, where it says anything that was not said. */
  *#show(said: Said, ranges: readonly Range[], beside: boolean): Generator<Passage> {
    const { text } = said.words;
    const given = this.#given.get(said.name) ?? { ranges: [] };
    const fresh = without(ranges, given.ranges).filter(([start, end]) =>
      this.#isFresh(text.slice(start, end)),
    );
    const [first] = fresh;
    const last = fresh.at(-1);
    if (!first || !last) return;
    this.#given.set(said.name, { ranges: [...given.ranges, ...fresh] });
    const { id, session, onPath, role, toolName, time } = said;
    const parts = fresh.map(([start, end]) => text.slice(start, end).trim()).join(" … ");
    yield {
      id,
      sessionId: session.id,
      ...(session.key === null ? {} : { sessionKey: session.key }),
      role,
      ...(toolName === undefined ? {} : { toolName }),
      time,
      onPath,
      beside,
      offset: first[0],
      isWhole: fresh.length === 1 && first[0] === 0 && last[1] === text.length,
      text: `${first[0] > 0 ? "…" : ""}${parts}${last[1] < text.length ? "…" : ""}`,
    };
  }

  #isFresh(text: string): boolean {
    if (text.trim() === "") return false;
    const fresh = unitsOf(text).filter((unit) => !this.#units.has(unit));
    for (const unit of fresh) this.#units.add(unit);
    return fresh.length > 0;
  }
}

/** What the recall tools say is said elsewhere. A runtime may put its own name before theirs. */
function isRecall(toolName: string): boolean {
  return /(?:^|_)context_(?:search|describe|expand|pin)$/.test(toolName);
}

function callAround({ words: { text, calls } }: Said, { text: found, window }: Found): CallWords | undefined {
  const center = text.indexOf(found) + window.center;
  return calls.find(({ at, end }) => at <= center && center < end) ?? calls[0];
}

/** Best first, made as they are read. Throws `session_not_found`. */
export async function passages(home: Home, query: PassageQuery): Promise<Iterable<Passage>> {
  const { asking, wanted = WANTED, ...asked } = query;
  const isHidden = asking === undefined ? undefined : inSight(home, asking);
  return new Passages(home, await find(home, asked, Math.min(wanted, MOST_WANTED), isHidden)).all();
}
