/** Elements of `contents`: their places, and their content, parsed on demand. */
import type { AgentMessage, ToolCallPart } from "../../../contract/message.ts";
import { type Fields, recordOf, stringOf } from "../../../data/record-fields.ts";
import { answeredIds } from "../../../protocols/gemini/gemini-calls.ts";
import { answerContent, partsOf, resultFields } from "../../../protocols/gemini/gemini-parts.ts";
import { arrayElements, JsonScanError, objectMembers, parsePart, type Span } from "../../json/scan.ts";
import type { WireItem } from "../wire-dialect.ts";
import { userMessages } from "./generate-content-decode.ts";
import { isAcknowledgement, isSnapshot, isSurroundings } from "./gemini-cli-marks.ts";

/** The roles of the API; `function` is that of results in its first year. */
export type Role = "user" | "model" | "function";

export class ContentItem implements WireItem {
  readonly start: number;
  readonly end: number;
  /** As the request has it; a content without one is the user's. */
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
    this.#kind ??= this.isPassing || (this.#isUser && isSurroundings(this.parts)) ? "setting" : "message";
    return this.#kind;
  }

  /** True for a summary that Gemini CLI has made of an older part of the conversation, and for the answer that it puts after it. */
  get isPassing(): boolean {
    if (this.role === "model") return this.#all[this.#index - 1]?.summary !== undefined;
    return this.summary !== undefined;
  }

  /** A summary directly after the surroundings, or in their place. */
  get summary(): string | undefined {
    const next = this.#all[this.#index + 1];
    if (this.#index > 1 || !this.#isUser || next?.role !== "model" || !isAcknowledgement(next.parts))
      return undefined;
    return isSnapshot(this.parts) ? stringOf(this.parts[0]?.["text"]) : undefined;
  }

  get messages(): readonly AgentMessage[] {
    this.#messages ??= this.kind === "setting" ? [] : this.#decoded();
    return this.#messages;
  }

  get hasResults(): boolean {
    return this.#isUser && this.parts.some((part) => resultFields(part) !== undefined);
  }

  get #isUser(): boolean {
    return this.role === "user" || this.role === "function";
  }

  #decoded(): AgentMessage[] {
    if (this.role !== "model") return this.#isUser ? userMessages(this.parts, this.#answered()) : [];
    // A client that stores each piece of a stream has one answer in several elements; the last one stands for all.
    if (this.#all[this.#index + 1]?.role === "model") return [];
    const content = answerContent(this.#run(this.#index).flatMap(({ parts }) => parts));
    return content.length > 0 ? [{ role: "assistant", content }] : [];
  }

  /** The consecutive elements of the answer that ends at `last`. */
  #run(last: number): ContentItem[] {
    let first = last;
    while (first > 0 && this.#all[first - 1]?.role === "model") first -= 1;
    return this.#all.slice(first, last + 1);
  }

  /** The calls that the results in this element answer, in order: those of the nearest answer before. */
  #answered(): ToolCallPart[] {
    const own = resultsIn(this);
    if (own.length === 0) return [];
    let before = this.#index - 1;
    while (before >= 0 && this.#all[before]?.role !== "model") before -= 1;
    const calls = (this.#all[before]?.messages ?? []).flatMap(({ content }) =>
      typeof content === "string" ? [] : content.filter((part) => part.type === "toolCall"),
    );
    const results = this.#all.slice(before + 1, this.#index).flatMap(resultsIn);
    const ids = answeredIds(calls, [...results, ...own]).slice(results.length);
    return ids.map((id, at) => {
      const call = calls.find((each) => each.id === id);
      const name = call?.name ?? (stringOf(own[at]?.["name"]) || "unknown");
      return { type: "toolCall", id, name, arguments: {} };
    });
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
