/** An element of a request's `input`: its kind, and its content as our messages. */
import type { AgentMessage } from "@pagurus/contract/message";
import {
  itemCall,
  itemContent,
  itemReasoning,
  type ItemFields,
} from "@pagurus/core/protocols/responses/responses-items";
import { parsePart, textAt, type ObjectSpan, type Span } from "../../json/scan.ts";
import { ownContent } from "../program-marks.ts";
import type { WireItem } from "../wire-dialect.ts";
import {
  isOwnByMetadata,
  isOwnByText,
  isSummary,
  MESSAGE_METADATA,
  OWN_STARTS,
  SUMMARY_START,
} from "./responses-codex.ts";
import { unsealed, type Unsealed } from "../sealed-summary.ts";
import { summaryMessage } from "./responses-summary.ts";

/** Scan limit for the start of a message's first text, bytes, in any order of a part's fields. */
const NEAR_START = 160;
/** Types of elements that a compaction left. */
const COMPACTIONS = new Set(["compaction", "compaction_summary", "context_compaction"]);
const MESSAGE_TYPES = new Set(["reasoning", "item_reference"]);

/** Returns the tool name of the call with an id. */
export type NameOfCall = (callId: string) => string | undefined;

export class ResponsesItem implements WireItem {
  readonly start: number;
  readonly end: number;
  readonly type: string;
  readonly role: string;
  readonly id: string | undefined;
  readonly kind: "message" | "setting";
  readonly isPassing: boolean;
  readonly #body: Buffer;
  readonly #content: Span | undefined;
  readonly #nameOfCall: NameOfCall;
  #fields: ItemFields | undefined;
  #messages: readonly AgentMessage[] | undefined;

  /** `isPrompt`: the compaction prompt of a harness, which is not part of what it compacts. */
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
    this.kind = how.isPrompt || this.isPassing || !this.#isMessage(members) ? "setting" : "message";
  }

  #isMessage(members: ReadonlyMap<string, Span>): boolean {
    if (this.role === "developer" || this.role === "system") return false;
    if (this.type === "message") return !(this.role === "user" && this.#isOwn(members));
    // An output without a call is additional context of Codex.
    if (this.type.endsWith("_output")) return members.has("call_id");
    // Unknown types stay in place.
    return this.type.endsWith("_call") || MESSAGE_TYPES.has(this.type);
  }

  #isOwn(members: ReadonlyMap<string, Span>): boolean {
    const metadata = members.get(MESSAGE_METADATA);
    const isMarked = metadata && isOwnByMetadata(parsePart(this.#body, metadata));
    return isMarked ?? (this.#beginsWith(OWN_STARTS) && isOwnByText(this.fields));
  }

  #beginsWith(starts: readonly string[]): boolean {
    if (!this.#content) return false;
    const { start, end } = this.#content;
    const near = this.#body.toString("utf8", start, Math.min(end, start + NEAR_START));
    return starts.some((begin) => near.includes(begin));
  }

  /** Whether a compaction left this element: as text, or sealed by us or by the provider. */
  #isSummary(): boolean {
    if (COMPACTIONS.has(this.type)) return true;
    return this.role === "user" && this.#beginsWith([SUMMARY_START]) && isSummary(this.fields);
  }

  get #sealed(): Unsealed | undefined {
    return COMPACTIONS.has(this.type) ? unsealed(this.fields["encrypted_content"]) : undefined;
  }

  get replacement(): Buffer | undefined {
    const own = this.#sealed;
    return own && Buffer.from(JSON.stringify(summaryMessage(own.summary)));
  }

  get compactedFrom(): string | undefined {
    return this.#sealed?.contentId;
  }

  /** Empty if the bytes, which were only scanned, are not valid JSON. */
  get fields(): ItemFields {
    if (!this.#fields) {
      try {
        this.#fields = parsePart(this.#body, this) as ItemFields;
      } catch {
        // The provider will report the error to the harness.
        this.#fields = {};
      }
    }
    return this.#fields;
  }

  get messages(): readonly AgentMessage[] {
    this.#messages ??= this.kind === "setting" ? [] : this.#decoded();
    return this.#messages;
  }

  #decoded(): AgentMessage[] {
    const { fields, type, role } = this;
    if (type === "message") return decodedMessage(fields, role);
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
    const content = itemContent(fields["output"]);
    return { role: "toolResult", toolCallId, toolName, content, isError: false };
  }
}

function decodedMessage(fields: ItemFields, role: string): AgentMessage[] {
  const content = role === "user" ? ownContent(fields["content"]) : fields["content"];
  const parts = itemContent(content, (part) => ({ type: "text", text: noteOf(part) }));
  if (parts.length === 0) return [];
  if (role !== "assistant") return [{ role: "user", content: parts }];
  return [{ role: "assistant", content: parts.filter((part) => part.type === "text") }];
}

function noteOf({ type, image_url: url }: ItemFields): string {
  const where = typeof url === "string" ? ` at ${url}` : "";
  return `[${typeof type === "string" ? type : "unknown"}${where}]`;
}
