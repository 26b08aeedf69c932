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
  ToolCallPart,
  ToolResultMessage,
  Usage,
} from "../../contract/message.ts";

/** An item as Codex reports it; fields are checked where they are read. */
export type RawItem = Readonly<Record<string, unknown>> & { type: string };

interface Identity {
  provider: string;
  model: string;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parts(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value)
    ? value.filter((part): part is Record<string, unknown> => typeof part === "object" && part !== null)
    : [];
}

function argumentsOf(value: unknown): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text(value) || "{}");
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed))
      return parsed as Record<string, unknown>;
  } catch {
    // What the model wrote is kept as it is; Codex has told it that it cannot be parsed.
  }
  return { input: text(value) };
}

/** The call that an item stands for, where it is one. */
function callOf(item: RawItem): ToolCallPart | undefined {
  const id = text(item["call_id"]) || text(item["id"]);
  if (id === "") return undefined;
  if (item.type === "function_call")
    return { type: "toolCall", id, name: text(item["name"]), arguments: argumentsOf(item["arguments"]) };
  if (item.type === "custom_tool_call")
    return { type: "toolCall", id, name: text(item["name"]), arguments: { input: text(item["input"]) } };
  if (item.type === "local_shell_call")
    return { type: "toolCall", id, name: "shell", arguments: { action: item["action"] } };
  if (item.type === "tool_search_call")
    return { type: "toolCall", id, name: "tool_search", arguments: { query: item["arguments"] } };
  return undefined;
}

const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

function outputContent(output: unknown): (TextPart | ImagePart)[] {
  if (typeof output === "string") return [{ type: "text", text: output }];
  return parts(output).map((part): TextPart | ImagePart => {
    const match = DATA_URL.exec(text(part["image_url"]));
    return match?.[1] !== undefined && match[2] !== undefined
      ? { type: "image", mimeType: match[1], data: match[2] }
      : { type: "text", text: text(part["text"]) };
  });
}

export class TurnMirror {
  readonly #identity: Identity;
  readonly #emit: (message: AgentMessage) => void;
  readonly #calls = new Map<string, string>();
  readonly #answered = new Set<string>();
  /** Outcome of a call as its item says it, by call id. */
  readonly #failed = new Set<string>();
  #content: AssistantMessage["content"] = [];
  /** Text that has streamed in and no item holds yet, by item. */
  readonly #streamed = new Map<string, string>();

  /** Beginnings of items that were told before they were complete. */
  readonly #said = new Map<string, string>();

  /** `emit` is called for each message once it is complete, in order. */
  constructor(identity: Identity, emit: (message: AgentMessage) => void) {
    this.#identity = identity;
    this.#emit = emit;
  }

  delta(itemId: string, delta: string): void {
    this.#streamed.set(itemId, (this.#streamed.get(itemId) ?? "") + delta);
  }

  /** The call has failed: its item says so, its output does not. */
  failed(callId: string): void {
    this.#failed.add(callId);
  }

  item(item: RawItem): void {
    if (item.type === "message") return this.#message(item);
    if (item.type === "reasoning") return this.#reasoning(item);
    const call = callOf(item);
    if (call) {
      this.#calls.set(call.id, call.name);
      this.#content.push(call);
      return;
    }
    if (/^(?:function_call|custom_tool_call|tool_search)_output$/.test(item.type)) this.#output(item);
  }

  /**
   * Input joins the turn here. What has streamed in so far was said before it: Codex drops the answer that is under way,
   * or goes on with it behind the input.
   */
  split(): void {
    for (const [id, streamed] of this.#streamed) {
      if (streamed === "") continue;
      this.#content.push({ type: "text", text: streamed });
      this.#said.set(id, streamed);
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
    this.#streamed.delete(id);
    const whole = parts(item["content"])
      .map((part) => text(part["text"]))
      .join("");
    const before = this.#said.get(id) ?? "";
    const said = whole.startsWith(before) ? whole.slice(before.length) : whole;
    if (said !== "") this.#content.push({ type: "text", text: said });
  }

  #reasoning(item: RawItem): void {
    const summary = [...parts(item["summary"]), ...parts(item["content"])].map((part) => text(part["text"]));
    const thinking = summary.filter((line) => line !== "").join("\n\n");
    if (thinking !== "") this.#content.push({ type: "thinking", thinking });
  }

  #output(item: RawItem): void {
    const toolCallId = text(item["call_id"]);
    const toolName = this.#calls.get(toolCallId);
    // An output without a call is a fragment that Codex shows so, or somebody else's.
    if (toolName === undefined || this.#answered.has(toolCallId)) return;
    this.#flush(undefined, "toolUse");
    const content = outputContent(item.type === "tool_search_output" ? "done" : item["output"]);
    this.#result({ toolCallId, toolName, content, isError: this.#failed.has(toolCallId) });
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
