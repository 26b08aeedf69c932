/** The reader of a protocol's answers, loaded when it is first used. */
import { randomUUID } from "node:crypto";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { AnswerHead, AnswerPiece, ProtocolReader, ReadAnswer, ReadPart } from "./answer-reader.ts";

/** Gives calls without an id, and calls that repeat one, ids of their own: results are sent back under it. */
function withCallIds(content: readonly ReadPart[]): ReadPart[] {
  const taken = new Set<string>();
  return content.map((part) => {
    if (part.type !== "toolCall") return part;
    const isFree = part.id !== "" && !taken.has(part.id);
    const id = isFree ? part.id : `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    taken.add(id);
    return { ...part, id };
  });
}

/** Completes the ids of calls, for a caller that answers them itself. */
class CallingReader implements ProtocolReader {
  readonly #reader: ProtocolReader;

  constructor(reader: ProtocolReader) {
    this.#reader = reader;
  }

  get opening(): ProtocolReader["opening"] {
    return this.#reader.opening;
  }

  get isEnded(): boolean {
    return this.#reader.isEnded;
  }

  take(chunk: Uint8Array): readonly AnswerPiece[] {
    return this.#reader.take(chunk);
  }

  end(): ReadAnswer {
    const answer = this.#reader.end();
    return { ...answer, content: withCallIds(answer.content) };
  }
}

async function plainReader(api: WireApi, head: AnswerHead): Promise<ProtocolReader> {
  switch (api) {
    case "anthropic-messages":
      return (await import("./messages/messages-reader.ts")).messagesReader(head);
    case "openai-responses":
      return (await import("./responses/responses-reader.ts")).responsesReader(head);
    case "openai-completions":
      return (await import("./completions/completions-reader.ts")).completionsReader(head);
    case "google-generative-ai":
      return (await import("./gemini/gemini-reader.ts")).geminiReader(head);
  }
}

/** The reader of one answer, which is not compressed; every call in its result has an id of its own. Loads the protocol's code. */
export async function readerOf(api: WireApi, head: AnswerHead): Promise<ProtocolReader> {
  return new CallingReader(await plainReader(api, head));
}
