/** Collects the parts of one streamed answer into an assistant message. */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type {
  AssistantMessage,
  StopReason,
  TextPart,
  ThinkingPart,
  ToolCallPart,
} from "../contract/message.ts";
import { PagurusError } from "../contract/errors.ts";
import type { ModelInfo } from "../contract/model.ts";
import { MalformedAnswer, StreamCut } from "./failure.ts";
import { readThinkingSignature, readToolCallSignature } from "./signatures.ts";
import type { ModelPart } from "./types.ts";
import { toUsage } from "./usage.ts";

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type ReasoningPart = Extract<
  LanguageModelV4StreamPart,
  { type: "reasoning-start" | "reasoning-delta" | "reasoning-end" }
>;
type ToolCall = Extract<LanguageModelV4StreamPart, { type: "tool-call" }>;

/**
 * The one argument of a call whose arguments were no JSON object: their text as it came. The tool layer answers such
 * a call with an error that quotes it (`src/tool/toolset.ts` knows the same key), so that the model can correct it.
 */
const INVALID_JSON = "__invalid_json";

export class Answer {
  readonly #info: ModelInfo;
  readonly #acceptsMalformed: boolean;
  readonly #content: (TextPart | ThinkingPart | ToolCallPart)[] = [];
  readonly #blocks = new Map<string, TextPart | ThinkingPart>();
  #malformed: MalformedAnswer | undefined;
  #finish: Finish | undefined;

  /** `acceptsMalformed`: arguments that are no JSON object are handed on under `__invalid_json`. */
  constructor(info: ModelInfo, options: { acceptsMalformed: boolean }) {
    this.#info = info;
    this.#acceptsMalformed = options.acceptsMalformed;
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  /** Takes one part; returns what the consumer should see of it. Throws what an error part carries. */
  take(part: LanguageModelV4StreamPart): ModelPart | undefined {
    switch (part.type) {
      case "text-start":
        this.#text(part.id);
        return undefined;
      case "text-delta":
        this.#text(part.id).text += part.delta;
        return part.delta === "" ? undefined : { type: "text", delta: part.delta };
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return this.#reasoning(part);
      case "tool-call":
        this.#toolCall(part);
        return undefined;
      case "finish":
        this.#finish = part;
        return undefined;
      case "error":
        throw part.error;
      default:
        return undefined;
    }
  }

  #text(id: string): TextPart {
    const key = `text ${id}`;
    const open = this.#blocks.get(key);
    if (open?.type === "text") return open;
    const fresh: TextPart = { type: "text", text: "" };
    this.#blocks.set(key, fresh);
    this.#content.push(fresh);
    return fresh;
  }

  #reasoning(part: ReasoningPart): ModelPart | undefined {
    const key = `reasoning ${part.id}`;
    const open = this.#blocks.get(key);
    const block: ThinkingPart = open?.type === "thinking" ? open : { type: "thinking", thinking: "" };
    if (block !== open) {
      this.#blocks.set(key, block);
      this.#content.push(block);
    }
    Object.assign(
      block,
      readThinkingSignature(part.providerMetadata, this.#info.api, part.type === "reasoning-end"),
    );
    if (part.type !== "reasoning-delta" || part.delta === "") return undefined;
    block.thinking += part.delta;
    return { type: "thinking", delta: part.delta };
  }

  #toolCall(part: ToolCall): void {
    let parsed: unknown;
    try {
      parsed = part.input.trim() === "" ? {} : JSON.parse(part.input);
    } catch {
      parsed = undefined;
    }
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
      this.#malformed ??= new MalformedAnswer(
        `the arguments of the call of "${part.toolName}" are no object`,
      );
      parsed = { [INVALID_JSON]: part.input };
    }
    const signature = readToolCallSignature(part.providerMetadata, this.#info.api);
    this.#content.push({
      type: "toolCall",
      id: part.toolCallId,
      name: part.toolName,
      arguments: parsed as Record<string, unknown>,
      ...(signature ? { signature } : {}),
    });
  }

  /** The whole message. Throws `StreamCut` without an end event, `model_refused`, or for arguments that are no JSON. */
  message(): AssistantMessage {
    const finish = this.#finish;
    if (!finish || finish.finishReason.unified === "interrupted") {
      throw new StreamCut("the stream ended before the answer did");
    }
    const { unified, raw } = finish.finishReason;
    if (unified === "content-filter") {
      throw new PagurusError(
        "model_refused",
        `The safety filter of the provider "${this.#info.provider}" ended the answer of "${this.#info.id}"; ` +
          `rephrase the input or choose another model.`,
        { details: { provider: this.#info.provider, model: this.#info.id, reason: raw } },
      );
    }
    if (raw === "model_context_window_exceeded" && this.#content.length === 0) {
      // Anthropic's way to say that the input left no room for an answer.
      throw new PagurusError("context_overflow", `The context fills the window of "${this.#info.ref}".`);
    }
    if (unified === "error") throw new StreamCut("the server ended the answer with an error");
    // At the output limit the last call is cut in the middle: it is left out, and the stop reason says why.
    const cut = unified === "length";
    if (this.#malformed && !cut && !this.#acceptsMalformed) throw this.#malformed;
    const content = this.#content.filter((part) => {
      if (cut && part.type === "toolCall" && INVALID_JSON in part.arguments) return false;
      if (part.type === "text") return part.text !== "";
      return part.type !== "thinking" || part.thinking !== "" || part.signature !== undefined;
    });
    for (const part of content) {
      // OpenAI's reasoning without a summary is there only in its encrypted form.
      if (part.type === "thinking" && part.thinking === "" && this.#info.api === "openai-responses") {
        part.redacted = true;
      }
    }
    const usage = toUsage(finish.usage, this.#info.cost);
    return {
      role: "assistant",
      content,
      provider: this.#info.provider,
      model: this.#info.id,
      ...(usage ? { usage } : {}),
      stopReason: stopReason(unified, content),
      timestamp: Date.now(),
    };
  }
}

function stopReason(unified: string, content: AssistantMessage["content"]): StopReason {
  if (unified === "length") return "length";
  return content.some((part) => part.type === "toolCall") ? "toolUse" : "stop";
}
