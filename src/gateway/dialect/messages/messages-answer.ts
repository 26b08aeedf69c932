/** Builds an answer from the events of a stream, or from one body. */
import type { AssistantMessage, StopReason, Usage } from "../../../contract/message.ts";
import {
  countOf,
  type Fields,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "../../../data/record-fields.ts";
import type { WireAnswer } from "../wire-dialect.ts";
import { answerPart } from "./messages-decode.ts";

const STOPS: Readonly<Record<string, StopReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "error",
};

/** A block that may not have ended yet. */
interface Growing {
  fields: Record<string, unknown>;
  json: string;
  isWhole: boolean;
}

/** Counts that the API repeats as they grow; a later one replaces an earlier one. */
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

  /** Reads a whole message, or the beginning of one. */
  message(message: Fields): void {
    this.#model = stringOf(message["model"]);
    this.usage(message["usage"]);
    this.stop(message["stop_reason"]);
    for (const [index, block] of recordsOf(message["content"]).entries())
      this.#blocks.set(index, { fields: { ...block }, json: "", isWhole: true });
  }

  started({ index, content_block: block }: Fields): void {
    const at = countOf(index);
    if (at === undefined) return;
    this.#blocks.set(at, { fields: { ...recordOf(block) }, json: "", isWhole: false });
  }

  grew({ index, delta }: Fields): void {
    const block = this.#blocks.get(countOf(index) ?? -1);
    if (!block) return;
    const { type, text, thinking, signature, partial_json: json } = recordOf(delta);
    const { fields } = block;
    if (type === "text_delta") fields["text"] = stringOf(fields["text"]) + stringOf(text);
    else if (type === "thinking_delta")
      fields["thinking"] = stringOf(fields["thinking"]) + stringOf(thinking);
    else if (type === "signature_delta")
      fields["signature"] = stringOf(fields["signature"]) + stringOf(signature);
    else if (type === "input_json_delta") block.json += stringOf(json);
  }

  ended({ index }: Fields): void {
    const block = this.#blocks.get(countOf(index) ?? -1);
    if (block) block.isWhole = true;
  }

  usage(value: unknown): void {
    const usage = recordOf(value);
    const set = (name: keyof Counts, reported: unknown): void => {
      const count = countOf(reported);
      if (count !== undefined) this.#counts[name] = count;
    };
    set("input", usage["input_tokens"]);
    set("output", usage["output_tokens"]);
    set("cacheRead", usage["cache_read_input_tokens"]);
    set("cacheWrite", usage["cache_creation_input_tokens"]);
    set("reasoning", recordOf(usage["output_tokens_details"])["thinking_tokens"]);
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

  /** Omits a truncated call: half of its arguments may mean something else. */
  #content(): AssistantMessage["content"] {
    const inOrder = [...this.#blocks].toSorted(([one], [other]) => one - other);
    return inOrder.flatMap(([, { fields, json, isWhole }]) => {
      const isCall = fields["type"] === "tool_use";
      if (isCall && !isWhole) return [];
      const input = isCall && json.trim() !== "" ? { input: parseRecord(json) ?? json } : {};
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
