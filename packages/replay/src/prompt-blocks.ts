/** The parts of a prompt's messages, for the caches of providers and for the search of strings. */
import { createHash } from "node:crypto";
import { summaryPieces } from "@pagurus/core/compaction/summary/summary-pieces";
import type { AgentMessage } from "@pagurus/contract/message";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";

export interface Block {
  /** The same for blocks with the same bytes. */
  id: number;
  /** Calibrated. */
  tokens: number;
  /** The text in it that a model can read. */
  text: string;
}

type Part = Exclude<AgentMessage["content"], string>[number];

function collect(value: unknown, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (typeof value === "number") into.push(String(value));
  else if (Array.isArray(value)) for (const item of value) collect(item, into);
  else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) collect(item, into);
  }
}

/** The text of a part; arguments of calls without the escapes of JSON. */
function textOfPart(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "thinking":
      return part.thinking;
    case "toolCall": {
      const texts = [part.name];
      collect(part.arguments, texts);
      return texts.join("\n");
    }
    default:
      return "";
  }
}

/** The text of a message, of all its parts. */
export function textOfMessage(message: AgentMessage): string {
  return partsOf(message).map(textOfPart).join("\n");
}

function partsOf(message: AgentMessage): readonly Part[] {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

/** A summary is sent, and cached by a provider, in its pieces. */
function sentParts(message: AgentMessage): readonly Part[] {
  if (typeof message.content !== "string") return message.content;
  return summaryPieces(message.content).map((text) => ({ type: "text", text }));
}

/** A text content and the same text as a part are the same bytes to a provider. */
function partBytes(message: AgentMessage, part: Part): string {
  if (message.role !== "toolResult") return JSON.stringify([message.role, part]);
  return JSON.stringify([message.role, message.toolCallId, message.isError, part]);
}

/** Splits messages into blocks; equal bytes get equal ids, however often and by whom they are made. */
export class Blocks {
  readonly #factor: number;
  readonly #ids = new Map<string, number>();
  readonly #made = new WeakMap<AgentMessage, readonly Block[]>();

  constructor(factor: number) {
    this.#factor = factor;
  }

  of(message: AgentMessage): readonly Block[] {
    const known = this.#made.get(message);
    if (known) return known;
    const parts = sentParts(message);
    const tokens = Math.round(messageTokens(message) * this.#factor);
    const shares = parts.map((part) => messageTokens({ role: "user", content: [part] as never }));
    const whole = shares.reduce((sum, share) => sum + share, 0) || 1;
    let given = 0;
    const blocks = parts.map((part, index) => {
      // The rest goes to the last block, so that the blocks have the tokens of the message.
      const last = index === parts.length - 1;
      const share = last ? tokens - given : Math.round((tokens * (shares[index] ?? 0)) / whole);
      given += share;
      return { id: this.#id(partBytes(message, part)), tokens: share, text: textOfPart(part) };
    });
    this.#made.set(message, blocks);
    return blocks;
  }

  /** A block of text that is no message, such as the addition to a system prompt. */
  text(text: string): Block {
    const tokens = Math.round(estimateTokens(text) * this.#factor);
    return { id: this.#id(`text:${text}`), tokens, text };
  }

  #id(bytes: string): number {
    const key = bytes.length < 64 ? bytes : createHash("sha1").update(bytes).digest("base64");
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#ids.set(key, this.#ids.size + 1);
    return this.#ids.size;
  }
}
