/** Collects the pieces of an answer into a message, in the order in which each thing first came. */
import type {
  AssistantMessage,
  StopReason,
  TextPart,
  ThinkingPart,
  Usage,
} from "../../../../contract/message.ts";
import { argumentsOf } from "../../../../responses/items.ts";
import type { WireAnswer } from "../dialect.ts";
import { countOf, fieldsOf, listOf, textOf, type Fields } from "../../json/fields.ts";
import { readUsage } from "./usage.ts";

interface OpenCall {
  id: string;
  name: string;
  given: string;
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

  /** What a chunk tells beside its choices; of counts the last ones hold. */
  about(chunk: Fields): void {
    this.#model ||= textOf(chunk["model"]);
    this.#usage = readUsage(chunk["usage"]) ?? this.#usage;
  }

  whole(message: AssistantMessage): void {
    this.#whole = message;
  }

  finish(reason: unknown): void {
    if (typeof reason === "string" && reason !== "") this.#reason = reason;
  }

  delta(delta: Fields): void {
    this.#thinking(textOf(delta["reasoning_content"]) || textOf(delta["reasoning"]));
    const content = delta["content"];
    // Mistral's answers have parts.
    if (typeof content === "string") this.#text(content);
    else for (const part of listOf(content)) this.#text(textOf(part["text"]));
    this.#text(textOf(delta["refusal"]));
    for (const call of listOf(delta["tool_calls"])) this.#call(call);
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
    const id = textOf(piece["id"]);
    const { name, arguments: given } = fieldsOf(piece["function"]);
    const call = this.#open(countOf(piece["index"]), id);
    call.id ||= id;
    call.name ||= textOf(name);
    // Ollama once gave them as an object.
    call.given += typeof given === "object" && given !== null ? JSON.stringify(given) : textOf(given);
  }

  /** Pieces belong together by their index; servers that have none, or the same for all calls, begin each with a new id. */
  #open(index: number | undefined, id: string): OpenCall {
    const at = index ?? (id === "" ? this.#calls.size - 1 : this.#calls.size);
    const known = this.#calls.get(at);
    if (known && (id === "" || known.id === "" || known.id === id)) return known;
    const call: OpenCall = { id: "", name: "", given: "" };
    this.#calls.set(at, call);
    this.#parts.push(call);
    return call;
  }

  #message(): AssistantMessage {
    if (this.#whole) return { ...this.#whole };
    const content = this.#parts.map((part): AssistantMessage["content"][number] => {
      if ("type" in part) return part;
      const { id, name, given } = part;
      return { type: "toolCall", id, name: name || "unknown", arguments: argumentsOf(given) };
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
