/** Builds an answer from the events of a stream, or from one body. */
import type { AssistantMessage, StopReason } from "../../../contract/message.ts";
import {
  countOf,
  type Fields,
  parseRecord,
  recordOf,
  recordsOf,
  filledString,
  stringOf,
} from "../../../data/record-fields.ts";
import type { CacheReport } from "../../../contract/session/receipt.ts";
import { MESSAGES_DIAGNOSING } from "../../../model/quirks/cache-diagnosis.ts";
import { addDelta, type StreamedBlock, streamedBlock } from "../../../protocols/messages/messages-stream.ts";
import { readUsage } from "../../../protocols/messages/messages-usage.ts";
import type { WireAnswer } from "../wire-dialect.ts";
import { filledPart } from "./messages-decode.ts";

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
type Growing = StreamedBlock & { isWhole: boolean };

export class AnswerParts {
  readonly #blocks = new Map<number, Growing>();
  /** Counts that the API repeats as they grow; a later one replaces an earlier one. */
  readonly #counts: Record<string, unknown> = {};
  #model = "";
  #stop: StopReason | undefined;
  #isComplete = false;
  #cache: CacheReport | undefined;

  /** Reads a whole message, or the beginning of one. */
  message(message: Fields): void {
    this.#model = stringOf(message["model"]);
    const responseId = filledString(message["id"]);
    const diagnosis = MESSAGES_DIAGNOSING.read(message);
    this.#cache = {
      ...(responseId === undefined ? {} : { responseId }),
      ...(diagnosis ? { diagnosis } : {}),
    };
    this.usage(message["usage"]);
    this.stop(message["stop_reason"]);
    for (const [index, block] of recordsOf(message["content"]).entries())
      this.#blocks.set(index, { ...streamedBlock(block), isWhole: true });
  }

  started({ index, content_block: block }: Fields): void {
    const at = countOf(index);
    if (at === undefined) return;
    this.#blocks.set(at, { ...streamedBlock(recordOf(block)), isWhole: false });
  }

  grew({ index, delta }: Fields): void {
    const block = this.#blocks.get(countOf(index) ?? -1);
    if (block) addDelta(block, recordOf(delta));
  }

  ended({ index }: Fields): void {
    const block = this.#blocks.get(countOf(index) ?? -1);
    if (block) block.isWhole = true;
  }

  usage(value: unknown): void {
    for (const [name, count] of Object.entries(recordOf(value)))
      if (count !== null) this.#counts[name] = count;
  }

  stop(reason: unknown): void {
    if (typeof reason === "string") this.#stop = STOPS[reason] ?? "stop";
  }

  complete(): void {
    this.#isComplete = true;
  }

  end(error: WireAnswer["error"]): WireAnswer {
    const usage = readUsage(this.#counts);
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
      ...(this.#cache ? { cache: this.#cache } : {}),
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
      const part = filledPart({ ...fields, ...input });
      return part ? [part] : [];
    });
  }
}
