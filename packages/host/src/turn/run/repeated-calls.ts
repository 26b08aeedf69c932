/** Detects a model that repeats the same failing call: reports it to the model, then ends the turn. */
import { hash } from "node:crypto";
import { PagurusError } from "@pagurus/contract/errors";
import type { ToolCallPart } from "@pagurus/contract/message";
import type { ToolOutcome, ToolSet } from "@pagurus/contract/harness/tool";
import { boundedArguments } from "@pagurus/core/platform/call-arguments";

/** Count of equal failures from which each result has a warning. */
const REPORTED = 5;
/** Count of equal failures that ends the turn. */
const LAST = 10;

/** Read-only tools: after their success a failed call fails just as before. The success of any other tool may change something. */
const LOOKING = new Set(
  "read glob search web_fetch update_plan memory_search context_search context_describe context_expand".split(
    " ",
  ),
);

/** Normalizes numbers, so that results match when only a process id, a time or a duration differs. */
function likeness({ content }: ToolOutcome): string {
  return hash("sha1", JSON.stringify(content).replaceAll(/\d+/g, "0"));
}

/**
 * The same tools with the limit. Failures are equal when tool, arguments and result (but for its numbers) are; a call that succeeds for the
 * first time and may have changed something is progress and resets the counts. `stop` ends the turn.
 */
export function withRepeatLimit(tools: ToolSet, stop: (error: PagurusError) => void): ToolSet {
  const failures = new Map<string, number>();
  const succeeded = new Set<string>();
  const seen = (call: ToolCallPart, outcome: ToolOutcome): ToolOutcome => {
    const made = hash("sha1", JSON.stringify([call.name, boundedArguments(call.arguments)]));
    if (!outcome.isError) {
      if (!succeeded.has(made) && !LOOKING.has(call.name)) failures.clear();
      succeeded.add(made);
      return outcome;
    }
    const key = `${made} ${likeness(outcome)}`;
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    if (count < REPORTED) return outcome;
    if (count >= LAST) stop(repeatLimit(call.name));
    const text =
      `This call has failed in the same way ${count} times in this turn; after ${LAST} times the turn ends. ` +
      "Do not repeat it: do something else, or say what is in the way.";
    return { ...outcome, content: [...outcome.content, { type: "text", text }] };
  };
  return {
    get specs() {
      return tools.specs;
    },
    get fingerprint() {
      return tools.fingerprint;
    },
    call: async (call, signal) => seen(call, await tools.call(call, signal)),
    permits: (call, signal) => tools.permits(call, signal),
    expect: () => tools.expect?.(),
  };
}

function repeatLimit(tool: string): PagurusError {
  return new PagurusError(
    "repeat_limit",
    `A call of the tool "${tool}" failed in the same way ${LAST} times, so the turn was ended; read the last result, then say what to do instead, or choose another model.`,
    { details: { tool, repeats: LAST } },
  );
}
