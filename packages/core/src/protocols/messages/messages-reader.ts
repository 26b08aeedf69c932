/** Reads an answer of Anthropic's Messages API. */
import {
  type Fields,
  filledString,
  isRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "../../data/record-fields.ts";
import type { CacheReport } from "@pagurus/contract/session/receipt";
import { AnswerParser, type AnswerResult, type AnswerState, resultOf, type Taken } from "../answer-parser.ts";
import type { AnswerEnd, AnswerHead, AnswerPiece, ProtocolReader, ReadAnswer } from "../answer-reader.ts";
import { plainCount, plainReason, plainName } from "../answer-values.ts";
import { messagesDiagnosis } from "../cache-diagnosis.ts";
import { isError } from "../answer-errors.ts";
import { MessageBlocks } from "./messages-answer-blocks.ts";
import { readUsage } from "./messages-usage.ts";
import { defined } from "../../data/defined.ts";

const ENDS: Readonly<Record<string, AnswerEnd["reason"]>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "overflow",
  refusal: "refusal",
};

class MessagesState implements AnswerState {
  readonly pieces: AnswerPiece[] = [];
  isEnded = false;
  readonly #blocks = new MessageBlocks(this.pieces);
  /** Counts that the API repeats as they grow; a later one replaces an earlier one. */
  readonly #counts: Record<string, unknown> = {};
  #model = "";
  #id = "";
  #cache: CacheReport | undefined;
  #end: AnswerEnd | undefined;
  #refusal = "";

  errorIn(fields: Fields, name: string | undefined): unknown {
    if (isError(fields["error"])) return fields;
    const isNamed = fields["type"] === "error" || (name === "error" && fields["type"] === undefined);
    return isNamed ? fields : undefined;
  }

  event(fields: Fields, name: string | undefined): Taken {
    this.#usage(fields["usage"]);
    const { index } = fields;
    const at = plainCount(index);
    switch (eventType(fields, name)) {
      case "message_start":
        this.#message(recordOf(fields["message"]), true);
        return "begun";
      case "ping":
        return "begun";
      case "content_block_start":
        this.#blocks.start(at, recordOf(fields["content_block"]));
        return "read";
      case "content_block_delta":
        this.#blocks.grow(at, recordOf(fields["delta"]));
        return "read";
      case "content_block_stop":
        this.#blocks.stop(at);
        return "read";
      case "message_delta":
        this.#delta(fields);
        return "read";
      case "message_stop":
        this.isEnded = true;
        return "read";
      case "message":
        return this.whole(fields);
      default:
        return "unknown";
    }
  }

  whole(body: Fields): Taken {
    const message = isRecord(body["message"]) ? body["message"] : body;
    const isMessage = message["type"] === "message" || message["role"] === "assistant";
    if (!isMessage || message["content"] === undefined) return "unknown";
    this.#message(message, false);
    this.isEnded = true;
    return "read";
  }

  done(): void {
    this.isEnded = true;
  }

  /** Reads a whole message, or the beginning of one. */
  #message(message: Fields, isBeginning: boolean): void {
    this.#model = plainName(message["model"]) || this.#model;
    this.#id = plainName(message["id"]) || this.#id;
    const diagnosis = messagesDiagnosis(message);
    this.#cache = { ...(this.#id === "" ? {} : { responseId: this.#id }), ...defined({ diagnosis }) };
    this.#usage(message["usage"]);
    this.#stop(message);
    const content = message["content"];
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : recordsOf(content);
    for (const [index, block] of blocks.entries()) this.#blocks.whole(index, block, isBeginning);
  }

  #delta(fields: Fields): void {
    const delta = recordOf(fields["delta"]);
    this.#usage(delta["usage"]);
    this.#stop({ ...fields, ...delta });
  }

  #stop(fields: Fields): void {
    const raw = plainReason(fields["stop_reason"]);
    if (raw === "") return;
    this.isEnded = true;
    this.#end = { reason: ENDS[raw] ?? "stop", raw };
    const details = recordOf(fields["stop_details"]);
    this.#refusal = stringOf(details["explanation"]) || stringOf(details["message"]) || this.#refusal;
  }

  #usage(value: unknown): void {
    for (const [name, count] of Object.entries(recordOf(value)))
      if (count !== null) this.#counts[name] = count;
  }

  result(): AnswerResult {
    const { content, degraded } = this.#blocks.content(this.isEnded);
    const usage = readUsage(this.#counts);
    const end = this.#ended(content);
    const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
    const refusal = end?.reason === "refusal" ? this.#refusal.toWellFormed() || text : "";
    return resultOf({
      content,
      degraded,
      model: this.#model,
      id: this.#id,
      usage,
      cache: this.#cache,
      end,
      refusal,
    });
  }

  #ended(content: ReadAnswer["content"]): AnswerEnd | undefined {
    const hasCalls = content.some(({ type }) => type === "toolCall");
    if (!this.#end) return this.isEnded ? { reason: hasCalls ? "toolUse" : "stop" } : undefined;
    const { reason, raw } = this.#end;
    if (reason === "overflow" && content.length > 0) return { ...this.#end, reason: "length" };
    // Servers end an answer with calls with any of these.
    if (reason === "stop" || reason === "toolUse")
      return { reason: hasCalls ? "toolUse" : "stop", ...defined({ raw }) };
    return this.#end;
  }
}

/** The type of an event: its own, the stream's name for it, or by its members. */
function eventType(fields: Fields, name: string | undefined): string {
  const type = filledString(fields["type"]) ?? name;
  if (type !== undefined) return type;
  if (isRecord(fields["content_block"])) return "content_block_start";
  if (isRecord(fields["message"])) return "message_start";
  const delta = recordOf(fields["delta"]);
  if (delta["stop_reason"] !== undefined) return "message_delta";
  return fields["delta"] === undefined ? "" : "content_block_delta";
}

export function messagesReader(head: AnswerHead): ProtocolReader {
  return new AnswerParser(head, new MessagesState());
}
