/**
 * What Codex records of a turn, as our messages: the raw items of its history as they complete. Items of its own
 * making (instructions, environment, what the user said) are not the agent's work and are left out. Source: harness
 * port, "6. Wire post-turn after transcript mirroring".
 */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  StopReason,
  TextPart,
  ToolResultMessage,
  Usage,
} from "../../contract/message.ts";
import { text } from "./fields.ts";
import { itemCall, itemOutput, itemParts, itemReasoning } from "../../responses/items.ts";

/** An item as Codex reports it; fields are checked where they are read. */
export type RawItem = Readonly<Record<string, unknown>> & { type: string };

interface Identity {
  provider: string;
  model: string;
}

export class TurnMirror {
  readonly #identity: Identity;
  readonly #emit: (message: AgentMessage) => void;
  readonly #calls = new Map<string, string>();
  readonly #answered = new Set<string>();
  /** Outcome of a call as its item says it, by call id. */
  readonly #failed = new Set<string>();
  /** Images that the host's tools gave Codex, by call id. */
  readonly #given = new Map<string, ImagePart[]>();
  #content: AssistantMessage["content"] = [];
  /** Text that has streamed in and no item holds yet, by item. */
  readonly #streamed = new Map<string, string>();

  /** Items that are complete. */
  readonly #whole = new Set<string>();
  /** Beginnings of items that were told before they were complete. */
  readonly #said = new Map<string, string>();

  /** `emit` is called for each message once it is complete, in order. */
  constructor(identity: Identity, emit: (message: AgentMessage) => void) {
    this.#identity = identity;
    this.#emit = emit;
  }

  delta(itemId: string, delta: string): void {
    // A thread's file may be ahead of what streams.
    if (this.#whole.has(itemId)) return;
    this.#streamed.set(itemId, (this.#streamed.get(itemId) ?? "") + delta);
  }

  /** The call has failed: its item says so, its output does not. */
  failed(callId: string): void {
    this.#failed.add(callId);
  }

  /** What a tool of the host has answered; Codex records large images as it shows them, smaller and encoded anew. */
  answered(callId: string, content: readonly (TextPart | ImagePart)[]): void {
    const images = content.filter((part) => part.type === "image");
    if (images.length > 0) this.#given.set(callId, images);
  }

  /** The answer broke off and is asked for again: Codex drops what no item holds, and so do we. */
  retry(): void {
    this.#streamed.clear();
  }

  item(item: RawItem): void {
    if (item.type === "message") return this.#message(item);
    if (item.type === "reasoning") return this.#reasoning(item);
    const call = itemCall(item);
    if (call && call.id !== "") {
      this.#calls.set(call.id, call.name);
      // An answer that was asked for again may use an id again.
      this.#answered.delete(call.id);
      this.#content.push(call);
      return;
    }
    if (/^(?:function_call|custom_tool_call|tool_search)_output$/.test(item.type)) this.#output(item);
  }

  /**
   * Input joins the turn here. What has streamed in so far was said before it: Codex drops the answer that is under way,
   * or goes on with it until it shows the input to the model.
   */
  split(): void {
    for (const [id, streamed] of this.#streamed) {
      if (streamed === "") continue;
      this.#content.push({ type: "text", text: streamed });
      this.#said.set(id, (this.#said.get(id) ?? "") + streamed);
    }
    this.#streamed.clear();
    this.#flush(undefined, "stop");
  }

  /** The model's answer is complete. */
  response(usage: Usage | undefined): void {
    this.#flush(usage, "stop");
  }

  /** What the turn left: text that only streamed, calls that nothing answered. */
  end(how: "stop" | "aborted" | "error"): void {
    for (const streamed of this.#streamed.values())
      if (streamed !== "") this.#content.push({ type: "text", text: streamed });
    this.#streamed.clear();
    this.#flush(undefined, how);
    for (const [toolCallId, toolName] of this.#calls) {
      if (this.#answered.has(toolCallId)) continue;
      const said = "The turn ended before this tool call finished; its outcome is unknown.";
      this.#result({ toolCallId, toolName, content: [{ type: "text", text: said }], isError: true });
    }
  }

  #message(item: RawItem): void {
    if (item["role"] !== "assistant") return;
    const id = text(item["id"]);
    this.#whole.add(id);
    this.#streamed.delete(id);
    const whole = itemParts(item["content"])
      .map((part) => text(part["text"]))
      .join("");
    const before = this.#said.get(id) ?? "";
    const said = whole.startsWith(before) ? whole.slice(before.length) : whole;
    if (said !== "") this.#content.push({ type: "text", text: said });
  }

  #reasoning(item: RawItem): void {
    const thinking = itemReasoning(item);
    if (thinking !== "") this.#content.push({ type: "thinking", thinking });
  }

  #output(item: RawItem): void {
    const toolCallId = text(item["call_id"]);
    const toolName = this.#calls.get(toolCallId);
    // An output without a call is a fragment that Codex shows so, or somebody else's.
    if (toolName === undefined || this.#answered.has(toolCallId)) return;
    this.#flush(undefined, "toolUse");
    const shown = itemOutput(item.type === "tool_search_output" ? "done" : item["output"]);
    const content = this.#withGiven(toolCallId, shown);
    this.#result({ toolCallId, toolName, content, isError: this.#failed.has(toolCallId) });
  }

  #withGiven(callId: string, shown: (TextPart | ImagePart)[]): (TextPart | ImagePart)[] {
    const given = this.#given.get(callId);
    this.#given.delete(callId);
    // One that Codex could not read is left out with words for it, which the model was shown.
    if (given?.length !== shown.filter(({ type }) => type === "image").length) return shown;
    const images = given.values();
    return shown.map((part) => (part.type === "image" ? (images.next().value ?? part) : part));
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
      ...(usage ? { usage } : {}),
      stopReason: isCall && how === "stop" ? "toolUse" : how,
      timestamp: Date.now(),
    });
    this.#content = [];
  }
}
