/**
 * Builds the request to send: fixed prefix and everything kept byte for byte, and between them the engine's messages. Source: the
 * design's "The model gateway", rules 1, 2 and 7.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import type { Dialect, Rules, WireRequest } from "../dialect/wire-dialect.ts";
import type { Governed } from "../governor/governor.ts";
import type { Span } from "../json/scan.ts";
import { callKey } from "./atoms.ts";
import { liveGaps, type LiveGap } from "./live-elements.ts";
import { matchMessages, type Matches } from "./match.ts";

export interface Spliced {
  /** The new body, in order. */
  body: Buffer[];
  /** False: it is the request's own body. */
  isReplaced: boolean;
  /** The harness's own elements that are kept, after the fixed prefix. */
  keptItems: number;
  /** The harness's elements that are not in the engine's context. */
  droppedItems: number;
  /** Messages that were encoded again. */
  encodedMessages: number;
}

const COMMA = Buffer.from(",");

/** A message to encode, an element that matches one, or the surroundings of a dropped element. */
type Piece = { message: AgentMessage } | { item: number } | { surroundings: Buffer };

/** The pieces before the tail, and the tail. */
interface Plan {
  head: Piece[];
  tail: Piece[];
}

class Planner {
  readonly #request: WireRequest;
  readonly #historyCount: number;
  readonly #matches: Matches;
  readonly #isEncoded: readonly boolean[];

  constructor(request: WireRequest, governed: Governed) {
    this.#request = request;
    this.#historyCount = governed.context.historyCount;
    this.#matches = matchMessages(request, governed);
    const gaps = liveGaps(this.#matches, this.#historyCount);
    this.#isEncoded = this.#matches.context.map((_, index) => this.#needsEncoding(index, gaps));
  }

  plan(): Plan {
    const { context, items: found, liveFrom } = this.#matches;
    const lastEncoded = this.#isEncoded.lastIndexOf(true);
    const tailFrom = this.#tailFrom(lastEncoded);
    const head: Piece[] = [];
    let next = this.#request.prefixCount;
    let isWhole = false;
    /** Adds an element, with the settings since the previous one; in the live turn everything between kept elements stays. */
    const add = (item: number): void => {
      if (item < next) return;
      const from = isWhole ? Math.max(next, Math.min(liveFrom, item)) : item;
      head.push(...this.#settings(next, from), ...numbers(from, item + 1).map((own) => ({ item: own })));
      next = item + 1;
    };
    for (const [index, message] of context.entries()) {
      if (index > lastEncoded) break;
      if (index === this.#historyCount) isWhole = true;
      if (this.#isEncoded[index] === true) {
        head.push({ message });
        isWhole = false;
      }
      for (const item of this.#withMute(index)) if (item < tailFrom) add(item);
      if (found[index] !== undefined) isWhole = index >= this.#historyCount;
    }
    head.push(...this.#settings(next, tailFrom));
    return { head, tail: this.#tail(tailFrom) };
  }

  /** Settings between two places, without those that were only valid for their moment. */
  #settings(from: number, to: number): Piece[] {
    return this.#request.items.slice(from, Math.max(from, to)).flatMap((item, offset): Piece[] => {
      if (item.kind === "setting" && item.isPassing !== true) return [{ item: from + offset }];
      return item.surroundings ? [{ surroundings: item.surroundings }] : [];
    });
  }

  /**
   * Whether a message has to be encoded because no element matches it. In the live turn the harness's own bytes represent messages
   * that the engine left unchanged, even if they do not match exactly.
   */
  #needsEncoding(index: number, gaps: readonly (LiveGap | undefined)[]): boolean {
    const { context, items, hasWords, isOriginal } = this.#matches;
    if (items[index] !== undefined || !hasWords(index)) return false;
    const gap = gaps[index];
    if (gap === undefined || gap.isReplaced || !isOriginal(index)) return true;
    return context[index]?.role === "user" && !gap.isCovered;
  }

  /** First element from which on everything is in the request already, in order; at the latest the start of the live turn. */
  #tailFrom(lastEncoded: number): number {
    const { items: found, liveFrom } = this.#matches;
    const later = found.slice(lastEncoded + 1).flatMap((own) => own?.[0] ?? []);
    const first = later.reduce((least, item) => Math.min(least, item), Infinity);
    const isLiveWhole = lastEncoded < this.#historyCount;
    const from = Math.min(first, isLiveWhole ? liveFrom : this.#request.items.length);
    return this.#muteBefore(from);
  }

  /** The thinking of an answer comes before its text and calls, and stays with them. */
  #muteBefore(from: number): number {
    let at = from;
    while (at > this.#request.prefixCount && this.#matches.places.isMute(at - 1)) at -= 1;
    return at;
  }

  /** The elements of a message, with the thinking before them. */
  #withMute(index: number): number[] {
    return (this.#matches.items[index] ?? []).flatMap((item) => numbers(this.#muteBefore(item), item + 1));
  }

  /** The live turn's elements, and of the older ones those in the context and those with surroundings. */
  #tail(tailFrom: number): Piece[] {
    const { items } = this.#request;
    const { liveFrom, messages, places } = this.#matches;
    const pieces: Piece[] = [];
    /** Whether the next element with atoms is kept. */
    let isNextKept = true;
    for (let item = items.length - 1; item >= tailFrom; item--) {
      if (!places.isMute(item))
        isNextKept = item >= liveFrom ? !this.#isOrphan(item, tailFrom) : messages[item] !== undefined;
      const { kind, surroundings } = items[item] ?? {};
      if (isNextKept || kind === "setting") pieces.push({ item });
      else if (surroundings) pieces.push({ surroundings });
    }
    return pieces.reverse();
  }

  /** Whether the element has the result of a dropped call before the tail. */
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

/** Integers from the first to before the last. */
function numbers(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, offset) => from + offset);
}

/** Bytes of the kept elements: consecutive ones as one slice, and replacements for those that have one. */
function slices({ items, body }: WireRequest, indexes: readonly number[]): Buffer[] {
  const parts: (Span | Buffer)[] = [];
  let last = -2;
  for (const index of indexes) {
    const item = items[index];
    if (!item) continue;
    const span = parts.at(-1);
    const { start, end, replacement } = item;
    if (replacement) parts.push(replacement);
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

/** A request that passes: byte for byte, except for elements with a replacement. */
export function passing(request: WireRequest): Buffer[] {
  const { items, body } = request;
  if (items.every(({ replacement }) => replacement === undefined)) return [body];
  return withList(request, slices(request, [...items.keys()]));
}

type Run = { messages: AgentMessage[] } | { items: number[] } | { surroundings: Buffer };

/** Groups consecutive pieces of one kind. */
function runsOf(pieces: readonly Piece[]): Run[] {
  const runs: Run[] = [];
  for (const piece of pieces) {
    const run = runs.at(-1);
    if ("surroundings" in piece) runs.push(piece);
    else if ("message" in piece) {
      if (run && "messages" in run) run.messages.push(piece.message);
      else runs.push({ messages: [piece.message] });
    } else if (run && "items" in run) run.items.push(piece.item);
    else runs.push({ items: [piece.item] });
  }
  return runs;
}

/** Pieces as bytes, after `addition`. */
function partsOf(
  request: WireRequest,
  dialect: Pick<Dialect, "encode">,
  pieces: readonly Piece[],
  addition: string | undefined,
): Buffer[] {
  const runs = runsOf(pieces);
  if (addition !== undefined && !(runs[0] && "messages" in runs[0])) runs.unshift({ messages: [] });
  const lastEncoded = runs.findLastIndex((run) => "messages" in run);
  const parts: Buffer[] = [];
  for (const [index, run] of runs.entries()) {
    if ("surroundings" in run) parts.push(run.surroundings);
    else if ("items" in run) parts.push(...slices(request, run.items));
    else {
      const mayMark = index === lastEncoded;
      const isContinued = request.prefixCount > 0 || parts.length > 0;
      const prefix = index === 0 ? addition : undefined;
      parts.push(dialect.encode(run.messages, prefix, { request, mayMark, isContinued }));
    }
  }
  return parts.filter((part) => part.length > 0);
}

/** Returns the request with its older part replaced by the engine's context. */
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

/** Inserts the rules. The first part begins like the request's own body, and the last one ends like it. */
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
