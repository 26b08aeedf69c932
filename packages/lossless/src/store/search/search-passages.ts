/**
 * Passages that answer a query: excerpts of messages around the words, best first, each with related messages: the
 * answer to a question, the result of a call, the calls after a request. Nothing is shown twice. Reads lazily.
 */
import { Conversation, type StoredMessage } from "../entries/stored-messages.ts";
import { around, beginning, unitsOf, widened, without, type Range } from "./search-excerpt.ts";
import { inSight, type Seen } from "../entries/stored-live-turn.ts";
import { nodeAt } from "../node-rows.ts";
import { isIndexedBelow } from "./backlog.ts";
import { entryAt, requireSession, resolve, sessionRow } from "../entries/entry-tree.ts";
import { markOutdated, type LaterStatement } from "./corrections.ts";
import { asksFor, type Home, type PlaceFilter } from "./placing.ts";
import type { LeastMatch, Match } from "./match.ts";
import { find, SITTING_PAUSE_MS, type Answer, type Found } from "./store-search.ts";
import type { SearchHit, SearchQuery } from "../store-types.ts";
import type { CallWords } from "./entry-words.ts";

export interface PassageQuery extends Pick<
  SearchQuery,
  "query" | "sessions" | "before" | "from" | "to" | "who" | "writer" | "nodes" | "beside"
> {
  /** Session that makes the request; the visible part of its live turn is skipped, above all the question itself. */
  asking?: string;
  /** Nothing is looked for where no message can match so well. */
  least?: LeastMatch;
  /** Minimum number of messages to look for, up to 200; default 80. */
  wanted?: number;
  /** Texts that the context has already; what they repeat is not shown. */
  inContext?: readonly string[];
  /** Messages of the user after those that are searched, oldest first: what they replace is marked. */
  later?: readonly LaterStatement[];
}

/** An excerpt of one entry or summary. */
export interface Passage {
  /** Id of the entry or summary. */
  id: string;
  sessionId: string;
  sessionKey?: string;
  role: SearchHit["role"];
  /** Tool of a result. */
  toolName?: string;
  time: number;
  onPath: boolean;
  /** Place of the entry. */
  place: number;
  /** Place of the message that it belongs to, for a related one: an answer, a result, a call. */
  of?: number;
  /** Places of the messages before and after a whole message of people's talk. */
  talk?: { previous?: number; next?: number };
  /** Start in the text of the entry, in characters. */
  offset: number;
  /** True when it is the complete text of the entry. */
  isWhole: boolean;
  /** Id of a newer statement of the same person about the same thing. */
  newer?: string;
  /** Verbatim, with "…" for omissions. */
  text: string;
}

/** Default and limit of the messages to look for. */
const WANTED = 80;
const MOST_WANTED = 200;
/** Limits on an excerpt around words, on a related message, on a call, and on the calls of one message. Characters. */
const STRETCH = 500;
/**
 * Limit on a message of talk that is shown whole, since a part of it seldom has all that is asked for: less for the agent, whose
 * answers are often long and seldom what is asked for. Characters.
 */
const WHOLE_CHARS = { user: 1_500, agent: 1_000 };
const BESIDE = 300;
const CALL = 160;
const CALLS = 400;
/** How often the excerpt of a message is widened, and by how many characters each time. */
const WIDER = 4;
const WIDER_BY = 1_200;
/** Messages after a user's message that are searched for its calls. */
const REACH = 6;
/** Score of a related message, as a share of the hit's score. */
const NEXT = 1;
const RESULT = 1;
const OWN_CALLS = 1;
const WIDER_SHARE = 0.5;
/** Short messages near a hit in talk: how far, of how many characters at most, and what each further step keeps of the score. */
const NEAR_STEPS = 4;
const NEAR_CHARS = { user: 1_000, agent: 600 };
const NEAR_SHARE = 0.9;
/** Score of the rest of a sitting, for pages that hold more than what is near. */
const SITTING_REST = 0.02;
/** Limit on the messages of a sitting that are looked at in one direction. */
const SITTING_REACH = 200;
/** Talk has no tool call within so many messages. */
const TALK_REACH = 6;

/** A passage to show, made lazily. */
interface Item {
  value: number;
  make: () => Iterable<Passage>;
}

interface ShownRanges {
  ranges: Range[];
}

/** Passages, best first, generated lazily. */
export interface FoundPassages extends Iterable<Passage> {
  readonly match: Match;
}

interface Hiding {
  isHidden: (message: StoredMessage) => boolean;
  inContext: readonly string[];
}

class Passages implements FoundPassages {
  readonly #answer: Answer;
  readonly #talk: Conversation;
  readonly #home: Home;
  readonly #isHidden: (message: StoredMessage) => boolean;
  readonly #isAsked: ReturnType<typeof asksFor>;
  readonly #weights: readonly number[];
  /** Ranges already shown, by the message's key. */
  readonly #shown = new Map<string, ShownRanges>();
  readonly #units = new Set<string>();
  /** Some units are in the context already. */
  readonly #hasContext: boolean;
  /** Places of the messages that were found. */
  readonly #hits: ReadonlySet<number>;
  /** Runs of talk around a message, by its key. */
  readonly #runs = new Map<string, readonly (readonly StoredMessage[])[]>();

  constructor(home: Home, answer: Answer, filter: PlaceFilter, { isHidden, inContext }: Hiding) {
    this.#home = home;
    this.#isHidden = isHidden;
    this.#isAsked = asksFor(filter);
    this.#answer = answer;
    this.#talk = new Conversation(home);
    this.#hits = new Set(answer.found.map(({ place }) => place));
    this.#hasContext = inContext.length > 0;
    for (const unit of inContext.flatMap(unitsOf)) this.#units.add(unit);
    this.#weights = answer.words.map(({ weight }) => weight);
  }

  get match(): Match {
    return this.#answer.match;
  }

  *[Symbol.iterator](): Generator<Passage> {
    const items = this.#answer.found.flatMap((found) => this.#itemsOf(found));
    // Ties keep their order: related messages come right after their excerpt.
    const [best, ...others] = items.sort((a, b) => b.value - a.value);
    const first = [...(best?.make() ?? [])];
    // What goes with an answer that the context has is no answer.
    if (first.length === 0 && this.#hasContext) return;
    yield* first;
    for (const { make } of others) yield* make();
  }

  #itemsOf(found: Found): Item[] {
    const { score, kind, role, isBest } = found;
    const item = (share: number, make: Item["make"]): Item => ({ value: score * share, make });
    const items = [item(1, () => this.#stretch(found))];
    if (!isBest) return items;
    if (role === "user" || role === "assistant")
      for (let step = 1; step <= NEAR_STEPS; step++)
        items.push(item(NEAR_SHARE ** (step - 1), () => this.#near(found, step)));
    if (role === "user" || role === "assistant")
      items.push(item(SITTING_REST, () => this.#restOfSitting(found)));
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

  /** The excerpt around the words. */
  *#stretch(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    const base = message?.words.text.indexOf(found.text) ?? -1;
    if (!message || base < 0) return;
    const hits = found.window.hits.map(({ at, end, word }) => ({ at: at + base, end: end + base, word }));
    // The arguments of an earlier search are not a source.
    const isOwn = message.words.calls.some(
      ({ at, end, name }) => isRecall(name) && hits.every((hit) => hit.at >= at && hit.end <= end),
    );
    if (isOwn) return;
    const newer = found.newerId ?? (found.newer && this.#sourceOf(found.newer)?.id);
    const { text } = message.words;
    const ranges: Range[] =
      isWithin(message, WHOLE_CHARS) && message.onPath && this.#talkAround(message).length > 0
        ? [[0, text.length]]
        : around(text, hits, this.#weights, STRETCH);
    for (const passage of this.#show(message, ranges))
      yield newer === undefined ? passage : { ...passage, newer };
  }

  #sourceOf(found: Found): StoredMessage | undefined {
    if (found.kind !== "node") {
      const message = this.#talk.at(found.session, found.place, found.onPath);
      return message?.toolName !== undefined && isRecall(message.toolName) ? undefined : message;
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

  /** After a user's message: the next message, and the calls of the turn. */
  *#done(found: Found): Generator<Passage> {
    let message = this.#sourceOf(found);
    for (let step = 0; message && step < REACH; step++) {
      message = this.#talk.next(message);
      if (!message || message.role === "user") return;
      if (message.role === "assistant" && step === 0)
        yield* this.#show(message, this.#begin(message), found.place);
      if (message.role === "assistant") yield* this.#calls(message, found.place);
    }
  }

  /** Short messages of the same sitting at a distance, where people talk. */
  *#near(found: Found, distance: number): Generator<Passage> {
    const message = this.#sourceOf(found);
    // A left branch shares its beginning with the path.
    if (!message?.onPath) return;
    for (const run of this.#talkAround(message)) {
      const near = run[distance - 1];
      if (!near || !isShort(near) || !isSameSitting(near, message) || this.#isHidden(near)) continue;
      // Another hit belongs to none.
      const of = this.#hits.has(near.place) ? undefined : found.place;
      yield* this.#show(near, [[0, near.words.text.length]], of);
    }
  }

  /** The short messages of a sitting before and after a message, where people talk. */
  *#restOfSitting(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    if (!message?.onPath || this.#talkAround(message).length === 0) return;
    for (const step of ["next", "previous"] as const) {
      let near = this.#talk[step](message);
      for (let count = 0; near && count < SITTING_REACH; count++) {
        if (!isProse(near) || !isSameSitting(near, message) || this.#isHidden(near)) break;
        if (isShort(near)) yield* this.#show(near, [[0, near.words.text.length]], found.place);
        near = this.#talk[step](near);
      }
    }
  }

  /** The messages before a message and those after it, nearest first; nothing where tools were at work. */
  #talkAround(message: StoredMessage): readonly (readonly StoredMessage[])[] {
    let runs = this.#runs.get(message.name);
    if (!runs) {
      const run = (by: 1 | -1) => this.#talk.run(message, { by, limit: TALK_REACH, fits: isProse });
      const before = isProse(message) ? run(-1) : undefined;
      const after = before && run(1);
      runs = before && after ? [before, after] : [];
      this.#runs.set(message.name, runs);
    }
    return runs;
  }

  /** The user's answer to a question. */
  *#answered(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    if (!message || message.words.calls.length > 0 || !/[?？]/.test(message.words.text)) return;
    const next = this.#talk.next(message);
    if (next?.role === "user") yield* this.#show(next, this.#begin(next), found.place);
  }

  /** The result of the call that has the words, else of the first one. */
  *#result(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    const call = message && callAround(message, found);
    if (!message || !call || isRecall(call.name)) return;
    const result = this.#talk.resultOf(message, call.id);
    if (result) yield* this.#show(result, this.#begin(result), found.place);
  }

  *#ownCalls(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    if (message) yield* this.#calls(message, found.place);
  }

  *#callOf(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    const caller = message && this.#talk.callerOf(message);
    const call = caller?.words.calls.find(({ id }) => id === message?.callId);
    if (caller && call)
      yield* this.#show(caller, [beginning(caller.words.text, call.at, call.end, CALL)], found.place);
  }

  *#wider(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    const shown = message && this.#shown.get(message.name);
    if (message && shown) yield* this.#show(message, widened(message.words.text, shown.ranges, WIDER_BY));
  }

  #begin({ words: { text } }: StoredMessage): Range[] {
    return [beginning(text, 0, text.length, BESIDE)];
  }

  *#calls(message: StoredMessage, of: number): Generator<Passage> {
    const ranges: Range[] = [];
    let left = CALLS;
    for (const { at, end, name } of message.words.calls) {
      if (left <= 0) break;
      if (isRecall(name)) continue;
      const range = beginning(message.words.text, at, end, Math.min(CALL, left));
      left -= range[1] - range[0];
      ranges.push(range);
    }
    yield* this.#show(message, ranges, of);
  }

  /** Shows the parts of the ranges that were not shown yet, if they contain new text. */
  *#show(message: StoredMessage, ranges: readonly Range[], of?: number): Generator<Passage> {
    const { text } = message.words;
    if (!this.#isAsked({ time: message.time, role: message.role, message: () => message.message })) return;
    const shown = this.#shown.get(message.name) ?? { ranges: [] };
    const fresh = without(ranges, shown.ranges).filter(([start, end]) =>
      this.#isFresh(text.slice(start, end)),
    );
    const [first] = fresh;
    const last = fresh.at(-1);
    if (!first || !last) return;
    this.#shown.set(message.name, { ranges: [...shown.ranges, ...fresh] });
    const { id, session, onPath, role, toolName, time } = message;
    const parts = fresh.map(([start, end]) => text.slice(start, end).trim()).join(" … ");
    const isWhole = fresh.length === 1 && first[0] === 0 && last[1] === text.length;
    yield {
      id,
      sessionId: session.id,
      ...(session.key === null ? {} : { sessionKey: session.key }),
      role,
      ...(toolName === undefined ? {} : { toolName }),
      time,
      onPath,
      place: message.place,
      ...(of === undefined ? {} : { of }),
      ...(isWhole && onPath && isProse(message) ? { talk: this.#nextTo(message) } : {}),
      offset: first[0],
      isWhole,
      text: `${first[0] > 0 ? "…" : ""}${parts}${last[1] < text.length ? "…" : ""}`,
    };
  }

  #nextTo(message: StoredMessage): NonNullable<Passage["talk"]> {
    const previous = this.#talk.previous(message)?.place;
    const next = this.#talk.next(message)?.place;
    return { ...(previous === undefined ? {} : { previous }), ...(next === undefined ? {} : { next }) };
  }

  #isFresh(text: string): boolean {
    if (text.trim() === "") return false;
    const fresh = unitsOf(text).filter((unit) => !this.#units.has(unit));
    for (const unit of fresh) this.#units.add(unit);
    return fresh.length > 0;
  }
}

function isSameSitting(one: StoredMessage, other: StoredMessage): boolean {
  return Math.abs(one.time - other.time) < SITTING_PAUSE_MS;
}

function isWithin({ role, words }: StoredMessage, chars: Record<"user" | "agent", number>): boolean {
  return words.text.length <= chars[role === "user" ? "user" : "agent"];
}

function isShort(message: StoredMessage): boolean {
  return isWithin(message, NEAR_CHARS);
}

/** True for a message of a person or of the agent without calls. */
function isProse({ role, words }: StoredMessage): boolean {
  return (role === "user" || role === "assistant") && words.calls.length === 0;
}

/** Results of the recall tools only repeat other entries. A runtime may prefix the tools' names. */
function isRecall(toolName: string): boolean {
  return /(?:^|_)context_(?:search|describe|expand|pin)$/.test(toolName);
}

function callAround(
  { words: { text, calls } }: StoredMessage,
  { text: found, window }: Found,
): CallWords | undefined {
  const center = text.indexOf(found) + window.center;
  return calls.find(({ at, end }) => at <= center && center < end) ?? calls[0];
}

/** Whether the index has all that a query can find: one for what is before an entry does not need the newest texts. */
export function isIndexedFor({ db }: Home, { before, sessions }: PassageQuery): boolean {
  const [id, ...others] = sessions ?? [];
  if (before === undefined || id === undefined || others.length > 0) return false;
  const place = resolve(db, requireSession(db, id).num, before);
  return place !== undefined && isIndexedBelow(db, place);
}

/** When the newest entry of a session was written: its live turn is what asks. */
function newestTime({ db }: Home, sessionId: string): number | undefined {
  const leaf = sessionRow(db, sessionId)?.leaf ?? undefined;
  return leaf === undefined ? undefined : entryAt(db, leaf)?.time;
}

/** Passages, best first. Throws `session_not_found`. */
export async function passages(home: Home, query: PassageQuery): Promise<FoundPassages> {
  const { asking, wanted = WANTED, least, inContext = [], later = [], ...asked } = query;
  let isSeen: ((seen: Seen) => boolean) | undefined;
  const isHidden = (seen: Seen): boolean => asking !== undefined && (isSeen ??= inSight(home, asking))(seen);
  const askedAt = asking === undefined ? undefined : newestTime(home, asking);
  const dated = askedAt === undefined ? asked : { ...asked, askedAt };
  const answer = await find(home, dated, Math.min(wanted, MOST_WANTED), isHidden, least);
  markOutdated(answer.found, answer.words, later);
  return new Passages(home, answer, asked, { isHidden, inContext });
}
