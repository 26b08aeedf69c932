/** Builds a message from the chunks of an answer, in the order in which its parts first came. */
import type {
  AssistantMessage,
  StopReason,
  TextPart,
  ThinkingPart,
  Usage,
} from "../../../contract/message.ts";
import { countOf, type Fields, recordOf, recordsOf, stringOf } from "../../../data/record-fields.ts";
import { thinkingOf } from "../../../protocols/completions/completions-messages.ts";
import { argumentsOf } from "../../../protocols/protocol-parts.ts";
import type { WireAnswer } from "../wire-dialect.ts";
import { readUsage } from "../../../protocols/completions/completions-usage.ts";

interface OpenCall {
  id: string;
  name: string;
  args: string;
}

const STOPS: Readonly<Record<string, StopReason>> = {
  tool_calls: "toolUse",
  function_call: "toolUse",
  length: "length",
  content_filter: "error",
};

export class AnswerParts {
  readonly #parts: (TextPart | ThinkingPart | OpenCall)[] = [];
  readonly #calls = new Map<number, OpenCall>();
  #whole: AssistantMessage | undefined;
  #model = "";
  #usage: Usage | undefined;
  #reason: string | undefined;

  /** Reads what a chunk has besides its choices; the last counts are used. */
  about(chunk: Fields): void {
    this.#model ||= stringOf(chunk["model"]);
    this.#usage = readUsage(chunk["usage"]) ?? this.#usage;
  }

  whole(message: AssistantMessage): void {
    this.#whole = message;
  }

  finish(reason: unknown): void {
    if (typeof reason === "string" && reason !== "") this.#reason = reason;
  }

  delta(delta: Fields): void {
    this.#thinking(thinkingOf(delta));
    const content = delta["content"];
    // Mistral's answers have parts.
    if (typeof content === "string") this.#text(content);
    else for (const part of recordsOf(content)) this.#text(stringOf(part["text"]));
    this.#text(stringOf(delta["refusal"]));
    for (const call of recordsOf(delta["tool_calls"])) this.#call(call);
  }

  #text(text: string): void {
    if (text === "") return;
    const last = this.#parts.at(-1);
    if (last && "type" in last && last.type === "text") last.text += text;
    else this.#parts.push({ type: "text", text });
  }

  #thinking(text: string): void {
    if (text === "") return;
    const last = this.#parts.at(-1);
    if (last && "type" in last && last.type === "thinking") last.thinking += text;
    else this.#parts.push({ type: "thinking", thinking: text });
  }

  #call(piece: Fields): void {
    const id = stringOf(piece["id"]);
    const { name, arguments: args } = recordOf(piece["function"]);
    const call = this.#open(countOf(piece["index"]), id);
    call.id ||= id;
    call.name ||= stringOf(name);
    // Older versions of Ollama send an object.
    call.args += typeof args === "object" && args !== null ? JSON.stringify(args) : stringOf(args);
  }

  /** Pieces belong together by index; for servers without an index, or with the same one for all calls, a new id begins a call. */
  #open(index: number | undefined, id: string): OpenCall {
    const at = index ?? (id === "" ? this.#calls.size - 1 : this.#calls.size);
    const known = this.#calls.get(at);
    if (known && (id === "" || known.id === "" || known.id === id)) return known;
    const call: OpenCall = { id: "", name: "", args: "" };
    this.#calls.set(at, call);
    this.#parts.push(call);
    return call;
  }

  #message(): AssistantMessage {
    if (this.#whole) return { ...this.#whole };
    const content = this.#parts.map((part): AssistantMessage["content"][number] => {
      if ("type" in part) return part;
      const { id, name, args } = part;
      return { type: "toolCall", id, name: name || "unknown", arguments: argumentsOf(args) };
    });
    return { role: "assistant", content };
  }

  end(error: WireAnswer["error"]): WireAnswer {
    const message = this.#message();
    const calls = message.content.some(({ type }) => type === "toolCall");
    const usage = this.#usage;
    if (this.#model !== "") message.model = this.#model;
    if (usage) message.usage = usage;
    if (error) {
      message.stopReason = "error";
      message.errorMessage = error.message;
    } else if (this.#reason !== undefined) {
      const stop = STOPS[this.#reason] ?? (calls ? "toolUse" : "stop");
      message.stopReason = stop;
      if (stop === "error") message.errorMessage = "The provider's filter ended the answer.";
    }
    return {
      message,
      isComplete: error === undefined && this.#reason !== undefined,
      ...(usage ? { usage } : {}),
      ...(error ? { error } : {}),
    };
  }
}
