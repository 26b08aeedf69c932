/**
 * A summary in the form of a provider's compaction: the program keeps the element and sends it with every request. Only the gateway can
 * read it, so it has to recognize it and replace it with text.
 */
import { defined } from "@pagurus/core/data/defined";

const START = "pagurus:summary:1";
/** The mark, and the name of the conversation if the gateway made it from the conversation's first words. */
const MARK = new RegExp(String.raw`^${START}(?::([\w-]+))?\n`);

export interface Unsealed {
  summary: string;
  contentId?: string;
}

export function sealed({ summary, contentId }: Unsealed): string {
  return `${START}${contentId === undefined ? "" : `:${contentId}`}\n${summary}`;
}

/** False for a request without a summary of the gateway, from its bytes alone. */
export function mayHaveSealed(body: Buffer): boolean {
  return body.includes(START);
}

/** Undefined for content that another program made. */
export function unsealed(content: unknown): Unsealed | undefined {
  const mark = typeof content === "string" ? MARK.exec(content) : null;
  if (!mark) return undefined;
  const [head, contentId] = mark;
  const summary = mark.input.slice(head.length);
  return { summary, ...defined({ contentId }) };
}
