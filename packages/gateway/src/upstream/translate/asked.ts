/** Content of a request, independent of the protocol. */
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import { type Fields, recordOf } from "@pagurus/core/data/record-fields";
import type { AnswerShape, ThinkingLevel } from "@pagurus/core/model/provider-types";
import type { WireItem, WireRequest } from "../../dialect/wire-dialect.ts";
import { parsePart } from "../../json/scan.ts";
import type { OfferedTool } from "./translate-tools.ts";
import { defined } from "@pagurus/core/data/defined";

export interface Asked {
  /** Rules of the fixed prefix, joined. */
  system: string;
  /** Everything after the prefix, in order. Tools have the harness's names. */
  messages: AgentMessage[];
  /** Number of messages before the live turn, which later requests will contain too. */
  historyCount: number;
  tools: readonly OfferedTool[];
  maxOutputTokens?: number;
  thinking?: ThinkingLevel;
  shape: AnswerShape;
  /** The harness expects a summary instead of an answer; the dialect knows its form. */
  wantsSummary?: boolean;
}

/** Developer text in the middle of a conversation; the model layer decides whether it may keep that role. */
export function ruleMessage(content: string): UserMessage {
  return { role: "user", content, fragment: { key: "instructions", kind: "application" } };
}

/** How a protocol's elements are read: rules of the prefix, and messages after it. */
interface ElementReader {
  /** Text of an element of the fixed prefix; undefined for one that is no rule and belongs to the messages. */
  rule(element: Fields): string | undefined;
  messages(element: Fields, item: WireItem): readonly AgentMessage[];
}

/** Throws `JsonScanError`. */
export function readElements(
  { body, items, prefixCount, liveFrom }: WireRequest,
  reader: ElementReader,
): Pick<Asked, "messages" | "historyCount"> & { rules: string[] } {
  const rules: string[] = [];
  const messages: AgentMessage[] = [];
  let historyCount = 0;
  for (const [index, item] of items.entries()) {
    if (index === liveFrom) historyCount = messages.length;
    const element = recordOf(parsePart(body, item));
    const rule = index < prefixCount ? reader.rule(element) : undefined;
    if (rule === undefined) messages.push(...reader.messages(element, item));
    else if (rule !== "") rules.push(rule);
  }
  return { rules, messages, historyCount: liveFrom >= items.length ? messages.length : historyCount };
}

/** Members of `Asked` that may be absent. */
export function limits(
  maxOutputTokens: number | undefined,
  thinking: ThinkingLevel | undefined,
): Pick<Asked, "maxOutputTokens" | "thinking"> {
  return defined({ maxOutputTokens, thinking });
}
