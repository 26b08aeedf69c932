/** An answer as it comes together from the events of a stream, or from one body. */
import type { AssistantMessage, StopReason, Usage } from "../../../../contract/message.ts";
import type { WireAnswer } from "../dialect.ts";
import { answerPart } from "./decode.ts";
import { countOf, fieldsOf, listOf, parsedFields, textOf, type Fields } from "../../json/fields.ts";

const STOPS: Readonly<Record<string, StopReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "error",
};

/** A block whose end may not have come. */
interface Growing {
  fields: Record<string, unknown>;
  json: string;
  isWhole: boolean;
}

/** Counts that the API repeats as they grow; a later one stands for an earlier one. */
interface Counts {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  reasoning?: number;
}

export class AnswerParts {
  readonly #blocks = new Map<number, Growing>();
  readonly #counts: Counts = {};
  #model = "";
  #stop: StopReason | undefined;
  #isComplete = false;

  /** A whole message, or the beginning of one. */
  message(message: Fields): void {
    this.#model = textOf(message["model"]);
    this.usage(message["usage"]);
    this.stop(message["stop_reason"]);
    for (const [index, block] of listOf(message["content"]).entries())
      this.#blocks.set(index, { fields: { ...block }, json: "", isWhole: true });
  }

  started({ index, content_block: block }: Fields): void {
    const at = countOf(index);
    if (at === undefined) return;
    this.#blocks.set(at, { fields: { ...fieldsOf(block) }, json: "", isWhole: false });
  }

  grew({ index, delta }: Fields): void {
    const block = this.#blocks.get(countOf(index) ?? -1);
    if (!block) return;
    const { type, text, thinking, signature, partial_json: json } = fieldsOf(delta);
    const { fields } = block;
    if (type === "text_delta") fields["text"] = textOf(fields["text"]) + textOf(text);
    else if (type === "thinking_delta") fields["thinking"] = textOf(fields["thinking"]) + textOf(thinking);
    else if (type === "signature_delta")
      fields["signature"] = textOf(fields["signature"]) + textOf(signature);
    else if (type === "input_json_delta") block.json += textOf(json);
  }

  ended({ index }: Fields): void {
    const block = this.#blocks.get(countOf(index) ?? -1);
    if (block) block.isWhole = true;
  }

  usage(value: unknown): void {
    const usage = fieldsOf(value);
    const set = (name: keyof Counts, reported: unknown): void => {
      const count = countOf(reported);
      if (count !== undefined) this.#counts[name] = count;
    };
    set("input", usage["input_tokens"]);
    set("output", usage["output_tokens"]);
    set("cacheRead", usage["cache_read_input_tokens"]);
    set("cacheWrite", usage["cache_creation_input_tokens"]);
    set("reasoning", fieldsOf(usage["output_tokens_details"])["thinking_tokens"]);
  }

  stop(reason: unknown): void {
    if (typeof reason === "string") this.#stop = STOPS[reason] ?? "stop";
  }

  complete(): void {
    this.#isComplete = true;
  }

  end(error: WireAnswer["error"]): WireAnswer {
    const usage = this.#usage();
    const message: AssistantMessage = {
      role: "assistant",
      content: this.#content(),
      ...(this.#model === "" ? {} : { model: this.#model }),
      ...(usage ? { usage } : {}),
      ...(this.#stop ? { stopReason: this.#stop } : {}),
      ...(error ? { stopReason: "error" as const, errorMessage: error.message } : {}),
    };
    return {
      message,
      isComplete: this.#isComplete && error === undefined,
      ...(usage ? { usage } : {}),
      ...(error ? { error } : {}),
    };
  }

  /** A call that was cut is none: half of its arguments may mean something else. */
  #content(): AssistantMessage["content"] {
    const inOrder = [...this.#blocks].toSorted(([one], [other]) => one - other);
    return inOrder.flatMap(([, { fields, json, isWhole }]) => {
      const isCall = fields["type"] === "tool_use";
      if (isCall && !isWhole) return [];
      const input = isCall && json.trim() !== "" ? { input: parsedFields(json) ?? json } : {};
      const part = answerPart({ ...fields, ...input });
      return part ? [part] : [];
    });
  }

  #usage(): Usage | undefined {
    const { input, output, cacheRead, cacheWrite, reasoning } = this.#counts;
    if (input === undefined && output === undefined) return undefined;
    const all = (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0) + (output ?? 0);
    return {
      input: input ?? 0,
      output: output ?? 0,
      ...(cacheRead === undefined ? {} : { cacheRead }),
      ...(cacheWrite === undefined ? {} : { cacheWrite }),
      ...(reasoning === undefined ? {} : { reasoning }),
      totalTokens: all,
    };
  }
}
