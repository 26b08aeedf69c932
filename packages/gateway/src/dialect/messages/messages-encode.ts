/** Converts our messages to elements of `messages`. */
import { createHash } from "node:crypto";
import { missingResult } from "@pagurus/core/compaction/tool-pairing";
import type {
  AgentMessage,
  AssistantMessage,
  ToolCallPart,
  ToolResultMessage,
} from "@pagurus/contract/message";
import {
  type Block,
  callBlock,
  contentBlocks,
  isResult,
  resultBlock,
} from "@pagurus/core/protocols/messages/messages-blocks";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import type { EncodeOptions } from "../wire-dialect.ts";
import { acceptsMark, toolNames } from "./messages-request.ts";

interface Element {
  role: "user" | "assistant";
  content: Block[];
}

/** First user message of a context that would begin with an answer, which the API rejects. */
const BEGINNING = "(The conversation goes on from here.)";

/** Replaces characters that the API rejects in call ids; it accepts letters, digits, `_` and `-`. */
export function plainId(id: string): string {
  if (/^[a-zA-Z0-9_-]+$/.test(id)) return id;
  return `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
}

class MessagesEncoder {
  readonly #options: EncodeOptions;
  readonly #messages: readonly AgentMessage[];
  readonly #elements: Element[] = [];
  /** Results that are already encoded after their call. */
  readonly #encoded = new Set<ToolResultMessage>();
  /** Results by the id of their call, oldest first. */
  readonly #results = new Map<string, { result: ToolResultMessage; index: number }[]>();
  readonly #callIds = new Set<string>();
  /** Number of reuses of each id. */
  readonly #uses = new Map<string, number>();
  #names: readonly string[] | undefined;

  constructor(messages: readonly AgentMessage[], options: EncodeOptions) {
    this.#options = options;
    this.#messages = messages;
    for (const [index, message] of messages.entries()) {
      if (message.role !== "toolResult") continue;
      const all = this.#results.get(message.toolCallId);
      if (all) all.push({ result: message, index });
      else this.#results.set(message.toolCallId, [{ result: message, index }]);
    }
  }

  run(addition: string | undefined): Element[] {
    const { isContinued } = this.#options;
    if (addition !== undefined && addition.trim() !== "")
      this.#push("user", [{ type: "text", text: `<system-reminder>\n${addition}\n</system-reminder>` }]);
    for (const [index, message] of this.#messages.entries()) {
      if (message.role === "user") this.#push("user", contentBlocks(message.content));
      else if (message.role === "assistant") this.#answer(message, index);
      else if (!this.#encoded.has(message)) this.#lone(message);
    }
    if (this.#elements[0]?.role === "assistant" && isContinued !== true)
      this.#elements.unshift({ role: "user", content: [{ type: "text", text: BEGINNING }] });
    return this.#elements;
  }

  #push(role: Element["role"], content: Block[]): void {
    if (content.length > 0) this.#elements.push({ role, content });
  }

  /** Encodes an answer, directly followed by the results of its calls, wherever these are in the context. */
  #answer(message: AssistantMessage, index: number): void {
    const results: { result: ToolResultMessage; index: number; id: string }[] = [];
    const open: { call: ToolCallPart; id: string }[] = [];
    const blocks = message.content.flatMap((part): Block[] => {
      if (part.type === "text") return contentBlocks([part]);
      if (part.type === "thinking") return [];
      const id = this.#ownId(part.id);
      const found = this.#resultOf(part.id, index);
      if (found) results.push({ ...found, id });
      else open.push({ call: part, id });
      return [callBlock(id, this.#nameOf(part.name), part.arguments)];
    });
    this.#push("assistant", blocks);
    const inOrder = results.toSorted((one, other) => one.index - other.index);
    const content = inOrder.map(({ result, id }) => resultBlock(result, id));
    // The harness's own elements that follow may contain the results of the last answer.
    const isEnd = this.#isEnd(index);
    if (!isEnd || content.length > 0)
      content.push(...open.map(({ call, id }) => resultBlock(missingResult(call), id)));
    this.#push("user", content);
  }

  /** Whether the message is followed only by results that are already encoded after their call. */
  #isEnd(index: number): boolean {
    for (let at = index + 1; at < this.#messages.length; at++) {
      const later = this.#messages[at];
      if (later?.role !== "toolResult" || !this.#encoded.has(later)) return false;
    }
    return true;
  }

  /** The first result after the call that belongs to no other call yet. */
  #resultOf(callId: string, index: number): { result: ToolResultMessage; index: number } | undefined {
    const found = this.#results
      .get(callId)
      ?.find((one) => one.index > index && !this.#encoded.has(one.result));
    if (found) this.#encoded.add(found.result);
    return found;
  }

  /**
   * Encodes a result without a call in the messages: as a result if its call is right before, in an element of the harness; else as
   * text.
   */
  #lone(message: ToolResultMessage): void {
    const last = this.#elements.at(-1);
    const isNext = last === undefined || (last.role === "user" && last.content.every(isResult));
    const isAfterOwn = this.#options.isContinued === true && this.#callIds.size === 0 && isNext;
    if (isAfterOwn && last) last.content.push(resultBlock(message, plainId(message.toolCallId)));
    else if (isAfterOwn) this.#push("user", [resultBlock(message, plainId(message.toolCallId))]);
    else {
      const text = `[Result of the tool ${message.toolName}]`;
      this.#push("user", [{ type: "text", text }, ...contentBlocks(message.content)]);
    }
  }

  /** Makes a call id unique: some runtimes reuse ids in each answer, and the API rejects duplicates. */
  #ownId(id: string): string {
    const plain = plainId(id);
    let own = plain;
    let count = this.#uses.get(plain) ?? 0;
    for (; this.#callIds.has(own); count++) own = plainId(`${plain} ${count}`);
    this.#uses.set(plain, count);
    this.#callIds.add(own);
    return own;
  }

  /** The name under which Claude Code offers a tool of the host (`mcp__server__name`). */
  #nameOf(name: string): string {
    const plain = toolName(name) || "unknown";
    this.#names ??= toolNames(this.#options.request);
    if (this.#names.includes(plain)) return plain;
    const offered = this.#names.filter((known) => known.startsWith("mcp__") && known.endsWith(`__${plain}`));
    return offered.length === 1 ? (offered[0] ?? plain) : plain;
  }
}

/** Omits thinking. The results of calls follow directly after them, each once. */
export function encodeMessages(
  messages: readonly AgentMessage[],
  addition: string | undefined,
  options: EncodeOptions,
): Buffer {
  const elements = new MessagesEncoder(messages, options).run(addition);
  const last = elements.at(-1)?.content.at(-1);
  if (last && options.mayMark && acceptsMark(options.request)) last["cache_control"] = { type: "ephemeral" };
  return Buffer.from(elements.map((element) => JSON.stringify(element)).join(","));
}
