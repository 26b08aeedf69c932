/** Converts the conversation for the writers of the protocols, with true roles. Deterministic: equal input, equal bytes. */
import { createHash } from "node:crypto";
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolResultMessage,
  UserMessage,
} from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import { summaryPieces } from "../compaction/summary/summary-pieces.ts";
import { readSummary } from "@pagurus/contract/engine/summary";
import type {
  AnswerPart,
  Prompt,
  PromptMessage,
  PromptPart,
  PromptResult,
  PromptText,
} from "./prompt-types.ts";
import { fileFields, fileOf } from "../protocols/files.ts";
import type { Quirks } from "./quirks/quirk-kinds.ts";
import { quirksOf } from "./quirks/quirk-table.ts";

/** Ids that every provider accepts; others occur when a conversation moves between providers. */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/**
 * Number of content blocks after the end of the previous request from which that end is marked too. Anthropic looks back over
 * 20 blocks from a mark for cached content. Source: the "prompt caching" page of Anthropic's documentation.
 */
const FAR_BLOCKS = 16;

/**
 * Builds the prompt. `stableCount` leading messages get Anthropic's history mark; the system text and the last message get one
 * too, the part of a summary that later compactions keep, and the end of the previous request where it is far back (a round of
 * many parallel calls). The last tool has the fourth mark, see `toolsOf`, unless these are four already.
 */
export function buildPrompt(
  system: string,
  messages: readonly AgentMessage[],
  info: ModelInfo,
  stableCount: number,
): Prompt {
  const writer = new PromptWriter(info);
  if (system !== "") writer.push({ role: "system", text: system });
  let stableEnd = 0;
  for (const [index, message] of messages.entries()) {
    if (index === stableCount) stableEnd = writer.prompt.length;
    writer.write(message);
  }
  if (stableCount >= messages.length) stableEnd = writer.prompt.length;
  writer.flushImages();
  const prompt = writer.prompt;
  if (writer.marks) mark(prompt, stableEnd, writer.lasting);
  return quirksOf(info).joinsUserMessages ? joinUserMessages(prompt) : prompt;
}

/** Whether a prompt gets cache marks. */
export function hasMarks(info: ModelInfo): boolean {
  return info.promptCache === "marks" && quirksOf(info).cacheMarks;
}

/** Number of marks in a prompt; Anthropic accepts four per request. */
export function countMarks(prompt: Prompt): number {
  return prompt.reduce((sum, message) => {
    const parts = message.role === "user" ? message.content : [];
    const marked = parts.filter((part) => part.type === "text" && part.mark).length;
    return sum + marked + (message.mark ? 1 : 0);
  }, 0);
}

/** End of the previous request, when more blocks were added since than the lookback covers. */
function farEnd(prompt: Prompt): number[] {
  const answer = prompt.findLastIndex(({ role }) => role === "assistant");
  if (answer < 1) return [];
  const since = prompt.slice(answer).reduce((sum, message) => sum + lengthOf(message), 0);
  return since >= FAR_BLOCKS ? [answer] : [];
}

function lengthOf(message: PromptMessage): number {
  return message.role === "system" ? 1 : message.content.length;
}

/**
 * Marks the system message, the lasting part of a summary, the end of the stable history, of the previous request and of the
 * prompt. With all five, the history's mark is omitted: it is cached up to the end of the previous request.
 */
function mark(prompt: Prompt, stableEnd: number, lasting: PromptText | undefined): void {
  const first = prompt[0];
  if (first?.role === "system") first.mark = true;
  if (lasting) lasting.mark = true;
  const far = farEnd(prompt);
  const history = lasting && far.length > 0 ? [] : [stableEnd];
  for (const end of [...history, ...far, prompt.length]) {
    // A thinking block cannot have a mark, so it goes to the last message before it that can.
    let index = end - 1;
    while (index > 0 && prompt[index]?.role === "assistant" && endsInThinking(prompt[index])) index--;
    const message = prompt[index];
    if (message && message.role !== "system") message.mark = true;
  }
}

function endsInThinking(message: PromptMessage | undefined): boolean {
  return message?.role === "assistant" && message.content.at(-1)?.type === "thinking";
}

class PromptWriter {
  readonly prompt: Prompt = [];
  /** The last part of a summary that later compactions keep unchanged. */
  lasting: PromptText | undefined;
  /** Whether the prompt gets cache marks. */
  readonly marks: boolean;
  readonly #info: ModelInfo;
  readonly #quirks: Quirks;
  /** Maps the transcript's tool call ids to this provider's. */
  readonly #ids = new Map<string, string>();
  /** Images of tool results that the protocol does not support there; they follow the results as a user message. */
  #images: ImagePart[] = [];

  constructor(info: ModelInfo) {
    this.#info = info;
    this.#quirks = quirksOf(info);
    this.marks = hasMarks(info);
  }

  push(message: PromptMessage): void {
    if (message.role !== "tool") this.flushImages();
    this.prompt.push(message);
  }

  write(message: AgentMessage): void {
    if (message.role === "user") this.#user(message);
    else if (message.role === "assistant") this.#assistant(message);
    else this.#toolResult(message);
  }

  flushImages(): void {
    if (this.#images.length === 0) return;
    const images = this.#images;
    this.#images = [];
    const text = "Images from the tool results above:";
    this.prompt.push({ role: "user", content: [{ type: "text", text }, ...images.map(imagePart)] });
  }

  #user(message: UserMessage): void {
    const { content: said, fragment } = message;
    if (fragment?.kind === "application" && typeof said === "string" && this.#quirks.developerMessages) {
      this.push({ role: "system", text: said });
      return;
    }
    if (this.marks && typeof message.content === "string" && this.#summary(message.content)) return;
    const parts: (TextPart | ImagePart)[] =
      typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    const content = parts
      .filter((part) => part.type === "image" || part.text !== "")
      .map((part) => this.#part(part));
    if (content.length > 0) this.push({ role: "user", content });
  }

  /** Adds a summary in parts, each of which can be cached separately; false for any other text. */
  #summary(text: string): boolean {
    const pieces = readSummary(text) === undefined ? [] : summaryPieces(text);
    if (pieces.length < 2) return false;
    const content = pieces.map((piece): PromptText => ({ type: "text", text: piece }));
    this.lasting = content.at(-2);
    this.push({ role: "user", content });
    return true;
  }

  #part(part: TextPart | ImagePart): PromptPart {
    if (part.type === "text") {
      const file = fileOf(part);
      if (file && fileFields(this.#info.api, file)) return { type: "file", ...file };
      return { type: "text", text: part.text };
    }
    if (!this.#info.input.includes("image")) return { type: "text", text: imageNote(part) };
    return imagePart(part);
  }

  #assistant(message: AssistantMessage): void {
    const own = message.provider === this.#info.provider && message.model === this.#info.id;
    const thoughts = message.content.filter((part) => part.type === "thinking");
    const sent = new Set(own ? this.#quirks.sendableThinking?.(thoughts) : []);
    const content: AnswerPart[] = [];
    for (const part of message.content) {
      if (part.type === "text") {
        if (part.text !== "") content.push({ type: "text", text: part.text });
      } else if (part.type === "thinking") {
        if (sent.has(part)) content.push(part);
      } else {
        const { signature } = part;
        content.push({
          type: "call",
          id: this.#callId(part.id, own),
          name: part.name,
          arguments: part.arguments,
          ...(own && signature && this.#quirks.signsCalls ? { signature } : {}),
        });
      }
    }
    // Thinking alone is not a turn of a conversation: it is left by an aborted answer.
    if (content.some((part) => part.type !== "thinking")) this.push({ role: "assistant", content });
  }

  #callId(id: string, own: boolean): string {
    const sent =
      own || PLAIN_ID.test(id) ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
    this.#ids.set(id, sent);
    return sent;
  }

  #toolResult(message: ToolResultMessage): void {
    const part: PromptResult = {
      id: this.#ids.get(message.toolCallId) ?? message.toolCallId,
      name: message.toolName,
      ...this.#output(message),
    };
    const last = this.prompt.at(-1);
    if (last?.role === "tool") last.content.push(part);
    else this.prompt.push({ role: "tool", content: [part] });
  }

  /** Text first and in one piece; images only where the protocol supports them inside a tool result. */
  #output({ content, isError }: ToolResultMessage): Pick<PromptResult, "text" | "images" | "failed"> {
    const { input } = this.#info;
    const texts: string[] = [];
    const images: ImagePart[] = [];
    for (const part of content) {
      if (part.type === "text") texts.push(part.text);
      else if (input.includes("image")) images.push(imagePart(part));
      else texts.push(imageNote(part));
    }
    const text = texts.join("\n");
    const shown = text === "" ? (images.length > 0 ? "(image)" : "(no output)") : text;
    if (images.length > 0 && this.#quirks.imagesInResults)
      return { text: isError ? `Error: ${text}` : shown, images, failed: false };
    this.#images.push(...images);
    return { text: shown, images: [], failed: isError && this.#quirks.failedResults };
  }
}

/** The part without fields that other code may have added. */
function imagePart({ data, mimeType }: ImagePart): ImagePart {
  return { type: "image", data, mimeType };
}

/** Placeholder for a model without image input, so that the surrounding text makes sense. */
function imageNote(image: ImagePart): string {
  return `[image (${image.mimeType}) left out: the model does not read images]`;
}

/** Joins consecutive user messages; adjacent texts become one, so that servers that only read a string get one. */
function joinUserMessages(prompt: Prompt): Prompt {
  const whole: Prompt = [];
  for (const message of prompt) {
    const last = whole.at(-1);
    if (message.role === "user" && last?.role === "user")
      last.content = joined(last.content, message.content);
    else whole.push(message.role === "user" ? { ...message, content: joined([], message.content) } : message);
  }
  return whole;
}

function joined(before: PromptPart[], after: PromptPart[]): PromptPart[] {
  const content = [...before];
  for (const part of after) {
    const last = content.at(-1);
    if (part.type === "text" && last?.type === "text") {
      content[content.length - 1] = { type: "text", text: `${last.text}\n\n${part.text}` };
    } else {
      content.push(part);
    }
  }
  return content;
}
