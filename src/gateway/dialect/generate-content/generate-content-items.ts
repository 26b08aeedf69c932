/** Elements of `contents`: their places, and their content, parsed on demand. */
import type { AgentMessage } from "../../../contract/message.ts";
import { type Fields, recordOf, stringOf } from "../../../data/record-fields.ts";
import { answeredCalls, functionCalls, type FunctionCall } from "../../../protocols/gemini/gemini-calls.ts";
import {
  answerContent,
  callsIn,
  partsOf,
  resultFields,
  textOf,
} from "../../../protocols/gemini/gemini-parts.ts";
import { arrayElements, JsonScanError, objectMembers, parsePart, type Span } from "../../json/scan.ts";
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
  readonly #all: readonly ContentItem[];
  readonly #index: number;
  #parts: readonly Fields[] | undefined;
  #kind: "message" | "setting" | undefined;
  #messages: readonly AgentMessage[] | undefined;

  /** `all`: the request's elements, to which this one is being added. */
  constructor(body: Buffer, { start, end }: Span, all: readonly ContentItem[]) {
    this.start = start;
    this.end = end;
    this.#body = body;
    this.#all = all;
    this.#index = all.length;
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

  /** The calls of the answer that ends with this element. */
  get calls(): readonly FunctionCall[] {
    return this.#isAnswerEnd ? functionCalls(callsIn(this.#answerParts())) : [];
  }

  get #isUser(): boolean {
    return this.role === "user" || this.role === "function";
  }

  /** A client that stores each piece of a stream has one answer in several elements; the last one has all of it. */
  get #isAnswerEnd(): boolean {
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
    if (!this.#isAnswerEnd) return [];
    const content = answerContent(this.#answerParts());
    return content.length > 0 ? [{ role: "assistant", content }] : [];
  }

  /** The parts of the consecutive elements of an answer. */
  #answerParts(): Fields[] {
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

/** The parsed value; undefined if it is invalid inside: its place is known, its content is not. */
export function readable(body: Buffer, span: Span): unknown {
  try {
    return parsePart(body, span);
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

/** Throws `JsonScanError`. */
export function itemsOf(body: Buffer, list: Span): ContentItem[] {
  const items: ContentItem[] = [];
  for (const span of arrayElements(body, list)) items.push(new ContentItem(body, span, items));
  return items;
}
