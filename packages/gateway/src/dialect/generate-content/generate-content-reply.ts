/** Chunks of an answer, errors, and responses that the gateway creates itself. */
import { createHash } from "node:crypto";
import type { StopReason, Usage } from "@pagurus/contract/message";
import { type Part } from "@pagurus/core/protocols/gemini/gemini-parts";
import { usageFields } from "@pagurus/core/protocols/gemini/gemini-usage";
import { sseBytes } from "@pagurus/core/protocols/sse";
import { FAULT_STATUS, googleError } from "../fault-status.ts";
import type { WireFault, WireReply, WireRequest } from "../wire-dialect.ts";
import { inTags } from "./gemini-cli-marks.ts";

const EVENT_HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };
const GOOGLE_JSON_HEADERS = { "content-type": "application/json; charset=UTF-8" };

/** Clients recognize a context overflow by this text. */
const TOO_LONG = "The input token count exceeds the maximum number of tokens allowed";

/** `status`: the HTTP status, if another than the fault's own. */
export function faultReply(code: WireFault, message: string, status = FAULT_STATUS[code]): WireReply {
  const sentence =
    code === "context_overflow" && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message;
  return {
    status,
    headers: { ...GOOGLE_JSON_HEADERS },
    body: Buffer.from(JSON.stringify(googleError(status, sentence))),
  };
}

export function finishReason(reason: StopReason | undefined): string {
  return reason === "length" ? "MAX_TOKENS" : "STOP";
}

interface Chunk {
  parts: readonly Part[];
  finish?: string;
  usage?: Usage | undefined;
}

/** A chunk of a stream, or a whole answer. The same request gets the same response id. */
export function chunkOf({ body, model }: WireRequest, { parts, finish, usage }: Chunk): object {
  const responseId = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  const ended = finish === undefined ? {} : { finishReason: finish };
  return {
    candidates: [{ content: { parts, role: "model" }, ...ended, index: 0 }],
    ...(usage ? { usageMetadata: usageFields(usage) } : {}),
    modelVersion: model,
    responseId,
  };
}

/** Writes chunks in the form that the request asks for: events, one JSON list, or one JSON body. */
export class ChunkWriter {
  readonly head: { status: number; headers: Record<string, string> };
  readonly #form: "events" | "list" | "body";
  #hasBegun = false;

  constructor({ stream, isListStream }: WireRequest) {
    this.#form = !stream ? "body" : isListStream === true ? "list" : "events";
    this.head = {
      status: 200,
      headers: { ...(this.#form === "events" ? EVENT_HEADERS : GOOGLE_JSON_HEADERS) },
    };
  }

  write(chunk: object, isLast: boolean): Buffer {
    const data = JSON.stringify(chunk);
    if (this.#form === "events") return sseBytes({ data });
    if (this.#form === "body") return Buffer.from(data);
    const before = this.#hasBegun ? "\n,\r\n" : "[";
    this.#hasBegun = true;
    return Buffer.from(`${before}${data}${isLast ? "\n]\n" : ""}`);
  }
}

export function replyWith(request: WireRequest, text: string, usage: Usage): WireReply {
  const writer = new ChunkWriter(request);
  const answer = request.kind === "compaction" ? inTags(text) : text;
  const parts = answer === "" ? [] : [{ text: answer }];
  const body = writer.write(chunkOf(request, { parts, finish: "STOP", usage }), true);
  return { ...writer.head, body };
}
