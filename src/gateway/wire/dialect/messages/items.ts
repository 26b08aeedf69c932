/** Elements of `messages`: where they stand, and what they say once somebody asks. */
import type { AgentMessage } from "../../../../contract/message.ts";
import { arrayElements, type Span } from "../../json/scan.ts";
import type { WireItem } from "../dialect.ts";
import { assistantMessages, blocksOf, blockText, userMessages } from "./decode.ts";
import { fieldsOf, textOf, type Fields } from "../../json/fields.ts";
import { readable, roleOf } from "./fields.ts";
import { isContinuation, kindOfText, tellsSurroundings } from "./marks.ts";

export class MessagesItem implements WireItem {
  readonly start: number;
  readonly end: number;
  readonly role: string;
  readonly #body: Buffer;
  readonly #before: readonly MessagesItem[];
  readonly #index: number;
  #blocks: readonly Fields[] | undefined;
  #kind: "said" | "setting" | undefined;
  #messages: readonly AgentMessage[] | undefined;

  /** `all`: the request's elements, to which this one is being added. */
  constructor(body: Buffer, { start, end }: Span, all: readonly MessagesItem[]) {
    this.start = start;
    this.end = end;
    this.#body = body;
    this.#before = all;
    this.#index = all.length;
    this.role = roleOf(body, this);
  }

  get blocks(): readonly Fields[] {
    this.#blocks ??= blocksOf(fieldsOf(readable(this.#body, this))["content"]);
    return this.#blocks;
  }

  get kind(): "said" | "setting" {
    this.#kind ??= this.#isSetting() ? "setting" : "said";
    return this.#kind;
  }

  /** Surroundings and reports last; a reminder of a moment, and a summary that Claude Code has made, do not. */
  get isPassing(): boolean {
    if (this.kind === "said") return false;
    return (
      this.isContinuation || this.blocks.every((block) => kindOfText(blockText(block) ?? "") === "passing")
    );
  }

  get messages(): readonly AgentMessage[] {
    this.#messages ??= this.kind === "setting" ? [] : this.#decoded();
    return this.#messages;
  }

  get surroundings(): Buffer | undefined {
    if (this.role !== "user") return undefined;
    const told = this.blocks.flatMap((block) => {
      const text = blockText(block)?.trimEnd() ?? "";
      return tellsSurroundings(text) ? [{ type: "text", text }] : [];
    });
    return told.length > 0 ? Buffer.from(JSON.stringify({ role: "user", content: told })) : undefined;
  }

  /** Claude Code tells what it made of an older part of the conversation. */
  get isContinuation(): boolean {
    return this.continuation !== undefined;
  }

  get continuation(): string | undefined {
    if (this.role !== "user") return undefined;
    return this.blocks.map(blockText).find((text) => text !== undefined && isContinuation(text));
  }

  get hasResults(): boolean {
    return this.blocks.some(({ type }) => type === "tool_result");
  }

  #isSetting(): boolean {
    if (this.role === "system") return true;
    if (this.role !== "user" || this.blocks.length === 0) return false;
    return this.blocks.every((block) => {
      const text = blockText(block);
      return text !== undefined && kindOfText(text) !== "words";
    });
  }

  #decoded(): AgentMessage[] {
    if (this.role === "assistant") return assistantMessages(this.blocks);
    if (this.role !== "user") return [];
    return userMessages(this.blocks, (callId) => this.#nameOf(callId));
  }

  /** The call stands in the nearest answer before its result. */
  #nameOf(callId: string): string | undefined {
    for (let at = this.#index - 1; at >= 0; at--) {
      const item = this.#before[at];
      if (item?.role !== "assistant") continue;
      const call = item.blocks.find(({ type, id }) => type === "tool_use" && id === callId);
      if (call) return textOf(call["name"]) || undefined;
    }
    return undefined;
  }
}

/** Throws `JsonScanError`. */
export function itemsOf(body: Buffer, list: Span): MessagesItem[] {
  const items: MessagesItem[] = [];
  for (const span of arrayElements(body, list)) items.push(new MessagesItem(body, span, items));
  return items;
}
