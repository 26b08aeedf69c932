/** Converts our messages to elements of `messages`. */
import { createHash } from "node:crypto";
import { missingResult } from "@pagurus/core/compaction/tool-pairing";
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultMessage,
  UserMessage,
} from "@pagurus/contract/message";
import { callFields, imageFields } from "@pagurus/core/protocols/completions/completions-messages";
import { objectMembers, parsePart } from "../../json/scan.ts";
import type { EncodeOptions } from "../wire-dialect.ts";

type Element = Record<string, unknown>;

/** OpenAI rejects longer call ids. */
const LONGEST_ID = 40;

/** The role for rules: that of the harness's own rules, as servers may not know the newer name `developer`; default `system`. */
function rulesRole({ request }: EncodeOptions): "developer" | "system" {
  const { body, items, prefixCount } = request;
  const isDeveloper = items.slice(0, prefixCount).some((item) => {
    const role = objectMembers(body, item).get("role");
    return role !== undefined && parsePart(body, role) === "developer";
  });
  return isDeveloper ? "developer" : "system";
}

class Encoder {
  readonly #options: EncodeOptions;
  readonly #elements: Element[] = [];

  constructor(options: EncodeOptions) {
    this.#options = options;
  }

  run(messages: readonly AgentMessage[], addition: string | undefined): Buffer {
    if (addition !== undefined && addition !== "")
      this.#elements.push({ role: rulesRole(this.#options), content: addition });
    // Their calls are in the harness's own elements right before.
    const first = messages.findIndex(({ role }) => role !== "toolResult");
    const leading = (first < 0 ? messages : messages.slice(0, first)).filter(
      (message) => message.role === "toolResult",
    );
    this.#results(leading, first < 0);
    for (let at = leading.length; at < messages.length;) {
      const message = messages[at];
      if (message?.role === "user") {
        this.#user(message);
        at += 1;
      } else at = this.#round(messages, at);
    }
    return Buffer.from(this.#elements.map((element) => JSON.stringify(element)).join(","));
  }

  #user({ content, fragment }: UserMessage): void {
    const own = fragment?.kind === "application" && typeof content === "string";
    const role = own && rulesRole(this.#options) === "developer" ? "developer" : "user";
    if (typeof content === "string") {
      if (content !== "") this.#elements.push({ role, content });
      return;
    }
    const parts = content
      .filter((part) => part.type === "image" || part.text !== "")
      .map((part) => (part.type === "text" ? { type: "text", text: part.text } : imageFields(part)));
    if (parts.length > 0) this.#elements.push({ role, content: parts });
  }

  /** Encodes an answer and the results of its calls, wherever these are before the next question; returns the index after the answers. */
  #round(messages: readonly AgentMessage[], from: number): number {
    let end = from;
    while (end < messages.length && messages[end]?.role !== "user") end += 1;
    const answers: { message: AssistantMessage; calls: ToolCallPart[] }[] = [];
    const results: ToolResultMessage[] = [];
    for (const message of messages.slice(from, end)) {
      if (message.role === "toolResult") results.push(message);
      else if (message.role === "assistant") answers.push({ message, calls: toolCallParts(message) });
    }
    // The harness's elements that follow may contain the results of the last answer.
    const isLast = end === messages.length;
    for (const [index, { message, calls }] of answers.entries()) {
      const mayContinue = isLast && index === answers.length - 1;
      const ownResults = calls.flatMap((call): ToolResultMessage[] => {
        const at = results.findIndex(({ toolCallId }) => toolCallId === call.id);
        const [result] = at < 0 ? [] : results.splice(at, 1);
        if (result) return [result];
        return mayContinue ? [] : [missingResult(call)];
      });
      this.#answer(message, calls);
      this.#results(ownResults, mayContinue && ownResults.length < calls.length);
    }
    return end;
  }

  #answer({ content }: AssistantMessage, calls: readonly ToolCallPart[]): void {
    const words = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    if (words === "" && calls.length === 0) return;
    const toolCalls = calls.map((call) => callFields({ ...call, id: this.#id(call.id) }));
    const called = toolCalls.length > 0 ? { tool_calls: toolCalls } : {};
    this.#elements.push({ role: "assistant", content: words === "" ? null : words, ...called });
  }

  /**
   * Results are text only in this protocol; images follow all results of a round in a user message, and are left out if results may
   * follow in the harness's own elements.
   */
  #results(results: readonly ToolResultMessage[], mayContinue: boolean): void {
    const images: ImagePart[] = [];
    for (const { toolCallId, content } of results) {
      const own = content.filter((part) => part.type === "image");
      const texts = content.filter((part): part is TextPart => part.type === "text");
      if (!mayContinue) images.push(...own);
      const words = texts.map((part) => part.text).join("\n");
      const output = words === "" ? (own.length > 0 ? "(image)" : "(no output)") : words;
      this.#elements.push({ role: "tool", tool_call_id: this.#id(toolCallId), content: output });
    }
    if (images.length === 0) return;
    const text = "Images from the tool results above:";
    this.#elements.push({ role: "user", content: [{ type: "text", text }, ...images.map(imageFields)] });
  }

  /** Ids that the harness itself uses stay, however long: the other half of the pair may be in its own bytes. */
  #id(id: string): string {
    if (id !== "" && (id.length <= LONGEST_ID || this.#options.request.body.includes(JSON.stringify(id))))
      return id;
    return `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
  }
}

function toolCallParts({ content }: AssistantMessage): ToolCallPart[] {
  return content.filter((part) => part.type === "toolCall");
}

/** Omits thinking. The results of calls follow directly after them, each once. */
export function encodeMessages(
  messages: readonly AgentMessage[],
  addition: string | undefined,
  options: EncodeOptions,
): Buffer {
  return new Encoder(options).run(messages, addition);
}
