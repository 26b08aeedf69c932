import {
  stepArguments,
  deltas,
  jsonFrame,
  stopOfStep,
  type Frame,
  type ReplyContext,
  type ReplyStep,
} from "./script.ts";

/** The events of OpenAI's Responses API, `response.created` to `response.completed`. */
export function openAiResponses(step: ReplyStep, context: ReplyContext): Frame[] {
  const writer = new ResponseWriter(context);
  writer.open();
  if (step.thinking) writer.reasoning(step);
  if (step.text !== undefined) writer.message(step, step.text);
  for (const index of (step.toolCalls ?? []).keys()) writer.call(step, index);
  if (step.errorEvent) writer.failed(step.errorEvent);
  else if (!step.omitEnd) writer.close(step);
  return writer.frames;
}

class ResponseWriter {
  readonly frames: Frame[] = [];
  readonly #context: ReplyContext;
  readonly #output: unknown[] = [];
  #sequence = 0;

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  #emit(type: string, fields: Record<string, unknown>): void {
    this.frames.push(jsonFrame({ type, sequence_number: this.#sequence++, ...fields }, type));
  }

  #response(status: string, extra: Record<string, unknown> = {}): Record<string, unknown> {
    const { index, model } = this.#context;
    return {
      id: `resp_${index}`,
      object: "response",
      created_at: 1_760_000_000,
      status,
      model,
      error: null,
      incomplete_details: null,
      output: status === "in_progress" ? [] : this.#output,
      store: false,
      usage: null,
      ...extra,
    };
  }

  open(): void {
    this.#emit("response.created", { response: this.#response("in_progress") });
    this.#emit("response.in_progress", { response: this.#response("in_progress") });
  }

  reasoning(step: ReplyStep): void {
    const output_index = this.#output.length;
    const id = `rs_${this.#context.index}_${output_index}`;
    const { text, signature } = step.thinking ?? { text: "" };
    const added = { id, type: "reasoning", summary: [], encrypted_content: signature ? "partial" : null };
    this.#emit("response.output_item.added", { output_index, item: added });
    const at = { item_id: id, output_index, summary_index: 0 };
    const summary = text === "" ? [] : [{ type: "summary_text", text }];
    if (text !== "") {
      this.#emit("response.reasoning_summary_part.added", {
        ...at,
        part: { type: "summary_text", text: "" },
      });
      for (const delta of deltas(text, step))
        this.#emit("response.reasoning_summary_text.delta", { ...at, delta });
      this.#emit("response.reasoning_summary_text.done", { ...at, text });
      this.#emit("response.reasoning_summary_part.done", { ...at, part: summary[0] });
    }
    const item = { id, type: "reasoning", summary, encrypted_content: signature ?? null };
    this.#emit("response.output_item.done", { output_index, item });
    this.#output.push(item);
  }

  message(step: ReplyStep, text: string): void {
    const output_index = this.#output.length;
    const id = `msg_${this.#context.index}_${output_index}`;
    const item = { id, type: "message", role: "assistant" };
    const at = { item_id: id, output_index, content_index: 0 };
    const part = { type: "output_text", annotations: [], logprobs: [] };
    this.#emit("response.output_item.added", {
      output_index,
      item: { ...item, status: "in_progress", content: [] },
    });
    this.#emit("response.content_part.added", { ...at, part: { ...part, text: "" } });
    for (const delta of deltas(text, step)) {
      this.#emit("response.output_text.delta", { ...at, delta, logprobs: [], obfuscation: "x" });
    }
    this.#emit("response.output_text.done", { ...at, text, logprobs: [] });
    this.#emit("response.content_part.done", { ...at, part: { ...part, text } });
    const done = { ...item, status: "completed", content: [{ ...part, text }] };
    this.#emit("response.output_item.done", { output_index, item: done });
    this.#output.push(done);
  }

  call(step: ReplyStep, index: number): void {
    const call = step.toolCalls?.[index];
    if (!call) return;
    const output_index = this.#output.length;
    const id = `fc_${this.#context.index}_${output_index}`;
    const { namespace } = call;
    const named = namespace === undefined ? {} : { namespace };
    const item = { id, type: "function_call", call_id: call.id, name: call.name, ...named };
    const text = stepArguments(step, index);
    this.#emit("response.output_item.added", {
      output_index,
      item: { ...item, status: "in_progress", arguments: "" },
    });
    for (const delta of deltas(text, step)) {
      this.#emit("response.function_call_arguments.delta", { item_id: id, output_index, delta });
    }
    this.#emit("response.function_call_arguments.done", { item_id: id, output_index, arguments: text });
    const done = { ...item, status: "completed", arguments: text };
    this.#emit("response.output_item.done", { output_index, item: done });
    this.#output.push(done);
  }

  failed(error: { code: string; message: string }): void {
    this.#emit("response.failed", { response: this.#response("failed", { error }) });
  }

  close(step: ReplyStep): void {
    const { usage } = this.#context;
    const cached = usage?.cacheRead ?? 0;
    const reported = usage && {
      input_tokens: usage.input + cached,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
      total_tokens: usage.input + cached + usage.output,
    };
    const { cacheDiagnostics: found } = step;
    const diagnosed = found === undefined ? {} : { prompt_cache_diagnostics: found };
    const stop = stopOfStep(step);
    const reason = { length: "max_output_tokens", refused: "content_filter", stop: "", toolUse: "" }[stop];
    if (reason === "") {
      this.#emit("response.completed", {
        response: this.#response("completed", { usage: reported, ...diagnosed }),
      });
      return;
    }
    const extra = { usage: reported, ...diagnosed, incomplete_details: { reason } };
    this.#emit("response.incomplete", { response: this.#response("incomplete", extra) });
  }
}
