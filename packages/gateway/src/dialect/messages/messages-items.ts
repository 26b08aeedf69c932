/** Elements of `messages`: their places, and their content, parsed on demand. */
import type { AgentMessage } from "@pagurus/contract/message";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { blocksOf, isResult } from "@pagurus/core/protocols/messages/messages-blocks";
import { arrayElements, readable, type Span } from "../../json/scan.ts";
import type { WireItem } from "../wire-dialect.ts";
import type { Unsealed } from "../sealed-summary.ts";
import { assistantMessages, blockText, userMessages } from "./messages-decode.ts";
import { roleOf } from "./messages-fields.ts";
import { COMPACTION_BLOCK, ownSummary } from "./messages-compaction.ts";
import { continuationText, isContinuation, kindOfText, describesSurroundings } from "./messages-marks.ts";

export class MessagesItem implements WireItem {
  readonly start: number;
  readonly end: number;
  readonly role: string;
  readonly #body: Buffer;
  readonly #before: readonly MessagesItem[];
  readonly #index: number;
  #blocks: readonly Fields[] | undefined;
  #kind: "message" | "setting" | undefined;
  #messages: readonly AgentMessage[] | undefined;

  readonly #isMarked: boolean;

  /** `all`: the request's elements, to which this one is being added. `isMarked`: Claude Code's texts of its own may be in it. */
  constructor(body: Buffer, { start, end }: Span, all: readonly MessagesItem[], isMarked: boolean) {
    this.#isMarked = isMarked;
    this.start = start;
    this.end = end;
    this.#body = body;
    this.#before = all;
    this.#index = all.length;
    this.role = roleOf(body, this);
  }

  get blocks(): readonly Fields[] {
    this.#blocks ??= blocksOf(recordOf(readable(this.#body, this))["content"]);
    return this.#blocks;
  }

  get kind(): "message" | "setting" {
    this.#kind ??= this.#isSetting() ? "setting" : "message";
    return this.#kind;
  }

  /** True for reminders of a moment and for a summary that Claude Code has made; false for surroundings and reports, which stay valid. */
  get isPassing(): boolean {
    if (this.kind === "message") return false;
    return (
      this.isContinuation || this.blocks.every((block) => kindOfText(blockText(block) ?? "") === "passing")
    );
  }

  get messages(): readonly AgentMessage[] {
    this.#messages ??= this.kind === "setting" ? [] : this.#decoded();
    return this.#messages;
  }

  get surroundings(): Buffer | undefined {
    if (this.role !== "user" || !this.#isMarked) return undefined;
    const blocks = this.blocks.flatMap((block) => {
      const text = blockText(block)?.trimEnd() ?? "";
      return describesSurroundings(text) ? [{ type: "text", text }] : [];
    });
    return blocks.length > 0 ? Buffer.from(JSON.stringify({ role: "user", content: blocks })) : undefined;
  }

  /** A block of the provider's compaction, or of the gateway's in its form. */
  get #compaction(): Fields | undefined {
    return this.role === "system" ? undefined : this.blocks.find(({ type }) => type === COMPACTION_BLOCK);
  }

  get isCompaction(): boolean {
    return this.#compaction !== undefined;
  }

  get #own(): Unsealed | undefined {
    const block = this.#compaction;
    return block && ownSummary(block);
  }

  /** Only a summary of the gateway's, without another block. */
  get isOwnSummary(): boolean {
    return this.blocks.length === 1 && this.#own !== undefined;
  }

  /** The summary as text, before what else the element contains. */
  get replacement(): Buffer | undefined {
    const own = this.#own;
    if (!own) return undefined;
    const rest = this.blocks.filter(({ type }) => type !== COMPACTION_BLOCK);
    const text = { type: "text", text: continuationText(own.summary) };
    const elements = [
      { role: "user", content: [text] },
      ...(rest.length > 0 ? [{ role: this.role, content: rest }] : []),
    ];
    return Buffer.from(elements.map((element) => JSON.stringify(element)).join(","));
  }

  get compactedFrom(): string | undefined {
    return this.#own?.contentId;
  }

  /** A summary of an older part of the conversation: Claude Code's text, or a compaction block. */
  get isContinuation(): boolean {
    return this.continuation !== undefined;
  }

  get continuation(): string | undefined {
    const block = this.#compaction;
    if (block) return stringOf(block["content"]);
    if (this.role !== "user") return undefined;
    return this.blocks.map(blockText).find((text) => text !== undefined && isContinuation(text));
  }

  get hasResults(): boolean {
    return this.blocks.some(isResult);
  }

  #isSetting(): boolean {
    if (this.role === "system") return true;
    if (this.blocks.length === 1 && this.isCompaction) return true;
    if (this.role !== "user" || this.blocks.length === 0) return false;
    return this.blocks.every((block) => {
      const text = blockText(block);
      return text !== undefined && this.#isMarked && kindOfText(text) !== "words";
    });
  }

  #decoded(): AgentMessage[] {
    if (this.role === "assistant") return assistantMessages(this.blocks);
    if (this.role !== "user") return [];
    const nameOf = (callId: string): string | undefined => this.#nameOf(callId);
    return userMessages(this.blocks, nameOf, this.#isMarked);
  }

  /** A call is in the nearest answer before its result. */
  #nameOf(callId: string): string | undefined {
    for (let at = this.#index - 1; at >= 0; at--) {
      const item = this.#before[at];
      if (item?.role !== "assistant") continue;
      const call = item.blocks.find(({ type, id }) => type === "tool_use" && id === callId);
      if (call) return stringOf(call["name"]) || undefined;
    }
    return undefined;
  }
}

/** Throws `JsonScanError`. */
export function itemsOf(body: Buffer, list: Span, isMarked: boolean): MessagesItem[] {
  const items: MessagesItem[] = [];
  for (const span of arrayElements(body, list)) items.push(new MessagesItem(body, span, items, isMarked));
  return items;
}
