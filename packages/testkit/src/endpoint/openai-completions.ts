import {
  stepArguments,
  deltas,
  jsonFrame,
  stopOfStep,
  type Frame,
  type ReplyContext,
  type ReplyStep,
} from "./script.ts";

const FINISH = { stop: "stop", toolUse: "tool_calls", length: "length", refused: "content_filter" };

/** `chat.completion.chunk` events and `[DONE]`, with the usage in a last chunk without choices. */
export function openAiCompletions(step: ReplyStep, context: ReplyContext): Frame[] {
  const frames: Frame[] = [];
  const head = {
    id: `chatcmpl-${context.index}`,
    object: "chat.completion.chunk",
    created: 1_760_000_000,
    model: context.model,
    system_fingerprint: "fp_scripted",
  };
  const emit = (delta: Record<string, unknown>, finish_reason: string | null = null): void => {
    frames.push(jsonFrame({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] }));
  };
  emit({ role: "assistant", content: "" });
  for (const delta of deltas(step.thinking?.text ?? "", step)) emit({ reasoning_content: delta });
  for (const delta of deltas(step.text ?? "", step)) emit({ content: delta });
  for (const [index, call] of (step.toolCalls ?? []).entries()) {
    emit({
      tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }],
    });
    for (const piece of deltas(stepArguments(step, index), step)) {
      emit({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  if (step.errorEvent) {
    frames.push(jsonFrame({ error: { ...step.errorEvent, type: "server_error", param: null } }));
    return frames;
  }
  if (step.omitEnd) return frames;
  emit({}, FINISH[stopOfStep(step)]);
  if (context.usage) frames.push(jsonFrame({ ...head, choices: [], usage: usageOf(context.usage) }));
  frames.push({ data: "[DONE]" });
  return frames;
}

function usageOf(usage: NonNullable<ReplyContext["usage"]>): Record<string, unknown> {
  const cached = usage.cacheRead ?? 0;
  return {
    prompt_tokens: usage.input + cached,
    completion_tokens: usage.output,
    total_tokens: usage.input + cached + usage.output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
}
