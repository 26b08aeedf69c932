/**
 * Converts the raw items of Codex's history into our messages as they complete. Items that are not the agent's work
 * (instructions, environment, user messages) are left out. Source: harness port, "6. Wire post-turn after transcript
 * mirroring".
 */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  StopReason,
  TextPart,
  ToolResultMessage,
  Usage,
} from "@pagurus/contract/message";
import { stringOf } from "@pagurus/core/data/record-fields";
import {
  itemCall,
  itemContent,
  itemReasoning,
  itemText,
} from "@pagurus/core/protocols/responses/responses-items";
import { defined } from "@pagurus/core/data/defined";

/** An unchecked item of Codex; fields are checked where they are read. */
export type RawItem = Readonly<Record<string, unknown>> & { type: string };

interface Identity {
  provider: string;
  model: string;
}

export class CodexTurnMirror {
  readonly #identity: Identity;
  readonly #emit: (message: AgentMessage) => void;
  readonly #calls = new Map<string, string>();
  readonly #answered = new Set<string>();
  /** Ids of calls whose item reports a failure. */
  readonly #failed = new Set<string>();
  /** Images from the host's tools, by call id. */
  readonly #toolImages = new Map<string, ImagePart[]>();
  #content: AssistantMessage["content"] = [];
  /** Streamed text that is in no item yet, by item. */
  readonly #streamed = new Map<string, string>();

  /** Ids of complete items. */
  readonly #whole = new Set<string>();
  /** Parts of items that were emitted before they were complete. */
  readonly #emittedParts = new Map<string, string>();

  /** `emit` is called for each complete message, in order. */
  constructor(identity: Identity, emit: (message: AgentMessage) => void) {
    this.#identity = identity;
    this.#emit = emit;
  }

  delta(itemId: string, delta: string): void {
    // A thread's file may be ahead of the stream.
    if (this.#whole.has(itemId)) return;
    this.#streamed.set(itemId, (this.#streamed.get(itemId) ?? "") + delta);
  }

  /** The call has failed: its item says so, its output does not. */
  failed(callId: string): void {
    this.#failed.add(callId);
  }

  /** Keeps the answer of a host's tool; Codex records large images resized and encoded again. */
  answered(callId: string, content: readonly (TextPart | ImagePart)[]): void {
    const images = content.filter((part) => part.type === "image");
    if (images.length > 0) this.#toolImages.set(callId, images);
  }

  /** The answer broke off and is retried: Codex drops text that is in no item, and so do we. */
  retry(): void {
    this.#streamed.clear();
  }

  item(item: RawItem): void {
    if (item.type === "message") return this.#message(item);
    if (item.type === "reasoning") return this.#reasoning(item);
    const call = itemCall(item);
    if (call && call.id !== "") {
      this.#calls.set(call.id, call.name);
      // A retried answer may reuse an id.
      this.#answered.delete(call.id);
      this.#content.push(call);
      return;
    }
    if (/^(?:function_call|custom_tool_call|tool_search)_output$/.test(item.type)) this.#output(item);
  }

  /**
   * Input joins the turn here. Earlier streamed text belongs before it: Codex drops the current answer, or continues it until
   * it shows the input to the model.
   */
  split(): void {
    for (const [id, streamed] of this.#streamed) {
      if (streamed === "") continue;
      this.#content.push({ type: "text", text: streamed });
      this.#emittedParts.set(id, (this.#emittedParts.get(id) ?? "") + streamed);
    }
    this.#streamed.clear();
    this.#flush(undefined, "stop");
  }

  /** The model's answer is complete. */
  response(usage: Usage | undefined): void {
    this.#flush(usage, "stop");
  }

  /** Ends the turn: emits text that only streamed and closes calls without a result. */
  end(how: "stop" | "aborted" | "error"): void {
    for (const streamed of this.#streamed.values())
      if (streamed !== "") this.#content.push({ type: "text", text: streamed });
    this.#streamed.clear();
    this.#flush(undefined, how);
    for (const [toolCallId, toolName] of this.#calls) {
      if (this.#answered.has(toolCallId)) continue;
      const text = "The turn ended before this tool call finished; its outcome is unknown.";
      this.#result({ toolCallId, toolName, content: [{ type: "text", text }], isError: true });
    }
  }

  #message(item: RawItem): void {
    if (item["role"] !== "assistant") return;
    const id = stringOf(item["id"]);
    this.#whole.add(id);
    this.#streamed.delete(id);
    const whole = itemText(item);
    const before = this.#emittedParts.get(id) ?? "";
    const rest = whole.startsWith(before) ? whole.slice(before.length) : whole;
    if (rest !== "") this.#content.push({ type: "text", text: rest });
  }

  #reasoning(item: RawItem): void {
    const thinking = itemReasoning(item);
    if (thinking !== "") this.#content.push({ type: "thinking", thinking });
  }

  #output(item: RawItem): void {
    const toolCallId = stringOf(item["call_id"]);
    const toolName = this.#calls.get(toolCallId);
    // An output without a call is a fragment in that form, or belongs to another program.
    if (toolName === undefined || this.#answered.has(toolCallId)) return;
    this.#flush(undefined, "toolUse");
    const shown = itemContent(item.type === "tool_search_output" ? "done" : item["output"]);
    const content = this.#withToolImages(toolCallId, shown);
    this.#result({ toolCallId, toolName, content, isError: this.#failed.has(toolCallId) });
  }

  #withToolImages(callId: string, shown: (TextPart | ImagePart)[]): (TextPart | ImagePart)[] {
    const images = this.#toolImages.get(callId);
    this.#toolImages.delete(callId);
    // Codex replaced an unreadable image by text, which the model was shown.
    if (images?.length !== shown.filter(({ type }) => type === "image").length) return shown;
    const left = images.values();
    return shown.map((part) => (part.type === "image" ? (left.next().value ?? part) : part));
  }

  #result(result: Omit<ToolResultMessage, "role" | "timestamp">): void {
    this.#answered.add(result.toolCallId);
    this.#emit({ role: "toolResult", ...result, timestamp: Date.now() });
  }

  #flush(usage: Usage | undefined, how: StopReason): void {
    if (this.#content.length === 0) return;
    const isCall = this.#content.some((part) => part.type === "toolCall");
    this.#emit({
      role: "assistant",
      content: this.#content,
      ...this.#identity,
      ...defined({ usage }),
      stopReason: isCall && how === "stop" ? "toolUse" : how,
      timestamp: Date.now(),
    });
    this.#content = [];
  }
}
