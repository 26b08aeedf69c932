/** Writes a model's answer as the Messages API does, while it comes. */
import type { AssistantMessage, ThinkingPart, ToolCallPart } from "@pagurus/contract/message";
import type { ModelPart } from "@pagurus/core/model/provider-types";
import { type Block, callBlock, thinkingBlock } from "@pagurus/core/protocols/messages/messages-blocks";
import { NO_USAGE } from "@pagurus/core/tokens/add-usage";
import type { AnswerWriter, WireRequest } from "../wire-dialect.ts";
import { plainId } from "./messages-encode.ts";
import {
  blockEvents,
  endEvents,
  errorBody,
  eventBytes,
  messageFields,
  stopReason,
} from "./messages-events.ts";
import { JSON_HEADERS, newMessageId, STREAM_HEADERS } from "./messages-reply.ts";

const NOTHING = Buffer.alloc(0);
const EMPTY = {
  text: { type: "text", text: "" },
  thinking: { type: "thinking", thinking: "", signature: "" },
};

type Streamed = keyof typeof EMPTY;

/** Why the message is a failure; undefined for an answer. */
function failureOf({ stopReason: reason, errorMessage }: AssistantMessage): string | undefined {
  if (reason !== "error" && reason !== "aborted") return undefined;
  return errorMessage ?? (reason === "aborted" ? "The answer was stopped." : "The model's answer failed.");
}

function isSigned(part: AssistantMessage["content"][number]): part is ThinkingPart & { signature: string } {
  return part.type === "thinking" && part.redacted !== true && part.signature !== undefined;
}

function callOf({ id, name, arguments: input }: ToolCallPart): Block {
  return callBlock(plainId(id), name, input);
}

export class StreamWriter implements AnswerWriter {
  readonly head = { status: 200, headers: { ...STREAM_HEADERS } };
  readonly #request: WireRequest;
  #hasBegun = false;
  #isOver = false;
  /** Number of blocks begun. */
  #count = 0;
  #open: Streamed | undefined;
  readonly #streamed = new Set<Streamed>();

  constructor(request: WireRequest) {
    this.#request = request;
  }

  write(part: ModelPart): Buffer {
    if (this.#isOver) return NOTHING;
    switch (part.type) {
      case "text":
      case "thinking":
        return part.delta === "" ? NOTHING : Buffer.concat(this.#delta(part.type, part.delta));
      case "retry":
        // Text already sent cannot be taken back; before any output the retry needs no event.
        return this.#hasBegun ? this.fail(`The answer broke off: ${part.reason}`) : NOTHING;
      default:
        return this.#finish(part.message);
    }
  }

  fail(message: string): Buffer {
    if (this.#isOver) return NOTHING;
    this.#isOver = true;
    return eventBytes("error", errorBody("api_error", message));
  }

  #begin(): Buffer[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const { model } = this.#request;
    const envelope = { id: newMessageId(), model, usage: NO_USAGE };
    return [eventBytes("message_start", { message: messageFields(envelope, [], null) })];
  }

  #delta(kind: Streamed, text: string): Buffer[] {
    const events = this.#begin();
    this.#streamed.add(kind);
    if (this.#open !== kind) {
      events.push(...this.#close());
      events.push(eventBytes("content_block_start", { index: this.#count, content_block: EMPTY[kind] }));
      this.#open = kind;
      this.#count += 1;
    }
    const delta = kind === "text" ? { type: "text_delta", text } : { type: "thinking_delta", thinking: text };
    events.push(eventBytes("content_block_delta", { index: this.#count - 1, delta }));
    return events;
  }

  #close(): Buffer[] {
    if (this.#open === undefined) return [];
    this.#open = undefined;
    return [eventBytes("content_block_stop", { index: this.#count - 1 })];
  }

  #finish(message: AssistantMessage): Buffer {
    const failure = failureOf(message);
    if (failure !== undefined) return this.fail(failure);
    const events = this.#begin();
    // The signature comes at the end; it belongs to the last block if nothing followed the thinking.
    const signed = message.content.findLast(isSigned);
    if (this.#open === "thinking" && signed) {
      const delta = { type: "signature_delta", signature: signed.signature };
      events.push(eventBytes("content_block_delta", { index: this.#count - 1, delta }));
    }
    // Models that do not stream have everything in the final message.
    for (const part of message.content)
      if (part.type === "text" && part.text !== "" && !this.#streamed.has("text"))
        events.push(...this.#whole(EMPTY.text, [{ type: "text_delta", text: part.text }]));
    for (const part of message.content)
      if (part.type === "toolCall") {
        const delta = { type: "input_json_delta", partial_json: JSON.stringify(part.arguments) };
        events.push(...this.#whole({ ...callOf(part), input: {} }, [delta]));
      }
    events.push(...this.#close(), ...endEvents(stopOf(message), message.usage ?? NO_USAGE));
    this.#isOver = true;
    return Buffer.concat(events);
  }

  #whole(empty: object, deltas: readonly object[]): Buffer[] {
    const events = [...this.#close(), ...blockEvents(this.#count, empty, deltas)];
    this.#count += 1;
    return events;
  }
}

/** A message with tool calls has stopped for them, whatever its stop reason. */
function stopOf({ content, stopReason: reason }: AssistantMessage): string {
  const calls = content.some(({ type }) => type === "toolCall");
  return stopReason(calls && reason !== "length" ? "toolUse" : reason);
}

/** Writes one body at the end, for a request without a stream. */
export class WholeWriter implements AnswerWriter {
  readonly head = { status: 200, headers: { ...JSON_HEADERS } };
  readonly #request: WireRequest;
  #isOver = false;

  constructor(request: WireRequest) {
    this.#request = request;
  }

  write(part: ModelPart): Buffer {
    if (part.type !== "finish" || this.#isOver) return NOTHING;
    const { message } = part;
    const failure = failureOf(message);
    if (failure !== undefined) return this.fail(failure);
    this.#isOver = true;
    const content = message.content.flatMap((block): object[] => {
      if (block.type === "text") return block.text === "" ? [] : [{ type: "text", text: block.text }];
      if (block.type === "toolCall") return [callOf(block)];
      return isSigned(block) ? [thinkingBlock(block)] : [];
    });
    const { model } = this.#request;
    const envelope = { id: newMessageId(), model, usage: message.usage ?? NO_USAGE };
    return Buffer.from(JSON.stringify(messageFields(envelope, content, stopOf(message))));
  }

  /** The status has been sent already; the body reports the error. */
  fail(message: string): Buffer {
    if (this.#isOver) return NOTHING;
    this.#isOver = true;
    return Buffer.from(JSON.stringify(errorBody("api_error", message)));
  }
}
