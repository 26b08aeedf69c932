/** Writes a model's answer as events of the Responses API, as it comes. */
import type { AssistantMessage, ToolCallPart } from "@pagurus/contract/message";
import type { ModelPart } from "@pagurus/core/model/provider-types";
import { saysContextOverflow } from "@pagurus/core/model/quirks/error-phrases";
import type { ItemFields } from "@pagurus/core/protocols/responses/responses-items";
import type { AnswerWriter, WireRequest } from "../wire-dialect.ts";
import { AnswerEvents, outputText, usageMembers } from "./responses-events.ts";
import { customInput, offeredTools, type OfferedTool } from "./responses-tools.ts";

const NOTHING = Buffer.alloc(0);

interface Open {
  type: "text" | "thinking";
  id: string;
  deltas: string[];
}

export class ResponsesWriter implements AnswerWriter {
  readonly head: AnswerWriter["head"];
  readonly #request: WireRequest;
  readonly #events: AnswerEvents;
  #hasBegun = false;
  #hasEnded = false;
  /** The element that is being streamed. */
  #open: Open | undefined;

  constructor(request: WireRequest) {
    this.#request = request;
    this.#events = new AnswerEvents(request);
    this.head = { status: 200, headers: this.#events.headers };
  }

  write(part: ModelPart): Buffer {
    if (this.#hasEnded) return NOTHING;
    if (part.type === "finish") return this.#finish(part.message);
    if (part.type !== "retry")
      return part.delta === "" ? NOTHING : Buffer.concat([this.#begin(), this.#grow(part.type, part.delta)]);
    // Text already sent cannot be taken back, and repeating it would be another answer.
    return this.#open || this.#events.output.length > 0 ? this.fail(part.reason) : NOTHING;
  }

  fail(message: string): Buffer {
    if (this.#hasEnded) return NOTHING;
    const code = saysContextOverflow(message) ? "context_length_exceeded" : "server_error";
    const begun = this.#begin();
    this.#hasEnded = true;
    return Buffer.concat([begun, this.#events.end("failed", { error: { code, message } })]);
  }

  #begin(): Buffer {
    if (this.#hasBegun) return NOTHING;
    this.#hasBegun = true;
    return this.#events.begin();
  }

  #grow(type: Open["type"], delta: string): Buffer {
    const opened = this.#open?.type === type ? [] : [this.#close(), this.#begun(type)];
    this.#open?.deltas.push(delta);
    const { at } = this.#place();
    const grown =
      type === "text"
        ? this.#events.event("response.output_text.delta", { ...at, content_index: 0, delta, logprobs: [] })
        : this.#events.event("response.reasoning_summary_text.delta", { ...at, summary_index: 0, delta });
    return Buffer.concat([...opened, grown]);
  }

  /** Place of the element that is being streamed. */
  #place(): { output_index: number; at: ItemFields } {
    const output_index = this.#events.output.length;
    return { output_index, at: { item_id: this.#open?.id, output_index } };
  }

  #begun(type: Open["type"]): Buffer {
    const id = this.#events.id(type === "text" ? "msg" : "rs");
    this.#open = { type, id, deltas: [] };
    const { output_index, at } = this.#place();
    const item =
      type === "text"
        ? { id, type: "message", role: "assistant", status: "in_progress", content: [] }
        : { id, type: "reasoning", summary: [] };
    return Buffer.concat([
      this.#events.event("response.output_item.added", { output_index, item }),
      this.#opening(type, at),
    ]);
  }

  #opening(type: Open["type"], at: ItemFields): Buffer {
    if (type === "text")
      return this.#events.event("response.content_part.added", {
        ...at,
        content_index: 0,
        part: outputText(""),
      });
    const part = { type: "summary_text", text: "" };
    return this.#events.event("response.reasoning_summary_part.added", { ...at, summary_index: 0, part });
  }

  #close(): Buffer {
    const open = this.#open;
    if (!open) return NOTHING;
    const { output_index, at } = this.#place();
    const text = open.deltas.join("");
    const { type, id } = open;
    this.#open = undefined;
    const item =
      type === "text"
        ? { id, type: "message", role: "assistant", status: "completed", content: [outputText(text)] }
        : { id, type: "reasoning", summary: [{ type: "summary_text", text }] };
    this.#events.output.push(item);
    return Buffer.concat([
      ...this.#closing(type, at, text),
      this.#events.event("response.output_item.done", { output_index, item }),
    ]);
  }

  #closing(type: Open["type"], at: ItemFields, text: string): Buffer[] {
    if (type === "text") {
      const place = { ...at, content_index: 0 };
      return [
        this.#events.event("response.output_text.done", { ...place, text, logprobs: [] }),
        this.#events.event("response.content_part.done", { ...place, part: outputText(text) }),
      ];
    }
    const place = { ...at, summary_index: 0 };
    const part = { type: "summary_text", text };
    return [
      this.#events.event("response.reasoning_summary_text.done", { ...place, text }),
      this.#events.event("response.reasoning_summary_part.done", { ...place, part }),
    ];
  }

  #finish(message: AssistantMessage): Buffer {
    const { stopReason, errorMessage, usage } = message;
    if (stopReason === "error" || stopReason === "aborted")
      return this.fail(errorMessage ?? "the model's answer has no proper end");
    const parts = [this.#begin(), ...this.#unsent(message), this.#close(), ...this.#calls(message)];
    const end =
      stopReason === "length"
        ? this.#events.end("incomplete", {
            incomplete_details: { reason: "max_output_tokens" },
            ...usageMembers(usage),
          })
        : this.#events.end("completed", usageMembers(usage));
    this.#hasEnded = true;
    return Buffer.concat([...parts, end]);
  }

  /** Text that came only with the end. */
  #unsent({ content }: AssistantMessage): Buffer[] {
    if (this.#open || this.#events.output.length > 0) return [];
    return content.flatMap((part) => {
      if (part.type === "text" && part.text !== "") return [this.#grow("text", part.text)];
      if (part.type === "thinking" && part.thinking !== "") return [this.#grow("thinking", part.thinking)];
      return [];
    });
  }

  #calls({ content }: AssistantMessage): Buffer[] {
    const calls = content.filter((part) => part.type === "toolCall");
    const tools = calls.length > 0 ? offeredTools(this.#request) : new Map<string, OfferedTool>();
    return calls.map((call) => this.#call(call, tools.get(call.name)));
  }

  #call({ id: call_id, name, arguments: args }: ToolCallPart, tool: OfferedTool | undefined): Buffer {
    const space = tool?.namespace === undefined ? {} : { namespace: tool.namespace };
    const called = { status: "completed", name: tool?.name ?? name, ...space, call_id };
    if (tool?.isCustom) {
      const item = { id: this.#events.id("ctc"), type: "custom_tool_call", ...called };
      return this.#events.element({ ...item, input: customInput(args) }, { ...item, input: "" });
    }
    const item = {
      id: this.#events.id("fc"),
      type: "function_call",
      ...called,
      arguments: JSON.stringify(args),
    };
    // A tool without a name is OpenAI's own, whose calls have another form and no arguments in pieces.
    return tool ? this.#events.call(item) : this.#events.element(item, { ...item, arguments: "" });
  }
}
