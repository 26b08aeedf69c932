/** Writes a model's answer in the generateContent API, as it comes. */
import type { AssistantMessage } from "@pagurus/contract/message";
import type { ModelPart } from "@pagurus/core/model/provider-types";
import { callPart, type Part } from "@pagurus/core/protocols/gemini/gemini-parts";
import type { AnswerWriter, WireRequest } from "../wire-dialect.ts";
import { googleError } from "../fault-status.ts";
import { chunkOf, ChunkWriter, finishReason } from "./generate-content-reply.ts";

const NOTHING = Buffer.alloc(0);

/** Parts of a finished answer; without text and thinking that were already sent. */
function partsOf({ content }: AssistantMessage, has: { text: boolean; thinking: boolean }): Part[] {
  return content.flatMap((part): Part[] => {
    if (part.type === "toolCall") return [callPart(part.id || undefined, part.name, part.arguments)];
    if (part.type === "text") return has.text || part.text === "" ? [] : [{ text: part.text }];
    return has.thinking || part.thinking === "" ? [] : [{ text: part.thinking, thought: true }];
  });
}

export class GenerateContentWriter implements AnswerWriter {
  readonly #request: WireRequest;
  readonly #chunks: ChunkWriter;
  readonly #has = { text: false, thinking: false };
  #hasEnded = false;

  constructor(request: WireRequest) {
    this.#request = request;
    this.#chunks = new ChunkWriter(request);
  }

  get head(): AnswerWriter["head"] {
    return this.#chunks.head;
  }

  write(part: ModelPart): Buffer {
    if (this.#hasEnded) return NOTHING;
    if (part.type === "finish") return this.#finish(part.message);
    const hasBegun = this.#has.text || this.#has.thinking;
    if (part.type === "retry") return hasBegun ? this.fail(part.reason) : NOTHING;
    if (!this.#request.stream || part.delta === "") return NOTHING;
    this.#has[part.type] = true;
    const thought = part.type === "thinking" ? { thought: true } : {};
    return this.#chunks.write(chunkOf(this.#request, { parts: [{ text: part.delta, ...thought }] }), false);
  }

  fail(message: string): Buffer {
    if (this.#hasEnded) return NOTHING;
    this.#hasEnded = true;
    return this.#chunks.write(googleError(503, message), true);
  }

  #finish(message: AssistantMessage): Buffer {
    this.#hasEnded = true;
    const parts = partsOf(message, this.#has);
    const finish = finishReason(message.stopReason);
    return this.#chunks.write(chunkOf(this.#request, { parts, finish, usage: message.usage }), true);
  }
}
