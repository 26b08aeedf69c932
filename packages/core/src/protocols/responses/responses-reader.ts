/** Reads an answer of OpenAI's Responses API: a stream of events, or one object. */
import type { Usage } from "@pagurus/contract/message";
import type { CacheReport } from "@pagurus/contract/session/receipt";
import {
  type Fields,
  filledString,
  isRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "../../data/record-fields.ts";
import { isError } from "../answer-errors.ts";
import { AnswerParser, type AnswerResult, type AnswerState, resultOf, type Taken } from "../answer-parser.ts";
import { grown } from "../answer-parts.ts";
import type { AnswerEnd, AnswerHead, AnswerPiece, ProtocolReader, ReadPart } from "../answer-reader.ts";
import { plainCount, plainName } from "../answer-values.ts";
import { responsesDiagnosis } from "../cache-diagnosis.ts";
import { readArguments } from "../protocol-parts.ts";
import { itemCall } from "./responses-items.ts";
import { OutputItems, type OutputItem } from "./responses-output.ts";
import { reasoningSignature } from "./responses-reasoning.ts";
import { readUsage } from "./responses-usage.ts";
import { defined } from "../../data/defined.ts";

/** Deltas of text: type of the item, name of the place's member, and list that the place is in. */
const TEXTS: Readonly<Record<string, readonly [type: string, member: string, list: string]>> = {
  output_text: ["message", "content_index", "content"],
  refusal: ["message", "content_index", "content"],
  "audio.transcript": ["message", "content_index", "content"],
  reasoning_summary_text: ["reasoning", "summary_index", "summary"],
  reasoning_summary: ["reasoning", "summary_index", "summary"],
  reasoning_text: ["reasoning", "content_index", "content"],
  reasoning: ["reasoning", "content_index", "content"],
};
const CALLS_BY_EVENT: Readonly<Record<string, string>> = {
  function_call_arguments: "function_call",
  custom_tool_call_input: "custom_tool_call",
};
/** Events that only show that an answer has begun. */
const BEGINNINGS: ReadonlySet<string> = new Set(["created", "queued", "in_progress"]);
const LAST: ReadonlySet<string> = new Set(["completed", "incomplete", "failed", "cancelled", "done"]);
/** Known items that the provider handled itself, and those without content. */
const ENDS: Readonly<Record<string, AnswerEnd["reason"]>> = {
  max_output_tokens: "length",
  max_tokens: "length",
  content_filter: "filter",
};
const RESPONSE = "response.";

class ResponsesState implements AnswerState {
  readonly pieces: AnswerPiece[] = [];
  readonly #items = new OutputItems(this.pieces);
  isEnded = false;
  #model = "";
  #id = "";
  #usage: Usage | undefined;
  #cache: CacheReport | undefined;
  #end: AnswerEnd | undefined;

  errorIn(fields: Fields, name: string | undefined): unknown {
    const type = stringOf(fields["type"]) || (name ?? "");
    const response = isRecord(fields["response"]) ? fields["response"] : fields;
    if (type === "response.failed" || isError(response["error"])) {
      this.#about(response);
      return isError(response["error"]) ? response : fields;
    }
    return type === "error" || isError(fields["error"]) ? fields : undefined;
  }

  event(fields: Fields, name: string | undefined): Taken {
    const type = stringOf(fields["type"]) || (name ?? "");
    if (!type.startsWith(RESPONSE)) return fields["object"] === "response" ? this.whole(fields) : "unknown";
    const kind = type.slice(RESPONSE.length);
    if (BEGINNINGS.has(kind)) {
      this.#about(recordOf(fields["response"]));
      return "begun";
    }
    if (LAST.has(kind)) return this.#last(kind, recordOf(fields["response"]));
    const [, of = "", step = ""] = /^(.+)\.(delta|done|added)$/.exec(kind) ?? [];
    return this.#step(of, step, fields) ? "read" : "unknown";
  }

  #step(of: string, step: string, fields: Fields): boolean {
    const index = plainCount(fields["output_index"]);
    const text = TEXTS[of];
    const call = CALLS_BY_EVENT[of];
    if (of === "output_item") this.#item(step, index, recordOf(fields["item"]));
    else if (of === "content_part" || of === "reasoning_summary_part") this.#part(of, fields);
    else if (text) this.#text(text, of, step, fields);
    else if (call !== undefined) this.#arguments(call, step, fields);
    else return false;
    return true;
  }

  #item(step: string, index: number | undefined, item: Fields): void {
    if (step === "added") this.#items.added(index, item);
    else this.#items.done(index, item);
  }

  #part(of: string, fields: Fields): void {
    const isSummary = of === "reasoning_summary_part";
    const part = recordOf(fields["part"]);
    const isReasoning = isSummary || part["type"] === "reasoning_text";
    const item = this.#items.of(fields, isReasoning ? "reasoning" : "message");
    const place = isSummary
      ? `summary ${plainCount(fields["summary_index"]) ?? 0}`
      : `content ${plainCount(fields["content_index"]) ?? 0}`;
    if (part["text"] !== undefined || part["refusal"] !== undefined) this.#items.part(item, place, part);
  }

  #text(
    [type, member, list]: readonly [string, string, string],
    of: string,
    step: string,
    fields: Fields,
  ): void {
    const item = this.#items.of(fields, type);
    const place = `${list} ${plainCount(fields[member]) ?? 0}`;
    if (of === "refusal") item.refusals.add(place);
    const { delta } = fields;
    const whole = fields["text"] ?? fields["refusal"] ?? fields["transcript"];
    const isWhole = step === "done";
    const text = isWhole ? whole : isRecord(delta) ? delta["text"] : delta;
    if (typeof text === "string") this.#items.text(item, place, text, isWhole);
  }

  #arguments(type: string, step: string, fields: Fields): void {
    const item = this.#items.of(fields, type);
    const whole = fields["arguments"] ?? fields["input"];
    const named = { name: fields["name"], call_id: fields["call_id"] };
    for (const [key, value] of Object.entries(named))
      if (plainName(value) !== "" && plainName(item.fields[key]) === "")
        item.fields = { ...item.fields, [key]: value };
    if (step === "delta") this.#items.grow(item, argumentText(fields["delta"]));
    else if (argumentText(whole) !== "") item.args = argumentText(whole);
  }

  whole(body: Fields): Taken {
    const response = isRecord(body["response"]) ? body["response"] : body;
    const status = stringOf(response["status"]);
    if (!Array.isArray(response["output"]) && response["object"] !== "response") return "unknown";
    return this.#last(status === "" ? "completed" : status, response);
  }

  done(): void {
    // Some servers end with it; before any item it says nothing.
    if (this.#items.size > 0) this.isEnded = true;
  }

  #about(response: Fields): void {
    this.#model = plainName(response["model"]) || this.#model;
    this.#id = plainName(response["id"]) || this.#id;
    this.#usage = readUsage(response["usage"]) ?? this.#usage;
  }

  #last(kind: string, response: Fields): Taken {
    this.#about(response);
    const diagnosis = responsesDiagnosis(response);
    this.#cache = { ...(this.#id === "" ? {} : { responseId: this.#id }), ...defined({ diagnosis }) };
    this.#items.whole(recordsOf(response["output"]));
    if (this.#items.size === 0) this.#outputText(response["output_text"]);
    const status = stringOf(response["status"]) || kind;
    if (status === "in_progress" || status === "queued") return "begun";
    this.isEnded = true;
    const raw = filledString(recordOf(response["incomplete_details"])["reason"]);
    if (status === "incomplete") this.#end = { reason: ENDS[raw ?? ""] ?? "length", raw: raw ?? status };
    else if (status === "failed" || status === "cancelled") this.#end = { reason: "error", raw: status };
    return "read";
  }

  /** The text of all items, as a convenience of some servers. */
  #outputText(text: unknown): void {
    const words = stringOf(text);
    if (words !== "")
      this.#items.done(0, { type: "message", content: [{ type: "output_text", text: words }] });
  }

  result(): AnswerResult {
    const items = this.#items.inOrder;
    const content = items.flatMap((item) => this.#content(item));
    const hasCalls = content.some(({ type }) => type === "toolCall");
    const refusal = items.map(refusalText).join("");
    const end = this.#end ?? { reason: refusal !== "" ? "refusal" : hasCalls ? "toolUse" : "stop" };
    return resultOf({
      content,
      degraded: this.#items.degraded,
      model: this.#model,
      id: this.#id,
      usage: this.#usage,
      cache: this.#cache,
      end: this.isEnded ? end : undefined,
      refusal,
    });
  }

  /** Without items that are not whole: deltas alone may lack what their item has. */
  output(): readonly Fields[] {
    return this.#items.inOrder.filter(({ isDone }) => isDone).map(({ fields }) => fields);
  }

  #content(item: OutputItem): ReadPart[] {
    const type = stringOf(item.fields["type"]);
    if (type === "reasoning") return thinkingIn(item);
    if (type === "message") return [...item.texts.values()].flatMap((text) => grown(text));
    if (itemCall(item.fields)) return this.#call(item);
    this.#items.degraded.add(`an item of the type ${type.slice(0, 60) || "unknown"}`);
    return [];
  }

  /** A call that was cut is omitted: half of its arguments may mean something else. */
  #call({ fields, args, isDone }: OutputItem): ReadPart[] {
    if (!isDone && !this.isEnded) return [];
    const own = argumentText(fields["arguments"] ?? fields["input"]) || args;
    const member = fields["type"] === "custom_tool_call" ? "input" : "arguments";
    const call = itemCall(own === "" ? fields : { ...fields, [member]: own });
    if (!call) return [];
    if (plainName(fields["name"]) === "" && fields["type"] === "function_call") {
      this.#items.degraded.add("arguments of a call without a name");
      return [];
    }
    if (fields["type"] !== "function_call") return [call];
    // As the model wrote it: a decorated name is understood by whoever has the tools.
    const named = plainName(fields["namespace"]) === "" ? { name: plainName(fields["name"]) } : {};
    return [{ ...call, ...named, ...readArguments(own) }];
  }
}

/** Arguments as text; an object as its JSON. */
function argumentText(value: unknown): string {
  return isRecord(value) ? JSON.stringify(value) : stringOf(value);
}

function refusalText({ texts, refusals }: OutputItem): string {
  return [...refusals].map((place) => texts.get(place)?.text ?? "").join("");
}

/**
 * The readable content of a reasoning item, else its summary, a part each. The signature is the item as JSON; only the last part has its
 * encrypted content, and one without text exists in that form only.
 */
function thinkingIn({ fields, texts, isDone }: OutputItem): ReadPart[] {
  const of = (list: string): string[] =>
    [...texts]
      .filter(([place, { text }]) => place.startsWith(list) && text !== "")
      .map(([, { text }]) => text);
  const content = of("content");
  const parts = content.length > 0 ? content : of("summary");
  const id = plainName(fields["id"]);
  const encrypted = isDone ? stringOf(fields["encrypted_content"]) : "";
  const signature = (isLast: boolean): { signature?: string } =>
    id === ""
      ? {}
      : { signature: reasoningSignature(isLast && encrypted !== "" ? { id, encrypted } : { id }) };
  if (parts.length === 0)
    return id === "" || encrypted === ""
      ? []
      : [{ type: "thinking", thinking: "", ...signature(true), redacted: true }];
  return parts.map((thinking, at) => ({ type: "thinking", thinking, ...signature(at === parts.length - 1) }));
}

export function responsesReader(head: AnswerHead): ProtocolReader {
  return new AnswerParser(head, new ResponsesState());
}
