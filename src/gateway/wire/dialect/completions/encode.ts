/** Messages of ours as elements of `messages`. */
import { createHash } from "node:crypto";
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultMessage,
  UserMessage,
} from "../../../../contract/message.ts";
import { objectMembers, parsePart } from "../../json/scan.ts";
import type { EncodeOptions } from "../dialect.ts";

type Element = Record<string, unknown>;

/** OpenAI refuses longer ids of calls. */
const LONGEST_ID = 40;
/** As in contexts that the host repairs. */
const NO_RESULT = "No result was recorded for this tool call.";

/** Harnesses that know the newer name of the role say their rules with it; servers that do not know it get the older one. */
function rulesRole({ request }: EncodeOptions): "developer" | "system" {
  const { body, items, prefixCount } = request;
  const isDeveloper = items.slice(0, prefixCount).some((item) => {
    const role = objectMembers(body, item).get("role");
    return role !== undefined && parsePart(body, role) === "developer";
  });
  return isDeveloper ? "developer" : "system";
}

function imageOf({ mimeType, data }: ImagePart): Element {
  return { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } };
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
    // Their calls are in elements of the harness, right before.
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
      .map((part) => (part.type === "text" ? { type: "text", text: part.text } : imageOf(part)));
    if (parts.length > 0) this.#elements.push({ role, content: parts });
  }

  /** An answer and the results of its calls, wherever these stand before the next question; answers end behind it. */
  #round(messages: readonly AgentMessage[], from: number): number {
    let end = from;
    while (end < messages.length && messages[end]?.role !== "user") end += 1;
    const answers: { message: AssistantMessage; calls: ToolCallPart[] }[] = [];
    const results: ToolResultMessage[] = [];
    for (const message of messages.slice(from, end)) {
      if (message.role === "toolResult") results.push(message);
      else if (message.role === "assistant") answers.push({ message, calls: callsOf(message) });
    }
    // What the harness's own elements follow with may hold the results of the last answer.
    const isLast = end === messages.length;
    for (const [index, { message, calls }] of answers.entries()) {
      const mayGoOn = isLast && index === answers.length - 1;
      const ownResults = calls.flatMap((call): ToolResultMessage[] => {
        const at = results.findIndex(({ toolCallId }) => toolCallId === call.id);
        const [result] = at < 0 ? [] : results.splice(at, 1);
        if (result) return [result];
        return mayGoOn ? [] : [withoutResult(call)];
      });
      this.#answer(message, calls);
      this.#results(ownResults, mayGoOn && ownResults.length < calls.length);
    }
    return end;
  }

  #answer({ content }: AssistantMessage, calls: readonly ToolCallPart[]): void {
    const words = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    if (words === "" && calls.length === 0) return;
    const toolCalls = calls.map(({ id, name, arguments: given }) => ({
      id: this.#id(id),
      type: "function",
      function: { name, arguments: JSON.stringify(given) },
    }));
    const called = toolCalls.length > 0 ? { tool_calls: toolCalls } : {};
    this.#elements.push({ role: "assistant", content: words === "" ? null : words, ...called });
  }

  /**
   * Text only, as the protocol has it; images follow all results of a round as the user's, and are left out where results in
   * the harness's own elements may follow.
   */
  #results(results: readonly ToolResultMessage[], mayGoOn: boolean): void {
    const images: ImagePart[] = [];
    for (const { toolCallId, content } of results) {
      const own = content.filter((part) => part.type === "image");
      const texts = content.filter((part): part is TextPart => part.type === "text");
      if (!mayGoOn) images.push(...own);
      const words = texts.map((part) => part.text).join("\n");
      const said = words === "" ? (own.length > 0 ? "(image)" : "(no output)") : words;
      this.#elements.push({ role: "tool", tool_call_id: this.#id(toolCallId), content: said });
    }
    if (images.length === 0) return;
    const text = "Images from the tool results above:";
    this.#elements.push({ role: "user", content: [{ type: "text", text }, ...images.map(imageOf)] });
  }

  /** Ids that the harness itself uses stay, however long: the other half of the pair may stand in its own bytes. */
  #id(id: string): string {
    if (id !== "" && (id.length <= LONGEST_ID || this.#options.request.body.includes(JSON.stringify(id))))
      return id;
    return `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
  }
}

function callsOf({ content }: AssistantMessage): ToolCallPart[] {
  return content.filter((part) => part.type === "toolCall");
}

function withoutResult({ id, name }: ToolCallPart): ToolResultMessage {
  const content = [{ type: "text" as const, text: NO_RESULT }];
  return { role: "toolResult", toolCallId: id, toolName: name, content, isError: true };
}

/** Thinking is left out. Calls have their results right behind them, each once. */
export function encodeMessages(
  messages: readonly AgentMessage[],
  addition: string | undefined,
  options: EncodeOptions,
): Buffer {
  return new Encoder(options).run(messages, addition);
}
