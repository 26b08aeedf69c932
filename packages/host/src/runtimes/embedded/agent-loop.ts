/** The loop: assemble, stream, run the tool calls, until the model is done, the turn is aborted or out of steps. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn, HarnessTurnResult } from "@pagurus/contract/harness/harness";
import type { Usage } from "@pagurus/contract/message";
import { streamAnswer, type CallModel, type StreamedAnswer } from "./embedded-stream.ts";
import { runToolCalls, toolCalls } from "./embedded-tools.ts";
import { defined } from "@pagurus/core/data/defined";

export async function runLoop(turn: HarnessTurn, callModel: CallModel): Promise<HarnessTurnResult> {
  let usage: Usage = { input: 0, output: 0, totalTokens: 0 };
  for (let step = 0; step < turn.maxSteps; step++) {
    await turn.io.takeInputs();
    if (turn.signal.aborted) return { stopReason: "aborted", usage };
    const { message, aborted, cache } = await answer(turn, callModel);
    if (message.usage) {
      usage = message.usage;
      turn.context.receipt({ usage: message.usage, ...defined({ cache }) });
      await turn.io.emit({ type: "usage", usage: message.usage });
    }
    if (message.content.length > 0) await turn.io.emit({ type: "message", message });
    if (aborted) return { stopReason: "aborted", usage };
    const calls = toolCalls(message);
    if (calls.length > 0) {
      await runToolCalls(turn, calls, message.stopReason === "length");
      continue;
    }
    if ((await turn.io.takeInputs()).length > 0) continue;
    return { stopReason: message.stopReason === "length" ? "length" : "stop", usage };
  }
  return { stopReason: "max_steps", usage };
}

/** Takes up a turn that a crash cut off: runs the calls that had not begun. Returns its result where the last answer is recorded. */
export async function takeUp(turn: HarnessTurn): Promise<HarnessTurnResult | undefined> {
  const messages = turn.context.messages();
  const last = messages.findLast((message) => message.role === "assistant");
  if (last?.role !== "assistant") return undefined;
  if (last === messages.at(-1) && toolCalls(last).length === 0)
    return {
      stopReason: last.stopReason === "length" ? "length" : "stop",
      usage: last.usage ?? { input: 0, output: 0, totalTokens: 0 },
    };
  const answered = new Set(messages.flatMap((each) => (each.role === "toolResult" ? [each.toolCallId] : [])));
  const open = toolCalls(last).filter(({ id }) => !answered.has(id));
  if (open.length > 0) await runToolCalls(turn, open, last.stopReason === "length");
  return undefined;
}

/**
 * One model call. Repeated once after a compaction when the provider finds the context too long, and with the next fallback model when
 * the call failed before any text of it was shown.
 */
async function answer(turn: HarnessTurn, callModel: CallModel): Promise<StreamedAnswer> {
  let context = await turn.context.assemble();
  const progress = { shown: false };
  for (;;) {
    turn.context.receipt({});
    try {
      return await streamAnswer(turn, context, callModel, progress);
    } catch (error) {
      const failure = toPagurusError(error, "model_bad_response");
      context =
        failure.code === "context_overflow"
          ? await turn.context.assemble({ overflow: { message: failure.message } })
          : await turn.context.fallback(failure, progress);
    }
  }
}
