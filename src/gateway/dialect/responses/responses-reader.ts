/** Reads a model's answer in the Responses API from the passing bytes: a stream of events, or one object. */
import type { AssistantMessage, StopReason, Usage } from "../../../contract/message.ts";
import type { CacheReport } from "../../../contract/session/receipt.ts";
import { RESPONSES_DIAGNOSING } from "../../../model/quirks/cache-diagnosis.ts";
import { filledString, parseRecord, recordOf, stringOf } from "../../../data/record-fields.ts";
import { saysContextOverflow } from "../../../model/quirks/error-phrases.ts";
import {
  itemCall,
  itemContent,
  itemParts,
  itemReasoning,
  type ItemFields,
} from "../../../protocols/responses/responses-items.ts";
import type { AnswerReader, WireAnswer, WireHeaders } from "../wire-dialect.ts";
import { SseReader, type SseEvent } from "../../request/sse.ts";
import { readUsage } from "../../../protocols/responses/responses-usage.ts";

type Part = AssistantMessage["content"][number];

/** Limit of a kept answer and of streamed text without an end, bytes. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_ERROR_CHARACTERS = 2_000;
const DELTAS: Readonly<Record<string, "text" | "thinking">> = {
  "response.output_text.delta": "text",
  "response.refusal.delta": "text",
  "response.reasoning_summary_text.delta": "thinking",
  "response.reasoning_text.delta": "thinking",
};

/** Events that only show that an answer has begun. */
const BEGINNINGS: ReadonlySet<string> = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
]);
const FAILURES: ReadonlySet<string> = new Set(["response.failed", "error"]);

export class ResponsesReader implements AnswerReader {
  opening: "begun" | "failed" | "over";
  readonly #status: number;
  /** Undefined for an answer without a stream. */
  readonly #events: SseReader | undefined;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  /** Complete elements, by their place in the answer. */
  readonly #whole = new Map<number, Part[]>();
  /** Streamed text of incomplete elements. */
  readonly #begun = new Map<number, { type: "text" | "thinking"; deltas: string[] }>();
  #model = "";
  #usage: Usage | undefined;
  #stopReason: StopReason | undefined;
  #isComplete = false;
  #cache: CacheReport | undefined;
  #error: WireAnswer["error"];

  constructor(status: number, headers: WireHeaders) {
    this.#status = status;
    const type = String(headers["content-type"] ?? "");
    this.#events = status < 400 && !type.includes("json") ? new SseReader(MOST_BYTES) : undefined;
    this.opening = this.#events ? "begun" : "over";
  }

  take(chunk: Buffer): void {
    if (this.#events) {
      for (const event of this.#events.take(chunk)) this.#handle(event);
      return;
    }
    this.#bytes += chunk.length;
    if (this.#bytes <= MOST_BYTES) this.#chunks.push(Buffer.from(chunk));
    else this.#chunks.length = 0;
  }

  end(): WireAnswer {
    if (!this.#events) this.#object(Buffer.concat(this.#chunks).toString("utf8"));
    const content = this.#content();
    const calls = content.some((part) => part.type === "toolCall");
    const stopReason =
      this.#error === undefined
        ? (this.#stopReason ?? (this.#isComplete ? stopOf(calls) : undefined))
        : "error";
    const message: AssistantMessage = {
      role: "assistant",
      content,
      ...(this.#model === "" ? {} : { model: this.#model }),
      ...(this.#usage ? { usage: this.#usage } : {}),
      ...(stopReason === undefined ? {} : { stopReason }),
      ...(this.#error ? { errorMessage: this.#error.message } : {}),
    };
    return {
      message,
      isComplete: this.#isComplete,
      ...(this.#usage ? { usage: this.#usage } : {}),
      ...(this.#cache ? { cache: this.#cache } : {}),
      ...(this.#error ? { error: this.#error } : {}),
    };
  }

  /** Parts in the order of the elements; incomplete elements are kept as far as they came, except calls. */
  #content(): Part[] {
    const places = [...new Set([...this.#whole.keys(), ...this.#begun.keys()])].toSorted((a, b) => a - b);
    return places.flatMap((place): Part[] => {
      const whole = this.#whole.get(place);
      const begun = this.#begun.get(place);
      if (whole || !begun) return whole ?? [];
      const text = begun.deltas.join("");
      return [begun.type === "text" ? { type: "text", text } : { type: "thinking", thinking: text }];
    });
  }

  #handle({ event, data }: SseEvent): void {
    const fields = parseRecord(data) ?? {};
    const type = stringOf(fields["type"]) || (event ?? "");
    if (this.opening === "begun" && !BEGINNINGS.has(type))
      this.opening = FAILURES.has(type) ? "failed" : "over";
    const delta = DELTAS[type];
    if (delta) return this.#grows(delta, fields);
    if (type === "response.output_item.done")
      this.#done(place(fields["output_index"]) ?? this.#whole.size, recordOf(fields["item"]));
    else if (type === "error")
      this.#failed(fields["error"] === undefined ? fields : recordOf(fields["error"]));
    else if (type.startsWith("response.")) this.#response(type.slice("response.".length), fields["response"]);
  }

  #grows(type: "text" | "thinking", { output_index, delta }: ItemFields): void {
    const text = stringOf(delta);
    const at = place(output_index) ?? this.#whole.size;
    this.#bytes += text.length;
    if (this.#bytes > MOST_BYTES || this.#whole.has(at)) return;
    const begun = this.#begun.get(at) ?? { type, deltas: [] };
    begun.deltas.push(text);
    this.#begun.set(at, begun);
  }

  #done(at: number, item: ItemFields): void {
    for (const piece of this.#begun.get(at)?.deltas ?? []) this.#bytes -= piece.length;
    this.#begun.delete(at);
    this.#whole.set(at, partsOf(item));
  }

  #response(event: string, value: unknown): void {
    const response = recordOf(value);
    if (stringOf(response["model"]) !== "") this.#model = stringOf(response["model"]);
    if (event === "failed") this.#failed(recordOf(response["error"]));
    if (event !== "completed" && event !== "incomplete" && event !== "failed") return;
    this.#usage = readUsage(response["usage"]) ?? this.#usage;
    if (event === "failed") return;
    const responseId = filledString(response["id"]);
    const diagnosis = RESPONSES_DIAGNOSING.read(response);
    this.#cache = {
      ...(responseId === undefined ? {} : { responseId }),
      ...(diagnosis ? { diagnosis } : {}),
    };
    this.#isComplete = true;
    if (event === "incomplete") this.#stopReason = "length";
    if (this.#whole.size > 0) return;
    for (const [at, item] of itemParts(response["output"]).entries()) this.#done(at, item);
  }

  #object(body: string): void {
    const fields = parseRecord(body) ?? {};
    const isError = this.#status >= 400 || recordOf(fields["error"])["message"] !== undefined;
    if (isError) return this.#failed(recordOf(fields["error"]), stringOf(fields["detail"]) || body);
    const status = stringOf(fields["status"]);
    if (status !== "") this.#response(status, fields);
  }

  #failed(error: ItemFields, otherwise = ""): void {
    const code = stringOf(error["code"]) || stringOf(error["type"]);
    const reason = stringOf(error["message"]) || otherwise.trim();
    const message = (reason || `the provider answered with status ${this.#status}`).slice(
      0,
      MOST_ERROR_CHARACTERS,
    );
    const overflow = saysContextOverflow(`${code} ${message}`);
    this.#error = { message, ...(code === "" ? {} : { code }), overflow };
  }
}

function stopOf(hasCalls: boolean): StopReason {
  return hasCalls ? "toolUse" : "stop";
}

function place(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function partsOf(item: ItemFields): Part[] {
  const call = itemCall(item);
  if (call) return [call];
  if (item["type"] === "reasoning") {
    const thinking = itemReasoning(item);
    return thinking === "" ? [] : [{ type: "thinking", thinking }];
  }
  if (item["type"] !== "message") return [];
  return itemContent(item["content"]).filter((part) => part.type === "text" && part.text !== "") as Part[];
}
