/** Converts the conversation for the provider packages, with true roles. Deterministic: equal input, equal bytes. */
import { createHash } from "node:crypto";
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolResultMessage,
  UserMessage,
} from "../contract/message.ts";
import type { ModelInfo } from "../contract/model.ts";
import { summaryPieces } from "../compaction/summary/summary-pieces.ts";
import { readSummary } from "../contract/engine/summary.ts";
import type { Quirks, SignedThinking } from "./quirks/quirk-kinds.ts";
import { quirksOf } from "./quirks/quirk-table.ts";

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;
type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** Anthropic caches everything up to the end of the marked part. */
const CACHE_MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

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
): LanguageModelV4Prompt {
  const writer = new PromptWriter(info);
  if (system !== "") writer.push({ role: "system", content: system });
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
export function countMarks(prompt: LanguageModelV4Prompt): number {
  return prompt.reduce((sum, message) => {
    const parts = message.role === "user" ? message.content : [];
    const marked = parts.filter(({ providerOptions }) => providerOptions === CACHE_MARK).length;
    return sum + marked + (message.providerOptions === CACHE_MARK ? 1 : 0);
  }, 0);
}

/** End of the previous request, when more blocks were added since than the lookback covers. */
function farEnd(prompt: LanguageModelV4Prompt): number[] {
  const answer = prompt.findLastIndex(({ role }) => role === "assistant");
  if (answer < 1) return [];
  const since = prompt.slice(answer).reduce((sum, { content }) => sum + content.length, 0);
  return since >= FAR_BLOCKS ? [answer] : [];
}

/**
 * Marks the system message, the lasting part of a summary, the end of the stable history, of the previous request and of the
 * prompt. With all five, the history's mark is omitted: it is cached up to the end of the previous request.
 */
function mark(
  prompt: LanguageModelV4Prompt,
  stableEnd: number,
  lasting: LanguageModelV4TextPart | undefined,
): void {
  const first = prompt[0];
  if (first?.role === "system") first.providerOptions = CACHE_MARK;
  if (lasting) lasting.providerOptions = CACHE_MARK;
  const far = farEnd(prompt);
  const history = lasting && far.length > 0 ? [] : [stableEnd];
  for (const end of [...history, ...far, prompt.length]) {
    // A thinking block cannot have a mark, so it goes to the last message before it that can.
    let index = end - 1;
    while (index > 0 && prompt[index]?.role === "assistant" && endsInThinking(prompt[index])) index--;
    const message = prompt[index];
    if (message && message.role !== "system") message.providerOptions = CACHE_MARK;
  }
}

function endsInThinking(message: LanguageModelV4Message | undefined): boolean {
  return message?.role === "assistant" && message.content.at(-1)?.type === "reasoning";
}

class PromptWriter {
  readonly prompt: LanguageModelV4Prompt = [];
  /** The last part of a summary that later compactions keep unchanged. */
  lasting: LanguageModelV4TextPart | undefined;
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

  push(message: LanguageModelV4Message): void {
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
    this.prompt.push({ role: "user", content: [{ type: "text", text }, ...images.map(filePart)] });
  }

  #user(message: UserMessage): void {
    const { content: said, fragment } = message;
    if (fragment?.kind === "application" && typeof said === "string" && this.#quirks.developerMessages) {
      this.push({ role: "system", content: said });
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
    const content = pieces.map((piece): LanguageModelV4TextPart => ({ type: "text", text: piece }));
    this.lasting = content.at(-2);
    this.push({ role: "user", content });
    return true;
  }

  #part(part: TextPart | ImagePart): UserPart {
    if (part.type === "text") return { type: "text", text: part.text };
    if (!this.#info.input.includes("image")) return { type: "text", text: imageNote(part) };
    return filePart(part);
  }

  #assistant(message: AssistantMessage): void {
    const own = message.provider === this.#info.provider && message.model === this.#info.id;
    const content: AssistantPart[] = [];
    const thinking = own ? this.#signedThinking(message) : undefined;
    for (const part of message.content) {
      if (part.type === "text") {
        if (part.text !== "") content.push({ type: "text", text: part.text });
      } else if (part.type === "thinking") {
        const providerOptions = thinking?.get(part);
        if (providerOptions) content.push({ type: "reasoning", text: part.thinking, providerOptions });
      } else {
        const options = own && part.signature ? this.#quirks.signedCall?.(part.signature) : undefined;
        content.push({
          type: "tool-call",
          toolCallId: this.#callId(part.id, own),
          toolName: part.name,
          input: part.arguments,
          ...(options ? { providerOptions: options } : {}),
        });
      }
    }
    // Thinking alone is not a turn of a conversation: it is left by an aborted answer.
    if (content.some((part) => part.type !== "reasoning")) this.push({ role: "assistant", content });
  }

  #signedThinking({ content }: AssistantMessage): SignedThinking | undefined {
    return this.#quirks.signedThinking?.(content.filter((part) => part.type === "thinking"));
  }

  #callId(id: string, own: boolean): string {
    const sent =
      own || PLAIN_ID.test(id) ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
    this.#ids.set(id, sent);
    return sent;
  }

  #toolResult(message: ToolResultMessage): void {
    const part: LanguageModelV4ToolResultPart = {
      type: "tool-result",
      toolCallId: this.#ids.get(message.toolCallId) ?? message.toolCallId,
      toolName: message.toolName,
      output: this.#output(message),
    };
    const last = this.prompt.at(-1);
    if (last?.role === "tool") last.content.push(part);
    else this.prompt.push({ role: "tool", content: [part] });
  }

  /** Text first and in one piece; images only where the protocol supports them inside a tool result. */
  #output(message: ToolResultMessage): LanguageModelV4ToolResultOutput {
    const { input } = this.#info;
    const texts: string[] = [];
    const images: ImagePart[] = [];
    for (const part of message.content) {
      if (part.type === "text") texts.push(part.text);
      else if (input.includes("image")) images.push(part);
      else texts.push(imageNote(part));
    }
    const text = texts.join("\n");
    if (images.length > 0 && this.#quirks.imagesInResults) {
      const lead = message.isError ? `Error: ${text}` : text === "" ? "(image)" : text;
      return { type: "content", value: [{ type: "text", text: lead }, ...images.map(filePart)] };
    }
    if (images.length > 0) this.#images.push(...images);
    const value = text === "" ? (images.length > 0 ? "(image)" : "(no output)") : text;
    return { type: message.isError && this.#quirks.failedResults ? "error-text" : "text", value };
  }
}

function filePart(image: ImagePart): LanguageModelV4FilePart {
  return { type: "file", mediaType: image.mimeType, data: { type: "data", data: image.data } };
}

/** Placeholder for a model without image input, so that the surrounding text makes sense. */
function imageNote(image: ImagePart): string {
  return `[image (${image.mimeType}) left out: the model does not read images]`;
}

/** Joins consecutive user messages; adjacent texts become one, so that servers that only read a string get one. */
function joinUserMessages(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const whole: LanguageModelV4Prompt = [];
  for (const message of prompt) {
    const last = whole.at(-1);
    if (message.role === "user" && last?.role === "user")
      last.content = joined(last.content, message.content);
    else whole.push(message.role === "user" ? { ...message, content: joined([], message.content) } : message);
  }
  return whole;
}

function joined(before: UserPart[], after: UserPart[]): UserPart[] {
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
