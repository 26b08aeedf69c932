/** An element of a request's `input`: what kind it is of, and what it says as messages of ours. */
import type { AgentMessage, ImagePart, TextPart } from "../../../../contract/message.ts";
import {
  dataUrlImage,
  itemCall,
  itemOutput,
  itemParts,
  itemReasoning,
  type ItemFields,
} from "../../../../responses/items.ts";
import { parsePart, textAt, type ObjectSpan, type Span } from "../../json/scan.ts";
import type { WireItem } from "../dialect.ts";
import {
  isOwnBySaying,
  isOwnByWords,
  isSummary,
  MESSAGE_METADATA,
  OWN_STARTS,
  SUMMARY_START,
} from "./codex.ts";
import { summaryMessage, unsealed } from "./summary.ts";

/** Bytes of a message's content in which its first text begins, however the client orders the fields of a part. */
const NEAR_START = 160;
/** Elements that are said and are neither messages, nor calls, nor their outputs. */
const COMPACTIONS = new Set(["compaction", "compaction_summary", "context_compaction"]);
const SAID = new Set(["reasoning", "item_reference"]);

/** The name that the call with an id was made by. */
export type NameOfCall = (callId: string) => string | undefined;

export class ResponsesItem implements WireItem {
  readonly start: number;
  readonly end: number;
  readonly type: string;
  readonly role: string;
  readonly id: string | undefined;
  readonly kind: "said" | "setting";
  readonly isPassing: boolean;
  readonly #body: Buffer;
  readonly #content: Span | undefined;
  readonly #nameOfCall: NameOfCall;
  #fields: ItemFields | undefined;
  #messages: readonly AgentMessage[] | undefined;

  /** `isPrompt`: the words by which a harness asks for a compaction, which are not part of what it compacts. */
  constructor(
    body: Buffer,
    { start, end, members }: ObjectSpan,
    how: { nameOfCall: NameOfCall; isPrompt: boolean },
  ) {
    this.start = start;
    this.end = end;
    this.#body = body;
    this.#content = members.get("content");
    this.#nameOfCall = how.nameOfCall;
    this.role = textAt(body, members.get("role")) ?? "";
    this.type = textAt(body, members.get("type")) ?? (this.role === "" ? "" : "message");
    this.id = textAt(body, members.get("id"));
    this.isPassing = this.#isSummary();
    this.kind = how.isPrompt || this.isPassing || !this.#isSaid(members) ? "setting" : "said";
  }

  #isSaid(members: ReadonlyMap<string, Span>): boolean {
    if (this.role === "developer" || this.role === "system") return false;
    if (this.type === "message") return !(this.role === "user" && this.#isOwn(members));
    // Additional context of Codex: an output to which there is no call.
    if (this.type.endsWith("_output")) return members.has("call_id");
    // What is not known stays where it is.
    return this.type.endsWith("_call") || SAID.has(this.type);
  }

  #isOwn(members: ReadonlyMap<string, Span>): boolean {
    const metadata = members.get(MESSAGE_METADATA);
    const isTold = metadata && isOwnBySaying(parsePart(this.#body, metadata));
    return isTold ?? (this.#beginsWith(OWN_STARTS) && isOwnByWords(this.fields));
  }

  #beginsWith(starts: readonly string[]): boolean {
    if (!this.#content) return false;
    const { start, end } = this.#content;
    const near = this.#body.toString("utf8", start, Math.min(end, start + NEAR_START));
    return starts.some((begin) => near.includes(begin));
  }

  /** A compaction has left this of what was before: in words, or sealed by us or by the provider. */
  #isSummary(): boolean {
    if (COMPACTIONS.has(this.type)) return true;
    return this.role === "user" && this.#beginsWith([SUMMARY_START]) && isSummary(this.fields);
  }

  get standIn(): Buffer | undefined {
    const isSealed = COMPACTIONS.has(this.type);
    const summary = isSealed ? unsealed(this.fields["encrypted_content"]) : undefined;
    return summary === undefined ? undefined : Buffer.from(JSON.stringify(summaryMessage(summary)));
  }

  /** Empty where the bytes, which were only looked over, are no JSON. */
  get fields(): ItemFields {
    if (!this.#fields) {
      try {
        this.#fields = parsePart(this.#body, this) as ItemFields;
      } catch {
        // The one who asked for a model's answer will hear of it from the provider.
        this.#fields = {};
      }
    }
    return this.#fields;
  }

  get messages(): readonly AgentMessage[] {
    this.#messages ??= this.kind === "setting" ? [] : this.#said();
    return this.#messages;
  }

  #said(): AgentMessage[] {
    const { fields, type, role } = this;
    if (type === "message") return messageSaid(fields, role);
    if (type === "reasoning") {
      const thinking = itemReasoning(fields);
      return thinking === "" ? [] : [{ role: "assistant", content: [{ type: "thinking", thinking }] }];
    }
    const call = itemCall(fields);
    if (call) return [{ role: "assistant", content: [call] }];
    return type.endsWith("_output") ? [this.#result(fields)] : [];
  }

  #result(fields: ItemFields): AgentMessage {
    const toolCallId = typeof fields["call_id"] === "string" ? fields["call_id"] : "";
    const toolName = this.#nameOfCall(toolCallId) ?? "unknown";
    const content = itemOutput(fields["output"]);
    return { role: "toolResult", toolCallId, toolName, content, isError: false };
  }
}

function messageSaid(fields: ItemFields, role: string): AgentMessage[] {
  const { content } = fields as { content?: unknown };
  const parts =
    typeof content === "string"
      ? [{ type: "text" as const, text: content }]
      : itemParts(content).map(partSaid);
  if (parts.length === 0) return [];
  if (role !== "assistant") return [{ role: "user", content: parts }];
  return [{ role: "assistant", content: parts.filter((part) => part.type === "text") }];
}

function partSaid(part: ItemFields): TextPart | ImagePart {
  const { text, refusal, image_url: url, type } = part as Record<string, unknown>;
  const image = typeof url === "string" ? dataUrlImage(url) : undefined;
  if (image) return image;
  if (typeof text === "string") return { type: "text", text };
  if (typeof refusal === "string") return { type: "text", text: refusal };
  const where = typeof url === "string" ? ` at ${url}` : "";
  return { type: "text", text: `[${typeof type === "string" ? type : "unknown"}${where}]` };
}
