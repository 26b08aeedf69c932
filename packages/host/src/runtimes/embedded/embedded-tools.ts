import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AssistantMessage, ToolCallPart, ToolResultMessage } from "@pagurus/contract/message";
import { REFUSED_ARGUMENTS } from "@pagurus/core/platform/call-arguments";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";

const ABORTED = "The turn was aborted before this tool call finished; its outcome is unknown.";
const CUT = { [REFUSED_ARGUMENTS]: "came in an answer that was cut at the output limit" };

function failed(text: string): ToolOutcome {
  return { content: [{ type: "text", text }], isError: true };
}

export function toolCalls(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter((part) => part.type === "toolCall");
}

/**
 * Runs the calls of one answer in parallel; each result is recorded as soon as it is there. `cut`: the answer reached the
 * output limit, so its last call may be incomplete, and none is run.
 */
export async function runToolCalls(
  turn: HarnessTurn,
  calls: readonly ToolCallPart[],
  cut: boolean,
): Promise<void> {
  await Promise.all(calls.map((call) => runToolCall(turn, call, cut)));
}

async function runToolCall(turn: HarnessTurn, call: ToolCallPart, cut: boolean): Promise<void> {
  const { id: toolCallId, name: toolName } = call;
  await turn.io.emit({ type: "tool.started", toolCallId, toolName, arguments: call.arguments });
  const outcome = await callUntilAborted(turn, cut ? { ...call, arguments: CUT } : call);
  await turn.io.emit({ type: "tool.completed", toolCallId, toolName, outcome });
  const message: ToolResultMessage = {
    role: "toolResult",
    toolCallId,
    toolName,
    content: outcome.content,
    isError: outcome.isError,
    timestamp: Date.now(),
  };
  await turn.io.emit({ type: "message", message });
}

/** Grace period for a tool after an abort, ms; then its result is written without it. */
const ABORT_GRACE_MS = 3_000;

async function callUntilAborted(turn: HarnessTurn, call: ToolCallPart): Promise<ToolOutcome> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<ToolOutcome>((resolve) => {
    onAbort = () => {
      timer = setTimeout(() => resolve(failed(ABORTED)), ABORT_GRACE_MS);
    };
    if (turn.signal.aborted) onAbort();
    else turn.signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([turn.tools.call(call, turn.signal), aborted]);
  } finally {
    clearTimeout(timer);
    if (onAbort) turn.signal.removeEventListener("abort", onAbort);
  }
}
