/** Converts our messages to elements of `contents`. */
import { missingResult } from "@pagurus/core/compaction/tool-pairing";
import type {
  AgentMessage,
  AssistantMessage,
  ToolCallPart,
  ToolResultMessage,
} from "@pagurus/contract/message";
import { stringOf } from "@pagurus/core/data/record-fields";
import { callPart, contentParts, type Part, resultParts } from "@pagurus/core/protocols/gemini/gemini-parts";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import type { EncodeOptions, WireRequest } from "../wire-dialect.ts";
import { declaredFunctions, requestMembers, spanOf } from "./generate-content-fields.ts";
import { ContentItem } from "./generate-content-items.ts";
import { readable } from "../../json/scan.ts";

interface Element {
  role: "user" | "model";
  parts: Part[];
}

/** First content of a context that would begin with an answer, whose calls the API rejects. */
const BEGINNING = "(The conversation continues from here.)";

/**
 * Gemini 3 rejects a call of the current turn without the signature of its thought. This is the documented value for calls that it
 * has not made itself; like its own signature it is on the first call of an answer. See ai.google.dev/gemini-api/docs/thought-signatures.
 */
const FOREIGN_SIGNATURE = "skip_thought_signature_validator";
/** Models that have no such rule, and take a result's images next to it. All others count as newer ones. */
const OLDER = /(?:^|\/)(?:gemini-[12][.-]|gemma)/;

class Encoder {
  readonly #options: EncodeOptions;
  readonly #isOlder: boolean;
  readonly #elements: Element[] = [];
  #names: readonly string[] | undefined;

  constructor(options: EncodeOptions) {
    this.#options = options;
    this.#isOlder = OLDER.test(options.request.model);
  }

  run(messages: readonly AgentMessage[], addition: string | undefined): Element[] {
    if (addition !== undefined && addition.trim() !== "")
      this.#push("user", [{ text: `<instructions>\n${addition}\n</instructions>` }]);
    // Their calls are in the harness's own elements right before.
    const first = messages.findIndex(({ role }) => role !== "toolResult");
    const leading = (first < 0 ? messages : messages.slice(0, first)).filter(
      (message) => message.role === "toolResult",
    );
    this.#push(
      "user",
      leading.flatMap((result) => this.#result(result, this.#ownId(result.toolCallId))),
    );
    for (let at = leading.length; at < messages.length;) {
      const message = messages[at];
      if (message?.role === "user") {
        this.#push("user", contentParts(message.content));
        at += 1;
      } else at = this.#round(messages, at);
    }
    if (this.#elements[0]?.role === "model" && this.#options.isContinued !== true)
      this.#elements.unshift({ role: "user", parts: [{ text: BEGINNING }] });
    return this.#elements;
  }

  /** Answers without results between them are one content: a content with calls has to follow the user's. */
  #push(role: Element["role"], parts: Part[]): void {
    const last = this.#elements.at(-1);
    if (parts.length === 0) return;
    if (role === "model" && last?.role === "model") last.parts.push(...parts);
    else this.#elements.push({ role, parts });
  }

  /** Encodes answers with the results of their calls, wherever these are before the next question; returns the index after them. */
  #round(messages: readonly AgentMessage[], from: number): number {
    let end = from;
    while (end < messages.length && messages[end]?.role !== "user") end += 1;
    const round = messages.slice(from, end);
    const results = round.filter((message) => message.role === "toolResult");
    const answers = round.filter((message) => message.role === "assistant");
    for (const [index, message] of answers.entries()) {
      // The harness's elements that follow may contain the results of the last answer.
      const mayContinue = end === messages.length && index === answers.length - 1;
      const calls = message.content.filter((part) => part.type === "toolCall");
      const own = calls.flatMap((call): ToolResultMessage[] => {
        const at = results.findIndex(({ toolCallId }) => toolCallId === call.id);
        const [result] = at < 0 ? [] : results.splice(at, 1);
        return result ? [result] : [];
      });
      this.#answer(message);
      if (own.length > 0 || !mayContinue) this.#results(calls, own);
    }
    return end;
  }

  /** The results of all calls of an answer are in one content: the API counts them. */
  #results(calls: readonly ToolCallPart[], own: readonly ToolResultMessage[]): void {
    const left = [...own];
    const parts = calls.flatMap((call) => {
      const at = left.findIndex(({ toolCallId }) => toolCallId === call.id);
      const result = at < 0 ? missingResult(call) : left.splice(at, 1)[0];
      return result ? this.#result({ ...result, toolName: call.name }, call.id) : [];
    });
    this.#push("user", parts);
  }

  #answer({ content }: AssistantMessage): void {
    let isSigned = this.#isOlder;
    const parts = content.flatMap((part): Part[] => {
      if (part.type === "thinking") return [];
      if (part.type === "text") return contentParts([part]);
      const call = callPart(part.id || undefined, this.#nameOf(part.name), part.arguments);
      if (isSigned) return [call];
      isSigned = true;
      return [{ ...call, thoughtSignature: FOREIGN_SIGNATURE }];
    });
    this.#push("model", parts);
  }

  #result(result: ToolResultMessage, id: string | undefined): Part[] {
    const name = this.#nameOf(result.toolName);
    return resultParts(result, { id: id || undefined, name, takesImages: !this.#isOlder });
  }

  /** The id that a call has in the harness's own bytes; undefined if it has none there, or if several calls are equal. */
  #ownId(id: string): string | undefined {
    const ids = this.#options.request.items.flatMap((item) =>
      item instanceof ContentItem
        ? item.calls.filter((call) => call.id === id).map(({ ownId }) => ownId)
        : [],
    );
    const [only = ""] = new Set(ids).size === 1 ? ids : [];
    return only || undefined;
  }

  /** The name under which Gemini CLI offers a tool of the host (`mcp_server_name`). */
  #nameOf(name: string): string {
    const plain = toolName(name) || "unknown";
    this.#names ??= offeredNames(this.#options.request);
    if (this.#names.includes(plain)) return plain;
    const offered = this.#names.filter((known) => known.startsWith("mcp_") && known.endsWith(`_${plain}`));
    return offered.length === 1 ? (offered[0] ?? plain) : plain;
  }
}

/** Names of the functions that the request declares. */
function offeredNames({ body }: WireRequest): string[] {
  const tools = spanOf(requestMembers(body), "tools");
  return declaredFunctions(tools && readable(body, tools)).map(({ name }) => stringOf(name));
}

/** Omits thinking. The results of calls follow directly after them, each once. */
export function encodeMessages(
  messages: readonly AgentMessage[],
  addition: string | undefined,
  options: EncodeOptions,
): Buffer {
  const elements = new Encoder(options).run(messages, addition);
  return Buffer.from(elements.map((element) => JSON.stringify(element)).join(","));
}
