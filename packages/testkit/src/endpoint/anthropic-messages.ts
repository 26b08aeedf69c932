import {
  stepArguments,
  deltas,
  jsonFrame,
  stopOfStep,
  type Frame,
  type ReplyContext,
  type ReplyStep,
  type ReplyUsage,
} from "./script.ts";
import { defined } from "@pagurus/core/data/defined";

const STOP = { stop: "end_turn", toolUse: "tool_use", length: "max_tokens", refused: "refusal" };

/** The events of Anthropic's Messages API, `message_start` to `message_stop`, with a ping. */
export function anthropicMessages(step: ReplyStep, context: ReplyContext): Frame[] {
  const frames: Frame[] = [];
  const emit = (type: string, fields: Record<string, unknown> = {}): void => {
    frames.push(jsonFrame({ type, ...fields }, type));
  };
  let index = 0;
  const block = (content_block: unknown, pieces: Record<string, unknown>[]): void => {
    emit("content_block_start", { index, content_block });
    if (index === 0) emit("ping");
    for (const delta of pieces) emit("content_block_delta", { index, delta });
    emit("content_block_stop", { index });
    index++;
  };
  const usage = context.usage ?? { input: 0, output: 0 };
  emit("message_start", {
    message: {
      id: `msg_${context.index}`,
      type: "message",
      role: "assistant",
      model: context.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...defined({ diagnostics: step.cacheDiagnostics }),
      usage: {
        input_tokens: usage.input,
        cache_creation_input_tokens: usage.cacheWrite ?? 0,
        cache_read_input_tokens: usage.cacheRead ?? 0,
        output_tokens: Math.min(usage.output, 1),
      },
    },
  });
  if (step.thinking) thinkingBlock(step, block);
  if (step.text !== undefined) {
    const pieces = deltas(step.text, step).map((text) => ({ type: "text_delta", text }));
    block({ type: "text", text: "" }, pieces);
  }
  for (const [position, call] of (step.toolCalls ?? []).entries()) {
    const parts = deltas(stepArguments(step, position), step);
    const pieces = parts.map((partial_json) => ({ type: "input_json_delta", partial_json }));
    const name = call.namespace === undefined ? call.name : `${call.namespace}__${call.name}`;
    block({ type: "tool_use", id: call.id, name, input: {} }, pieces);
  }
  if (step.errorEvent) {
    emit("error", { error: { type: step.errorEvent.code, message: step.errorEvent.message } });
    return frames;
  }
  if (step.omitEnd) return frames;
  emit("message_delta", {
    delta: { stop_reason: STOP[stopOfStep(step)], stop_sequence: null },
    usage: { output_tokens: usage.output, ...iterationsOf(usage) },
  });
  emit("message_stop");
  return frames;
}

/** Of an answer before which the provider compacted the conversation. */
function iterationsOf({ input, output, compaction }: ReplyUsage): { iterations?: object[] } {
  if (!compaction) return {};
  const counts = { input_tokens: compaction.input, output_tokens: compaction.output };
  return {
    iterations: [
      { type: "compaction", ...counts },
      { type: "message", input_tokens: input, output_tokens: output },
    ],
  };
}

function thinkingBlock(
  step: ReplyStep,
  block: (content: unknown, pieces: Record<string, unknown>[]) => void,
): void {
  const { text, signature, redacted } = step.thinking ?? { text: "" };
  if (redacted) {
    block({ type: "redacted_thinking", data: signature }, []);
    return;
  }
  const pieces: Record<string, unknown>[] = deltas(text, step).map((thinking) => ({
    type: "thinking_delta",
    thinking,
  }));
  if (signature !== undefined) pieces.push({ type: "signature_delta", signature });
  block({ type: "thinking", thinking: "", signature: "" }, pieces);
}
