import type { HarnessTurn } from "../../contract/harness.ts";
import type { AssistantMessage, ToolCallPart, ToolResultMessage } from "../../contract/message.ts";
import type { ToolOutcome } from "../../contract/tool.ts";

const ABORTED = "The turn was aborted before this tool call finished; its outcome is unknown.";

export function toolCalls(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter((part) => part.type === "toolCall");
}

/** Runs the calls of one answer at the same time; each result is recorded as soon as it is there. */
export async function runToolCalls(turn: HarnessTurn, calls: readonly ToolCallPart[]): Promise<void> {
  await Promise.all(calls.map((call) => runToolCall(turn, call)));
}

async function runToolCall(turn: HarnessTurn, call: ToolCallPart): Promise<void> {
  const { id: toolCallId, name: toolName } = call;
  await turn.emit({ type: "tool.started", toolCallId, toolName, arguments: call.arguments });
  const outcome = await untilAborted(turn, call);
  await turn.emit({ type: "tool.completed", toolCallId, toolName, outcome });
  const message: ToolResultMessage = {
    role: "toolResult",
    toolCallId,
    toolName,
    content: outcome.content,
    isError: outcome.isError,
    timestamp: Date.now(),
  };
  await turn.emit({ type: "message", message });
}

/** How long a tool may take to end itself after an abort, ms; then its result is written without it. */
const ABORT_GRACE_MS = 3_000;

async function untilAborted(turn: HarnessTurn, call: ToolCallPart): Promise<ToolOutcome> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<ToolOutcome>((resolve) => {
    onAbort = () => {
      timer = setTimeout(
        () => resolve({ content: [{ type: "text", text: ABORTED }], isError: true }),
        ABORT_GRACE_MS,
      );
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
