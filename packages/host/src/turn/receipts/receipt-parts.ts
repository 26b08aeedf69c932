import { createHash } from "node:crypto";
import type { AgentMessage } from "@pagurus/contract/message";
import type { PartSource, ReceiptPart } from "@pagurus/contract/session/receipt";
import type { ToolSpec } from "@pagurus/contract/harness/tool";
import { isRecallBlock } from "@pagurus/contract/engine/recall-block";
import { readSummary } from "@pagurus/contract/engine/summary";
import { keepingRecent } from "@pagurus/core/data/recent-texts";
import { nextSlice, Pace } from "@pagurus/core/platform/pace";
import { isFragment } from "../fragments/fragment-place.ts";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { repeatedTextTokens } from "@pagurus/core/tokens/repeated-text";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { defined } from "@pagurus/core/data/defined";

/** A piece of the system prompt, in prompt order. */
export interface SystemPiece {
  source: Extract<PartSource, "system" | "addition" | "instructions" | "memory">;
  text: string;
  path?: string;
  /** Set when only part of a file is sent. */
  trimmed?: { fromBytes: number; toBytes: number };
}

interface Measure {
  hash: string;
  bytes: number;
}
// Messages are immutable once recorded, so each object is measured once.
const measures = new WeakMap<AgentMessage, Measure>();

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

type TextMeasure = Pick<ReceiptPart, "tokens" | "bytes" | "hash">;

/** Parts of the system prompts and catalogs of tools of a few agents. */
const MOST_TEXTS = 32;

/** Receipt fields of a text that is not in a message. */
export function textMeasure(text: string): TextMeasure {
  return measureOf(text, estimateTokens(text));
}

function measureOf(text: string, tokens: number): TextMeasure {
  return { tokens, bytes: Buffer.byteLength(text), hash: digest(text) };
}

/** The same of a text that most requests repeat; its tokens are counted for the limit of the answer too. */
const repeatedMeasure = keepingRecent((text) => measureOf(text, repeatedTextTokens(text)), MOST_TEXTS);

function measure(message: AgentMessage): Measure {
  const known = measures.get(message);
  if (known) return known;
  const text = JSON.stringify(sentFields(message));
  const made = { hash: digest(text), bytes: Buffer.byteLength(text) };
  measures.set(message, made);
  return made;
}

/** Measures messages as `receiptParts` does, and lets others run between long ones. */
export async function measureMessages(messages: readonly AgentMessage[]): Promise<void> {
  await nextSlice();
  await new Pace().each(messages, measure);
}

/** The fields that can reach a model, in a fixed order. */
function sentFields(message: AgentMessage): unknown[] {
  if (isFragment(message)) return [message.role, message.content, message.fragment.kind];
  if (message.role === "toolResult")
    return [message.role, message.toolCallId, message.toolName, message.content, message.isError];
  return [message.role, message.content];
}

export interface PartsInput {
  system: readonly SystemPiece[];
  tools: readonly ToolSpec[];
  messages: readonly AgentMessage[];
  /** Index of the live turn's first message. */
  historyCount: number;
  /** Results that were trimmed for this request. */
  trims: ReadonlyMap<AgentMessage, NonNullable<ReceiptPart["trimmed"]>>;
  /** The model has a developer role inside a conversation. */
  developerRole: boolean;
}

/** The parts of one request in the order the model sees them. */
export function receiptParts(input: PartsInput): { parts: ReceiptPart[]; liveFrom: number } {
  const parts: ReceiptPart[] = input.system.map((piece) => ({
    source: piece.source,
    role: "system",
    ...defined({ path: piece.path, trimmed: piece.trimmed }),
    ...repeatedMeasure(piece.text),
  }));
  if (input.tools.length > 0) {
    const text = JSON.stringify(input.tools);
    parts.push({
      source: "tools",
      role: "system",
      ...repeatedMeasure(text),
    });
  }
  const liveFrom = parts.length + input.historyCount;
  for (const [index, message] of input.messages.entries()) {
    const trimmed = input.trims.get(message);
    parts.push({
      source: messageSource(message, index >= input.historyCount),
      role: input.developerRole && isDeveloper(message) ? "system" : message.role,
      ...defined({ entryId: message.entryId }),
      tokens: messageTokens(message),
      ...measure(message),
      ...defined({ trimmed }),
    });
  }
  return { parts, liveFrom };
}

function isDeveloper(message: AgentMessage): boolean {
  return isFragment(message) && message.fragment.kind === "application";
}

function messageSource(message: AgentMessage, live: boolean): PartSource {
  if (isFragment(message)) return "fragment";
  if (message.role === "user") {
    const first = typeof message.content === "string" ? message.content : message.content[0];
    const text = typeof first === "string" ? first : first?.type === "text" ? first.text : "";
    if (readSummary(text) !== undefined) return "head";
    if (isRecallBlock(text)) return "recall";
  }
  return live ? "live" : "history";
}

/** Length of the prefix that a request shares with the one before it. */
export function sharedPrefix(
  parts: readonly ReceiptPart[],
  previous: readonly ReceiptPart[] | undefined,
): { sharedParts: number; sharedTokens: number } {
  let sharedParts = 0;
  let sharedTokens = 0;
  for (const part of parts) {
    if (previous?.[sharedParts]?.hash !== part.hash) break;
    sharedParts += 1;
    sharedTokens += part.tokens;
  }
  return { sharedParts, sharedTokens };
}
