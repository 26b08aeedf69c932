/** The text that the summarizing policies put in front of the kept messages. */
import {
  identifierLines,
  summarizeExtractively,
} from "../../../packages/core/src/compaction/summary/extract.ts";
import { surveyStrings } from "../../../packages/core/src/compaction/summary/identifiers.ts";
import { renderSections } from "../../../packages/core/src/compaction/summary/sections.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { renderSummary } from "../../../packages/contract/src/engine/summary.ts";
import { Pace } from "../../../packages/core/src/platform/pace.ts";

/**
 * How a summary is written. `blank`: meaningless words, the size of the budget (how the published simulation counted a
 * model's summary). `extract`: the extractive summarizer without its list of exact strings.
 */
export type Writing = "blank" | "extract";

export interface HeadStyle {
  writing: Writing;
  /** Half of the budget is a list of the rare strings that the agent itself used. */
  strings: boolean;
}

export function styleName({ writing, strings }: HeadStyle): string {
  return `${writing} summary${strings ? " + rare strings" : ""}`;
}

const FILLER = "what was done before this point is told here in so many plain words again ";

/** A summary of about `maxTokens` (as the estimator counts). `number` keeps blank ones apart. */
export async function writeSummary(
  writing: Writing,
  span: { messages: readonly AgentMessage[]; previousSummary?: string | undefined; number: number },
  maxTokens: number,
): Promise<string> {
  if (writing === "blank") {
    return `${span.number}. ${FILLER.repeat(Math.max(1, Math.floor(maxTokens / 15)))}`;
  }
  const previous = span.previousSummary;
  return summarizeExtractively({
    messages: span.messages,
    maxTokens,
    identifierPolicy: "off",
    ...(previous === undefined ? {} : { previousSummary: previous }),
  });
}

/** A list of the rare strings of messages, best first, within `maxTokens`. */
export async function writeStrings(
  messages: readonly AgentMessage[],
  shown: string,
  maxTokens: number,
): Promise<string> {
  const strings = await surveyStrings(messages, new Pace());
  return renderSections(identifierLines(strings, undefined, shown, maxTokens));
}

export function headMessage(text: string): AgentMessage {
  return { role: "user", content: renderSummary(text) };
}
