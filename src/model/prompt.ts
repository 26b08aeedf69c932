/** The conversation as the provider packages want it, with true roles. Deterministic: equal input, equal bytes. */
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
import { summaryPieces } from "../compaction/summary-pieces.ts";
import { readSummary } from "../contract/summary.ts";
import { takesDeveloper } from "./developer-role.ts";
import { mergeUserMessages } from "./merge-users.ts";
import { signedThinking, toolCallOptions } from "./signatures.ts";

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;
type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** What Anthropic caches up to the end of this part. */
const CACHE_MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** Ids that every provider takes; others appear when a conversation moves from one provider to another. */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/**
 * Content blocks behind the end of the previous request from which on that end is marked too. Anthropic looks back
 * over 20 blocks from a mark for what it has cached. Source: the "prompt caching" page of Anthropic's documentation.
 */
const FAR_BLOCKS = 16;

/**
 * Builds the prompt. `stableCount` leading messages get Anthropic's history mark; the system text and the last
 * message get one too, what later compactions keep of a summary, and the end of the previous request where it lies far
 * back (a round of many parallel calls). The last tool has the fourth mark, see `toolsOf`, unless these are four already.
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
  if (hasMarks(info)) mark(prompt, stableEnd, writer.lasting);
  const merges = info.api === "openai-completions" && info.provider !== "openai";
  return merges ? mergeUserMessages(prompt) : prompt;
}

function hasMarks({ api, promptCache }: ModelInfo): boolean {
  return api === "anthropic-messages" && promptCache === "marks";
}

/** How many marks a prompt carries; Anthropic takes four in a request. */
export function countMarks(prompt: LanguageModelV4Prompt): number {
  return prompt.reduce((sum, message) => {
    const parts = message.role === "user" ? message.content : [];
    const marked = parts.filter(({ providerOptions }) => providerOptions === CACHE_MARK).length;
    return sum + marked + (message.providerOptions === CACHE_MARK ? 1 : 0);
  }, 0);
}

/** Where the previous request ended, when more blocks were added since than the lookback is sure to reach. */
function farEnd(prompt: LanguageModelV4Prompt): number[] {
  const answer = prompt.findLastIndex(({ role }) => role === "assistant");
  if (answer < 1) return [];
  const since = prompt.slice(answer).reduce((sum, { content }) => sum + content.length, 0);
  return since >= FAR_BLOCKS ? [answer] : [];
}

/**
 * Marks the system message, what lasts of a summary, the end of the stable history, of the previous request and of the
 * prompt. Where all five are there, the history goes without: it is read up to the end of the previous request.
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
    // A thinking block cannot carry a mark, so it goes to the last message before it that can.
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
  /** The last piece of a summary that later compactions keep as it is. */
  lasting: LanguageModelV4TextPart | undefined;
  readonly #info: ModelInfo;
  /** Id of a tool call as the transcript has it → as this provider gets it. */
  readonly #ids = new Map<string, string>();
  /** Images of tool results that the protocol has no place for; they follow the results as a user message. */
  #images: ImagePart[] = [];

  constructor(info: ModelInfo) {
    this.#info = info;
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
    if (fragment?.kind === "application" && typeof said === "string" && takesDeveloper(this.#info)) {
      this.push({ role: "system", content: said });
      return;
    }
    if (hasMarks(this.#info) && typeof message.content === "string" && this.#summary(message.content)) return;
    const parts: (TextPart | ImagePart)[] =
      typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    const content = parts
      .filter((part) => part.type === "image" || part.text !== "")
      .map((part) => this.#part(part));
    if (content.length > 0) this.push({ role: "user", content });
  }

  /** A summary in pieces, each of which can be cached by itself; false for any other text. */
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
    const thinking = own ? signedThinking(message, this.#info.api) : new Map();
    for (const part of message.content) {
      if (part.type === "text") {
        if (part.text !== "") content.push({ type: "text", text: part.text });
      } else if (part.type === "thinking") {
        const signed = thinking.get(part);
        if (signed) content.push(signed);
      } else {
        const options = own ? toolCallOptions(part, this.#info.api) : undefined;
        content.push({
          type: "tool-call",
          toolCallId: this.#callId(part.id, own),
          toolName: part.name,
          input: part.arguments,
          ...(options ? { providerOptions: options } : {}),
        });
      }
    }
    // Thinking alone is no turn of a conversation: it is what an aborted answer leaves.
    if (content.some((part) => part.type !== "reasoning")) this.push({ role: "assistant", content });
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

  /** Text first and in one piece; images only where the protocol takes them inside a tool result. */
  #output(message: ToolResultMessage): LanguageModelV4ToolResultOutput {
    const { api, input } = this.#info;
    const texts: string[] = [];
    const images: ImagePart[] = [];
    for (const part of message.content) {
      if (part.type === "text") texts.push(part.text);
      else if (input.includes("image")) images.push(part);
      else texts.push(imageNote(part));
    }
    const text = texts.join("\n");
    if (images.length > 0 && api !== "openai-completions") {
      const lead = message.isError ? `Error: ${text}` : text === "" ? "(image)" : text;
      return { type: "content", value: [{ type: "text", text: lead }, ...images.map(filePart)] };
    }
    if (images.length > 0) this.#images.push(...images);
    const value = text === "" ? (images.length > 0 ? "(image)" : "(no output)") : text;
    // Only Anthropic has a field for failure; elsewhere the packages would wrap the text in JSON.
    return { type: message.isError && api === "anthropic-messages" ? "error-text" : "text", value };
  }
}

function filePart(image: ImagePart): LanguageModelV4FilePart {
  return { type: "file", mediaType: image.mimeType, data: { type: "data", data: image.data } };
}

/** For a model that reads no images: what stood here, so that the text around it makes sense. */
function imageNote(image: ImagePart): string {
  return `[image (${image.mimeType}) left out: the model does not read images]`;
}
