/** Reads an answer of Google's generateContent API: events, one JSON body, or a JSON list of chunks. */
import type { Usage } from "@pagurus/contract/message";
import { type Fields, isRecord, recordOf, stringOf } from "../../data/record-fields.ts";
import { isError } from "../answer-errors.ts";
import { AnswerParser, type AnswerResult, type AnswerState, resultOf, type Taken } from "../answer-parser.ts";
import { PartList } from "../answer-parts.ts";
import type { AnswerEnd, AnswerHead, ProtocolReader, ReadCall } from "../answer-reader.ts";
import { plainCount, plainReason, plainRecords, plainName } from "../answer-values.ts";
import { readArguments } from "../protocol-parts.ts";
import { isMedia, memberOf, partsOf } from "./gemini-parts.ts";
import { readUsage } from "./gemini-usage.ts";

const ENDS: Readonly<Record<string, AnswerEnd["reason"]>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  OTHER: "stop",
  FINISH_REASON_UNSPECIFIED: "stop",
  MALFORMED_FUNCTION_CALL: "error",
  UNEXPECTED_TOOL_CALL: "error",
  TOO_MANY_TOOL_CALLS: "error",
  MISSING_THOUGHT_SIGNATURE: "error",
  MALFORMED_RESPONSE: "error",
};
const FILTERS = /SAFETY|RECITATION|PROHIBITED|^(?:LANGUAGE|BLOCKLIST|SPII)$/;

export class GeminiState implements AnswerState {
  readonly #parts = new PartList<ReadCall>();
  readonly pieces = this.#parts.pieces;
  readonly #degraded = new Set<string>();
  /** All parts as they came. */
  readonly parts: Fields[] = [];
  isEnded = false;
  #choice: number | undefined;
  #model = "";
  #id = "";
  #usage: Usage | undefined;
  #reason = "";
  #blocked = "";
  #words = "";

  errorIn(fields: Fields): unknown {
    const isAnswer = Array.isArray(fields["candidates"]) && fields["candidates"].length > 0;
    return isError(fields["error"]) || (!isAnswer && isError(fields["errors"])) ? fields : undefined;
  }

  event(fields: Fields): Taken {
    // Code Assist wraps each chunk.
    const chunk = isRecord(fields["response"]) ? fields["response"] : fields;
    this.#model = plainName(memberOf(chunk, "modelVersion")) || this.#model;
    this.#id = plainName(memberOf(chunk, "responseId")) || this.#id;
    const usage = memberOf(chunk, "usageMetadata");
    this.#usage = readUsage(usage) ?? this.#usage;
    const isBlocked = this.#block(recordOf(memberOf(chunk, "promptFeedback")));
    const candidates = plainRecords(chunk["candidates"]);
    const taken = candidates.map((candidate) => this.#candidate(candidate));
    if (isBlocked || taken.includes("read")) return "read";
    const isChunk = candidates.length > 0 || isRecord(usage) || Object.keys(fields).length === 0;
    return isChunk || this.#isOther(chunk) ? "begun" : "unknown";
  }

  #isOther(chunk: Fields): boolean {
    return ["modelVersion", "responseId", "promptFeedback", "candidates"].some(
      (name) => memberOf(chunk, name) !== undefined,
    );
  }

  whole(body: Fields): Taken {
    const taken = this.event(body);
    if (this.parts.length > 0) this.isEnded = true;
    return taken;
  }

  done(): void {
    this.isEnded = true;
  }

  #block(feedback: Fields): boolean {
    const reason = plainReason(memberOf(feedback, "blockReason"));
    if (reason === "") return memberOf(feedback, "safetyRatings") !== undefined;
    this.#blocked ||= reason;
    this.#words ||= stringOf(memberOf(feedback, "blockReasonMessage"));
    this.isEnded = true;
    return true;
  }

  #candidate(candidate: Fields): Taken {
    const index = plainCount(candidate["index"]);
    this.#choice ??= index;
    if (index !== undefined && index !== this.#choice) {
      this.#degraded.add("another candidate of the answer");
      return "read";
    }
    const parts = partsOf(recordOf(candidate["content"]));
    for (const part of parts) this.#part(part);
    const reason = plainReason(memberOf(candidate, "finishReason"));
    if (reason !== "") {
      this.#reason = reason;
      this.#words ||= stringOf(memberOf(candidate, "finishMessage"));
      this.isEnded = true;
    }
    const isBare = parts.every((part) => Object.keys(part).length === 1 && part["text"] === "");
    return reason === "" && isBare ? "begun" : "read";
  }

  #part(part: Fields): void {
    this.parts.push(part);
    const call = memberOf(part, "functionCall");
    const signature = plainName(memberOf(part, "thoughtSignature"));
    const text = stringOf(part["text"]);
    if (isRecord(call)) this.#call(call, signature);
    else if (part["thought"] === true) {
      if (signature === "") this.#parts.add("thinking", text);
      else this.#parts.sign(text, signature);
    } else this.#parts.add("text", text);
    if (!isRecord(call) && typeof part["text"] !== "string") this.#without(part);
  }

  #call(call: Fields, signature: string): void {
    if (memberOf(call, "partialArgs") !== undefined) this.#degraded.add("arguments of a call in pieces");
    this.#parts.push({
      type: "toolCall",
      id: plainName(call["id"]),
      name: plainName(call["name"]) || "unknown",
      ...readArguments(call["args"]),
      ...(signature === "" ? {} : { signature }),
    });
  }

  /** Names a part that has no counterpart. */
  #without(part: Fields): void {
    const data = recordOf(memberOf(part, "inlineData") ?? memberOf(part, "fileData"));
    const type = stringOf(memberOf(data, "mimeType"));
    const [member = ""] = Object.keys(part).filter((name) => !name.startsWith("thought"));
    if (isMedia(part)) this.#degraded.add(`a file of the type ${type.slice(0, 60) || "unknown"}`);
    else if (member !== "") this.#degraded.add(`a part with ${member.slice(0, 60)}`);
  }

  #end(hasCalls: boolean): AnswerEnd | undefined {
    if (!this.isEnded) return undefined;
    const raw = this.#reason || this.#blocked;
    const own = hasCalls ? "toolUse" : "stop";
    if (raw === "") return { reason: own };
    if (this.#reason === "" || FILTERS.test(raw)) return { reason: "filter", raw };
    const known = ENDS[raw] ?? (this.#parts.text === "" && !hasCalls ? "error" : "stop");
    return { reason: known === "stop" ? own : known, raw };
  }

  result(): AnswerResult {
    const content = this.#parts.content((call) => call);
    const end = this.#end(content.some(({ type }) => type === "toolCall"));
    const refusal = end?.reason === "filter" ? this.#words.toWellFormed() : "";
    return resultOf({
      content,
      degraded: this.#degraded,
      model: this.#model,
      id: this.#id,
      usage: this.#usage,
      end,
      refusal,
    });
  }
}

export function geminiReader(head: AnswerHead, state: GeminiState = new GeminiState()): ProtocolReader {
  return new AnswerParser(head, state);
}
