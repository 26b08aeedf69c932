/** Elements of `contents`: their places, and their content, parsed on demand. */
import type { AgentMessage } from "@pagurus/contract/message";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { answeredCalls, TurnCalls, type FunctionCall } from "@pagurus/core/protocols/gemini/gemini-calls";
import {
  answerContent,
  geminiAnswerText,
  callsIn,
  partsOf,
  resultFields,
  textOf,
} from "@pagurus/core/protocols/gemini/gemini-parts";
import { arrayElements, objectMembers, parsePart, readable, type Span } from "../../json/scan.ts";
import type { WireItem } from "../wire-dialect.ts";
import {
  describesSurroundings,
  isAcknowledgement,
  isMadeUp,
  isSnapshot,
  kindOfText,
  type TextKind,
} from "./gemini-cli-marks.ts";
import { userMessages } from "./generate-content-decode.ts";

export class ContentItem implements WireItem {
  readonly start: number;
  readonly end: number;
  /** As the request has it: `user`, `model`, or `function` for results in the API's first year; a content without one is the user's. */
  readonly role: string;
  readonly #body: Buffer;
  readonly #list: ContentList;
  readonly #all: readonly ContentItem[];
  readonly #index: number;
  #parts: readonly Fields[] | undefined;
  #kind: "message" | "setting" | undefined;
  #messages: readonly AgentMessage[] | undefined;

  /** `list`: the request's elements, to which this one is being added. */
  constructor(body: Buffer, { start, end }: Span, list: ContentList) {
    this.start = start;
    this.end = end;
    this.#body = body;
    this.#list = list;
    this.#all = list.items;
    this.#index = list.items.length;
    const role = objectMembers(body, this).get("role");
    this.role = role ? stringOf(parsePart(body, role)) : "user";
  }

  get parts(): readonly Fields[] {
    this.#parts ??= partsOf(recordOf(readable(this.#body, this)));
    return this.#parts;
  }

  get kind(): "message" | "setting" {
    this.#kind ??= this.#isSetting() ? "setting" : "message";
    return this.#kind;
  }

  /** True for a summary that Gemini CLI has made, for answers that it makes up, and for text that was only valid for its moment. */
  get isPassing(): boolean {
    if (this.kind === "message") return false;
    const isAll = this.parts.every((part) => this.#kindOf(part) === "passing");
    return this.role === "model" || this.summary !== undefined || isAll;
  }

  /** Gemini CLI's summary of an older part of the conversation; in the first content, mostly after the surroundings. */
  get summary(): string | undefined {
    const next = this.#all[this.#index + 1];
    if (this.#index > 1 || !this.#isUser || next?.role !== "model" || !isAcknowledgement(next.parts))
      return undefined;
    return this.parts.map(textOf).find((text) => text !== undefined && isSnapshot(text));
  }

  get messages(): readonly AgentMessage[] {
    this.#messages ??= this.kind === "setting" ? [] : this.#decoded();
    return this.#messages;
  }

  get surroundings(): Buffer | undefined {
    if (!this.#isUser) return undefined;
    const parts = this.parts.flatMap((part) => {
      const text = textOf(part);
      return text !== undefined && describesSurroundings(text) ? [{ text }] : [];
    });
    return parts.length > 0 ? Buffer.from(JSON.stringify({ role: "user", parts })) : undefined;
  }

  get hasResults(): boolean {
    return this.#isUser && resultsIn(this).length > 0;
  }

  /** Input of the user, which begins a turn: text next to results is steering, and belongs to the turn before. */
  get isInput(): boolean {
    return this.role === "user" && this.kind === "message" && !this.hasResults;
  }

  /** The text of an input, without surroundings. */
  get inputText(): string {
    const texts = this.parts
      .filter((part) => this.#kindOf(part) === "words")
      .map((part) => textOf(part) ?? "");
    return texts.join("\n");
  }

  /** The calls of the answer that ends with this element. */
  get calls(): readonly FunctionCall[] {
    return this.#list.callsOf(this.#index);
  }

  get #isUser(): boolean {
    return this.role === "user" || this.role === "function";
  }

  /** A client that stores each piece of a stream has one answer in several elements; the last one has all of it. */
  get isAnswerEnd(): boolean {
    return this.role === "model" && this.#all[this.#index + 1]?.role !== "model";
  }

  #isSetting(): boolean {
    const [before, next] = [this.#all[this.#index - 1], this.#all[this.#index + 1]];
    if (this.role === "model")
      return isMadeUp(this.parts, next?.parts ?? []) || before?.summary !== undefined;
    return (
      this.#isUser && this.parts.length > 0 && this.parts.every((part) => this.#kindOf(part) !== "words")
    );
  }

  #kindOf(part: Fields): TextKind {
    const text = textOf(part);
    if (text === undefined || !this.#isUser) return "words";
    const kind = kindOfText(text);
    return kind === "words" && text === this.summary ? "passing" : kind;
  }

  #decoded(): AgentMessage[] {
    if (this.#isUser) {
      const own = this.parts.filter((part) => this.#kindOf(part) === "words");
      return userMessages(own, this.#answered());
    }
    if (!this.isAnswerEnd) return [];
    const content = answerContent(this.answerParts(), this.calls);
    return content.length > 0 ? [{ role: "assistant", content }] : [];
  }

  /** The parts of the consecutive elements of an answer. */
  answerParts(): Fields[] {
    let first = this.#index;
    while (first > 0 && this.#all[first - 1]?.role === "model") first -= 1;
    return this.#all.slice(first, this.#index + 1).flatMap(({ parts }) => parts);
  }

  /** The calls that the results in this element answer, in order: those of the nearest answer before. */
  #answered(): readonly (FunctionCall | undefined)[] {
    const own = resultsIn(this);
    if (own.length === 0) return [];
    let before = this.#index - 1;
    while (before >= 0 && this.#all[before]?.role !== "model") before -= 1;
    const earlier = this.#all.slice(before + 1, this.#index).flatMap(resultsIn);
    return answeredCalls(this.#all[before]?.calls ?? [], [...earlier, ...own]).slice(earlier.length);
  }
}

function resultsIn({ parts }: ContentItem): Fields[] {
  return parts.map(resultFields).filter((result) => result !== undefined);
}

/** The elements of a request, with what depends on those before. */
class ContentList {
  readonly items: ContentItem[] = [];
  /** By the index of the element with which the answer ends; complete when the first one is needed. */
  #calls: Map<number, readonly FunctionCall[]> | undefined;

  callsOf(index: number): readonly FunctionCall[] {
    if (!this.#calls) {
      this.#calls = new Map();
      const turn = new TurnCalls();
      for (const [at, item] of this.items.entries()) {
        const calls = followItem(turn, item);
        if (calls.length > 0) this.#calls.set(at, calls);
      }
    }
    return this.#calls.get(index) ?? [];
  }
}

/** Returns the calls of the answer that ends with the element. */
function followItem(turn: TurnCalls, item: ContentItem): readonly FunctionCall[] {
  if (item.isInput) turn.begin(item.inputText);
  if (!item.isAnswerEnd || item.kind === "setting") return [];
  const parts = item.answerParts();
  return turn.answer(geminiAnswerText(parts), callsIn(parts));
}

/** The turn whose next answer follows the elements. */
export function turnAfter(items: readonly WireItem[]): TurnCalls {
  const turn = new TurnCalls();
  const all = items.filter((item) => item instanceof ContentItem);
  const from = all.findLastIndex((item) => item.isInput);
  for (const item of all.slice(Math.max(0, from))) followItem(turn, item);
  return turn;
}

/** Throws `JsonScanError`. */
export function itemsOf(body: Buffer, list: Span): ContentItem[] {
  const all = new ContentList();
  for (const span of arrayElements(body, list)) all.items.push(new ContentItem(body, span, all));
  return all.items;
}
