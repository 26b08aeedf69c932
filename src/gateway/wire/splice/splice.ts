/**
 * The request as it goes on: fixed prefix and all that is kept byte for byte, and between them the engine's messages. Source: the
 * design's "The model gateway", rules 1, 2 and 7.
 */
import type { AgentMessage } from "../../../contract/message.ts";
import type { Dialect, Rules, WireRequest } from "../dialect/dialect.ts";
import type { Governed } from "../governor.ts";
import type { Span } from "../json/scan.ts";
import { callKey } from "./atoms.ts";
import { liveGaps, type LiveGap } from "./live.ts";
import { matchMessages, type Matches } from "./match.ts";

export interface Spliced {
  /** The new body, in order. */
  body: Buffer[];
  /** False: it is the request's own. */
  isReplaced: boolean;
  /** Elements of the harness's that stand as they were, behind the fixed prefix. */
  keptItems: number;
  /** Those that the engine's context has no place for. */
  droppedItems: number;
  /** Messages that were said anew. */
  encodedMessages: number;
}

const COMMA = Buffer.from(",");

/** A message to be said anew, an element that says one, or surroundings that an element told which does not stay. */
type Piece = { message: AgentMessage } | { item: number } | { told: Buffer };

/** What stands before the tail, and the tail. */
interface Plan {
  head: Piece[];
  tail: Piece[];
}

class Planner {
  readonly #request: WireRequest;
  readonly #historyCount: number;
  readonly #matches: Matches;
  readonly #anew: readonly boolean[];

  constructor(request: WireRequest, governed: Governed) {
    this.#request = request;
    this.#historyCount = governed.context.historyCount;
    this.#matches = matchMessages(request, governed);
    const gaps = liveGaps(this.#matches, this.#historyCount);
    this.#anew = this.#matches.said.map((_, index) => this.#isAnew(index, gaps));
  }

  plan(): Plan {
    const { said, items: found, liveFrom } = this.#matches;
    const lastAnew = this.#anew.lastIndexOf(true);
    const tailFrom = this.#tailFrom(lastAnew);
    const head: Piece[] = [];
    let told = this.#request.prefixCount;
    let isWhole = false;
    /** What was told between elements that stay is told there again; in the live turn all that stands between them stays. */
    const tell = (item: number): void => {
      if (item < told) return;
      const from = isWhole ? Math.max(told, Math.min(liveFrom, item)) : item;
      head.push(...this.#settings(told, from), ...numbers(from, item + 1).map((own) => ({ item: own })));
      told = item + 1;
    };
    for (const [index, message] of said.entries()) {
      if (index > lastAnew) break;
      if (index === this.#historyCount) isWhole = true;
      if (this.#anew[index] === true) {
        head.push({ message });
        isWhole = false;
      }
      for (const item of this.#withMute(index)) if (item < tailFrom) tell(item);
      if (found[index] !== undefined) isWhole = index >= this.#historyCount;
    }
    head.push(...this.#settings(told, tailFrom));
    return { head, tail: this.#tail(tailFrom) };
  }

  /** Surroundings that were told between two places; what held for its moment only is not told again. */
  #settings(from: number, to: number): Piece[] {
    return this.#request.items.slice(from, Math.max(from, to)).flatMap((item, offset): Piece[] => {
      if (item.kind === "setting" && item.isPassing !== true) return [{ item: from + offset }];
      return item.surroundings ? [{ told: item.surroundings }] : [];
    });
  }

  /**
   * No element says it. In the live turn the harness's own bytes stand for what the engine left as it was, also where they are
   * not the same words.
   */
  #isAnew(index: number, gaps: readonly (LiveGap | undefined)[]): boolean {
    const { said, items, hasWords, isOriginal } = this.#matches;
    if (items[index] !== undefined || !hasWords(index)) return false;
    const gap = gaps[index];
    if (gap === undefined || gap.isReplaced || !isOriginal(index)) return true;
    return said[index]?.role === "user" && !gap.isCovered;
  }

  /** Where everything from there on is in the request already, in order; at the latest where the live turn begins. */
  #tailFrom(lastAnew: number): number {
    const { items: found, liveFrom } = this.#matches;
    const behind = found.slice(lastAnew + 1).flatMap((own) => own?.[0] ?? []);
    const first = behind.reduce((least, item) => Math.min(least, item), Infinity);
    const isLiveWhole = lastAnew < this.#historyCount;
    const from = Math.min(first, isLiveWhole ? liveFrom : this.#request.items.length);
    return this.#muteBefore(from);
  }

  /** The thinking of an answer stands before its words and calls, and stays with them. */
  #muteBefore(from: number): number {
    let at = from;
    while (at > this.#request.prefixCount && this.#matches.places.isMute(at - 1)) at -= 1;
    return at;
  }

  /** The elements of a message, with the thinking before them. */
  #withMute(index: number): number[] {
    return (this.#matches.items[index] ?? []).flatMap((item) => numbers(this.#muteBefore(item), item + 1));
  }

  /** The live turn's elements, and of the older ones those that the context has and those that tell of surroundings. */
  #tail(tailFrom: number): Piece[] {
    const { items } = this.#request;
    const { liveFrom, messages, places } = this.#matches;
    const pieces: Piece[] = [];
    /** Whether the next element stays that has words. */
    let isNextKept = true;
    for (let item = items.length - 1; item >= tailFrom; item--) {
      if (!places.isMute(item))
        isNextKept = item >= liveFrom ? !this.#isOrphan(item, tailFrom) : messages[item] !== undefined;
      const { kind, surroundings } = items[item] ?? {};
      if (isNextKept || kind === "setting") pieces.push({ item });
      else if (surroundings) pieces.push({ told: surroundings });
    }
    return pieces.reverse();
  }

  /** It has the result of a call that stands before the tail, in an element that does not stay. */
  #isOrphan(item: number, tailFrom: number): boolean {
    const { messages, places } = this.#matches;
    if (messages[item] !== undefined) return false;
    const isGone = (call: number): boolean => call < tailFrom && messages[call] === undefined;
    return (this.#request.items[item]?.messages ?? []).some((message) => {
      if (message.role !== "toolResult") return false;
      const call = places.of(callKey(message.toolCallId)).findLast((at) => at < places.from(item));
      return call !== undefined && isGone(places.placed[call]?.item ?? item);
    });
  }
}

/** From the first to before the last. */
function numbers(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, offset) => from + offset);
}

/** Elements that stay: consecutive ones with what stands between them, and those that something stands in for. */
function slices({ items, body }: WireRequest, indexes: readonly number[]): Buffer[] {
  const parts: (Span | Buffer)[] = [];
  let last = -2;
  for (const index of indexes) {
    const item = items[index];
    if (!item) continue;
    const span = parts.at(-1);
    const { start, end, standIn } = item;
    if (standIn) parts.push(standIn);
    else if (span && "end" in span && index === last + 1) span.end = end;
    else parts.push({ start, end });
    last = index;
  }
  return parts.map((part) => ("end" in part ? body.subarray(part.start, part.end) : part));
}

/** The body with another list of elements. */
function withList({ body, list }: WireRequest, parts: readonly Buffer[]): Buffer[] {
  const joined = parts.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part]));
  return [body.subarray(0, list.start + 1), ...joined, body.subarray(list.end - 1)];
}

/** A request that passes: byte for byte, but for elements that something stands in for. */
export function passing(request: WireRequest): Buffer[] {
  const { items, body } = request;
  if (items.every(({ standIn }) => standIn === undefined)) return [body];
  return withList(request, slices(request, [...items.keys()]));
}

type Run = { messages: AgentMessage[] } | { items: number[] } | { told: Buffer };

/** Pieces of one kind that follow each other. */
function runsOf(pieces: readonly Piece[]): Run[] {
  const runs: Run[] = [];
  for (const piece of pieces) {
    const run = runs.at(-1);
    if ("told" in piece) runs.push(piece);
    else if ("message" in piece) {
      if (run && "messages" in run) run.messages.push(piece.message);
      else runs.push({ messages: [piece.message] });
    } else if (run && "items" in run) run.items.push(piece.item);
    else runs.push({ items: [piece.item] });
  }
  return runs;
}

/** Pieces as bytes, `addition` in front of them. */
function partsOf(
  request: WireRequest,
  dialect: Pick<Dialect, "encode">,
  pieces: readonly Piece[],
  addition: string | undefined,
): Buffer[] {
  const runs = runsOf(pieces);
  if (addition !== undefined && !(runs[0] && "messages" in runs[0])) runs.unshift({ messages: [] });
  const lastAnew = runs.findLastIndex((run) => "messages" in run);
  const parts: Buffer[] = [];
  for (const [index, run] of runs.entries()) {
    if ("told" in run) parts.push(run.told);
    else if ("items" in run) parts.push(...slices(request, run.items));
    else {
      const mayMark = index === lastAnew;
      const isContinued = request.prefixCount > 0 || parts.length > 0;
      const said = index === 0 ? addition : undefined;
      parts.push(dialect.encode(run.messages, said, { request, mayMark, isContinued }));
    }
  }
  return parts.filter((part) => part.length > 0);
}

/** The request with the engine's context in the place of its older part. */
export function splice(
  read: WireRequest,
  governed: Governed,
  dialect: Pick<Dialect, "encode" | "rules">,
): Spliced {
  const liveFrom = Math.max(read.prefixCount, Math.min(read.liveFrom, governed.liveFrom ?? Infinity));
  const request = { ...read, liveFrom };
  const { items, prefixCount } = request;
  const words = governed.context.systemPromptAddition || undefined;
  const rules = words === undefined ? undefined : dialect.rules?.(request, words);
  const addition = rules ? undefined : words;
  const { head, tail } = new Planner(request, governed).plan();
  const pieces = [...head, ...tail];
  const kept = pieces.flatMap((piece) => ("item" in piece ? [piece.item] : []));
  const counts = {
    keptItems: kept.length,
    droppedItems: items.length - prefixCount - kept.length,
    encodedMessages: pieces.filter((piece) => "message" in piece).length,
  };
  const isSame = kept.length === pieces.length && counts.droppedItems === 0 && addition === undefined;
  if (isSame && isAscending(kept)) {
    const body = withRules(request, passing(request), rules);
    return { body, isReplaced: rules !== undefined, ...counts };
  }
  const parts = [
    ...slices(request, numbers(0, prefixCount)),
    ...partsOf(request, dialect, head, addition),
    ...partsOf(request, dialect, tail, undefined),
  ];
  return { body: withRules(request, withList(request, parts), rules), isReplaced: true, ...counts };
}

/** The first part begins and the last one ends as the request's own body does. */
function withRules(
  { body, list }: WireRequest,
  parts: readonly Buffer[],
  rules: Rules | undefined,
): Buffer[] {
  if (!rules) return [...parts];
  const { at, bytes } = rules;
  const isBefore = at <= list.start;
  const part = (isBefore ? parts[0] : parts.at(-1)) ?? body;
  const cut = isBefore ? at : part.length - (body.length - at);
  const ruled = [part.subarray(0, cut), bytes, part.subarray(cut)];
  return isBefore ? [...ruled, ...parts.slice(1)] : [...parts.slice(0, -1), ...ruled];
}

function isAscending(indexes: readonly number[]): boolean {
  return indexes.every((index, at) => at === 0 || (indexes[at - 1] ?? -1) < index);
}
