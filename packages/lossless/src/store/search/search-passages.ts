/**
 * Passages that answer a query: excerpts of messages around the words, best first, each with related messages: the
 * answer to a question, the result of a call, the calls after a request. Nothing is shown twice. Reads lazily.
 */
import { Conversation, type StoredMessage } from "../entries/stored-messages.ts";
import { wordsAround, beginning, type Range } from "./search-excerpt.ts";
import { Excerpts, isProse, type Passage } from "./passage-excerpts.ts";
import { inSight, type Seen } from "../entries/stored-live-turn.ts";
import { nodeAt } from "../node-rows.ts";
import { isIndexedBelow } from "./backlog.ts";
import { depthOf, entryAt, requireSession, resolve, sessionRow } from "../entries/entry-tree.ts";
import { markOutdated, type LaterStatement } from "./corrections.ts";
import { asksFor, type Home, type PlaceFilter } from "./placing.ts";
import type { LeastMatch, Match } from "./match.ts";
import { isRecall } from "./recall-names.ts";
import { SITTING_PAUSE_MS, type Found } from "./fusion.ts";
import { find, type Answer } from "./store-search.ts";
import type { SearchQuery } from "../store-types.ts";
import type { CallWords } from "./entry-words.ts";

export interface PassageQuery extends Pick<
  SearchQuery,
  "query" | "sessions" | "before" | "from" | "to" | "who" | "writer" | "nodes" | "beside" | "ranksTurns"
> {
  /** Session that makes the request; the visible part of its live turn is skipped, above all the question itself. */
  asking?: string;
  /** Nothing is looked for where no message can match so well. */
  least?: LeastMatch;
  /** Minimum number of messages to look for, up to 200; default 80. */
  wanted?: number;
  /**
   * Messages from `before` on are in sight: they count for the match and the order, and are not shown. So a larger context has the same order
   * as a smaller one. Default false: they do not count.
   */
  ranksSeen?: boolean;
  /** Texts that the context has already; what they repeat is not shown. */
  inContext?: readonly string[];
  /** Messages of the user after those that are searched, oldest first: what they replace is marked. */
  later?: readonly LaterStatement[];
}

/** Default and limit of the messages to look for. */
const WANTED_PASSAGES = 80;
const MOST_WANTED = 200;
/** Limits on an excerpt around words, on a related message, on a call, and on the calls of one message. Characters. */
const STRETCH = 500;
/**
 * Limit on a message of talk that is shown whole, since a part of it seldom has all that is asked for: less for the agent, whose
 * answers are often long and seldom what is asked for. Characters.
 */
const WHOLE_CHARS = { user: 1_500, agent: 1_000 };
const BESIDE_CHARACTERS = 300;
const CALL_CHARACTERS = 160;
const CALLS_CHARACTERS = 400;
/** How often the excerpt of a message is widened, and by how many characters each time. */
const WIDER = 4;
const WIDER_BY = 1_200;
/** Messages after a user's message that are searched for its calls. */
const REACH = 6;
/** Score of a related message, as a share of the hit's score. */
const NEXT_RANK = 1;
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

/** Passages, best first, generated lazily. */
export interface FoundPassages extends Iterable<Passage> {
  readonly match: Match;
}

interface Hiding {
  isHidden: (message: StoredMessage) => boolean;
  /** Counts for the order, and is not shown. */
  isInSight: (message: StoredMessage) => boolean;
  inContext: readonly string[];
}

class Passages implements FoundPassages {
  readonly #answer: Answer;
  readonly #talk: Conversation;
  readonly #home: Home;
  readonly #isHidden: (message: StoredMessage) => boolean;
  readonly #weights: readonly number[];
  readonly #excerpts: Excerpts;
  /** Some texts are in the context already. */
  readonly #hasContext: boolean;
  /** Places of the messages that were found. */
  readonly #hits: ReadonlySet<number>;
  /** Runs of talk around a message, by its key. */
  readonly #runs = new Map<string, readonly (readonly StoredMessage[])[]>();

  constructor(home: Home, answer: Answer, filter: PlaceFilter, { isHidden, isInSight, inContext }: Hiding) {
    this.#home = home;
    this.#isHidden = isHidden;
    this.#answer = answer;
    this.#talk = new Conversation(home);
    const isAsked = asksFor(filter);
    this.#excerpts = new Excerpts(this.#talk, inContext, (message) => {
      const { time, role } = message;
      return !isInSight(message) && isAsked({ time, role, message: () => message.message });
    });
    this.#hits = new Set(answer.found.map(({ place }) => place));
    this.#hasContext = inContext.length > 0;
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
    if (role === "user") items.push(item(NEXT_RANK, () => this.#done(found)));
    if (role === "assistant") {
      items.push(item(NEXT_RANK, () => this.#answered(found)));
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
        : wordsAround(text, hits, this.#weights, STRETCH);
    for (const passage of this.#excerpts.of(message, ranges))
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
        yield* this.#excerpts.of(message, this.#begin(message), found.place);
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
      yield* this.#excerpts.of(near, [[0, near.words.text.length]], of);
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
        if (isShort(near)) yield* this.#excerpts.of(near, [[0, near.words.text.length]], found.place);
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
    if (next?.role === "user") yield* this.#excerpts.of(next, this.#begin(next), found.place);
  }

  /** The result of the call that has the words, else of the first one. */
  *#result(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    const call = message && callAround(message, found);
    if (!message || !call || isRecall(call.name)) return;
    const result = this.#talk.resultOf(message, call.id);
    if (result) yield* this.#excerpts.of(result, this.#begin(result), found.place);
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
      yield* this.#excerpts.of(
        caller,
        [beginning(caller.words.text, call.at, call.end, CALL_CHARACTERS)],
        found.place,
      );
  }

  *#wider(found: Found): Generator<Passage> {
    const message = this.#sourceOf(found);
    if (message) yield* this.#excerpts.wider(message, WIDER_BY);
  }

  #begin({ words: { text } }: StoredMessage): Range[] {
    return [beginning(text, 0, text.length, BESIDE_CHARACTERS)];
  }

  *#calls(message: StoredMessage, of: number): Generator<Passage> {
    const ranges: Range[] = [];
    let left = CALLS_CHARACTERS;
    for (const { at, end, name } of message.words.calls) {
      if (left <= 0) break;
      if (isRecall(name)) continue;
      const range = beginning(message.words.text, at, end, Math.min(CALL_CHARACTERS, left));
      left -= range[1] - range[0];
      ranges.push(range);
    }
    yield* this.#excerpts.of(message, ranges, of);
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

/** Whether a message of the path is at an entry or after it. */
function isFrom({ db }: Home, { before, sessions }: PassageQuery): (message: StoredMessage) => boolean {
  const [id] = sessions ?? [];
  const session = id === undefined ? undefined : requireSession(db, id);
  const place = session && before !== undefined ? resolve(db, session.num, before) : undefined;
  if (place === undefined) return () => false;
  const from = depthOf(db, place);
  return (message) =>
    message.onPath && message.session.num === session?.num && depthOf(db, message.place) >= from;
}

/** Passages, best first. Throws `session_not_found`. */
export async function passages(home: Home, query: PassageQuery): Promise<FoundPassages> {
  const {
    asking,
    wanted = WANTED_PASSAGES,
    least,
    inContext = [],
    later = [],
    ranksSeen = false,
    ...asked
  } = query;
  let isSeen: ((seen: Seen) => boolean) | undefined;
  const isHidden = (seen: Seen): boolean => asking !== undefined && (isSeen ??= inSight(home, asking))(seen);
  const askedAt = asking === undefined ? undefined : newestTime(home, asking);
  const { before: _, ...everywhere } = asked;
  const ranked = ranksSeen ? everywhere : asked;
  const dated = askedAt === undefined ? ranked : { ...ranked, askedAt };
  const answer = await find(home, dated, Math.min(wanted, MOST_WANTED), isHidden, least);
  markOutdated(answer.found, answer.words, later);
  const isInSight = ranksSeen ? isFrom(home, query) : (): boolean => false;
  return new Passages(home, answer, asked, { isHidden, isInSight, inContext });
}
