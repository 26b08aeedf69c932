/** One answer of the Responses API: its events in order with their numbers, or the whole answer at its end if no stream was requested. */
import { randomBytes } from "node:crypto";
import type { Usage } from "@pagurus/contract/message";
import type { ItemFields } from "@pagurus/core/protocols/responses/responses-items";
import { sseBytes } from "@pagurus/core/protocols/sse";
import type { WireRequest } from "../wire-dialect.ts";
import { usageFields } from "@pagurus/core/protocols/responses/responses-usage";

type Status = "in_progress" | "completed" | "incomplete" | "failed";

const NOTHING = Buffer.alloc(0);
/** Length of the random part of ids, bytes: clients find elements by their ids, also those of other conversations. */
const ID_BYTES = 16;

export class AnswerEvents {
  readonly output: ItemFields[] = [];
  readonly headers: Record<string, string>;
  readonly #isStream: boolean;
  readonly #model: string;
  readonly #seed = randomBytes(ID_BYTES).toString("hex");
  readonly created = Math.floor(Date.now() / 1000);
  #sequence = 0;

  constructor({ model, stream }: WireRequest) {
    this.headers = stream
      ? { "content-type": "text/event-stream", "cache-control": "no-cache" }
      : { "content-type": "application/json" };
    this.#isStream = stream;
    this.#model = model;
  }

  /** Id of the next output element. */
  id(prefix: string): string {
    return `${prefix}_${this.#seed}${this.output.length}`;
  }

  event(type: string, fields: ItemFields): Buffer {
    if (!this.#isStream) return NOTHING;
    const data = JSON.stringify({ type, sequence_number: this.#sequence, ...fields });
    this.#sequence += 1;
    return sseBytes({ event: type, data });
  }

  begin(): Buffer {
    return Buffer.concat([
      this.event("response.created", { response: this.#response("in_progress") }),
      this.event("response.in_progress", { response: this.#response("in_progress") }),
    ]);
  }

  /** Events of an element that is sent as a whole. */
  element(item: ItemFields, begun: ItemFields = item): Buffer {
    return this.#element(item, begun, () => []);
  }

  /** Events of a function call, with its arguments in one piece. */
  call(item: ItemFields): Buffer {
    const { id: item_id, arguments: args } = item;
    return this.#element(item, { ...item, status: "in_progress", arguments: "" }, (output_index) => [
      this.event("response.function_call_arguments.delta", { item_id, output_index, delta: args }),
      this.event("response.function_call_arguments.done", { item_id, output_index, arguments: args }),
    ]);
  }

  #element(item: ItemFields, begun: ItemFields, inside: (output_index: number) => readonly Buffer[]): Buffer {
    const output_index = this.output.length;
    this.output.push(item);
    return Buffer.concat([
      this.event("response.output_item.added", { output_index, item: begun }),
      ...inside(output_index),
      this.event("response.output_item.done", { output_index, item }),
    ]);
  }

  end(status: "completed" | "incomplete" | "failed", more: ItemFields): Buffer {
    const response = this.#response(status, more);
    return this.#isStream
      ? this.event(`response.${status}`, { response })
      : Buffer.from(JSON.stringify(response));
  }

  #response(status: Status, more: ItemFields = {}): ItemFields {
    return {
      id: `resp_${this.#seed}`,
      object: "response",
      created_at: this.created,
      status,
      model: this.#model,
      error: null,
      incomplete_details: null,
      output: status === "in_progress" ? [] : this.output,
      store: false,
      usage: null,
      ...more,
    };
  }
}

export function usageMembers(usage: Usage | undefined): ItemFields {
  return usage ? { usage: usageFields(usage) } : {};
}

export function outputText(text: string): ItemFields {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}
