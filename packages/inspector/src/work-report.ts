/** The result of a command or a compaction, as a sentence. */
import type { Work, WorkEvent } from "@pagurus/api/types";
import { count } from "@pagurus/core/data/plain-numbers";
import { serverEvents } from "./server-events.ts";

type Compacted = Extract<WorkEvent, { type: "compaction.report" }>;

function compactionText({ compacted, reason, tokensBefore = 0, tokensAfter = 0 }: Compacted): string {
  if (!compacted) return `Not compacted: ${reason ?? "there is nothing to compact"}.`;
  return `Compacted from ${count(tokensBefore)} to ${count(tokensAfter)} tokens.`;
}

/** Follows the work to its end. Throws as the client does. */
export async function workReport({ id }: Work): Promise<string> {
  let text = "Done.";
  for await (const { event } of serverEvents(
    { work: id },
    { after: 0, signal: new AbortController().signal },
  )) {
    if (event.type === "command.output") text = event.text;
    else if (event.type === "compaction.report") text = compactionText(event);
    else if (event.type === "work.ended" && event.error) text = event.error.message;
    else if (event.type === "work.ended" && event.outcome !== "completed") text = `It was ${event.outcome}.`;
  }
  return text;
}
