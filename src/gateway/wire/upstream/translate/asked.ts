/** What a request asks for, in no protocol's words. */
import type { AgentMessage, UserMessage } from "../../../../contract/message.ts";
import type { ThinkingLevel } from "../../../../model/types.ts";
import type { WireItem, WireRequest } from "../../dialect/dialect.ts";
import { parsePart } from "../../json/scan.ts";
import { fieldsOf, type Fields } from "../../json/fields.ts";
import type { OfferedTool } from "./tools.ts";

export interface Asked {
  /** Rules of the fixed prefix, joined. */
  system: string;
  /** All that is behind the prefix, in order, as it was said. Names of tools are the harness's. */
  messages: AgentMessage[];
  /** How many of them later requests will have too: those before the live turn. */
  historyCount: number;
  tools: readonly OfferedTool[];
  maxOutputTokens?: number;
  thinking?: ThinkingLevel;
  /** The harness takes a summary of all this and no answer: the dialect knows in which form. */
  wantsSummary?: boolean;
}

/** Words of a developer in the middle of a conversation; the model's room knows whether they may stand there as such. */
export function ruleMessage(content: string): UserMessage {
  return { role: "user", content, fragment: { key: "instructions", kind: "application" } };
}

/** How a protocol's elements are read: rules of the prefix, and messages behind it. */
interface ElementReader {
  /** Of an element of the fixed prefix; undefined for one that is no rule and stands with the messages. */
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
    const element = fieldsOf(parsePart(body, item));
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
  return {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(thinking === undefined ? {} : { thinking }),
  };
}
