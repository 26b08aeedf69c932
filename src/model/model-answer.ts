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
import { INVALID_JSON, parseArguments, REFUSED_ARGUMENTS } from "../platform/call-arguments.ts";
import { MalformedAnswer, StreamCut } from "./model-failure.ts";
import type { Quirks } from "./quirks/quirk-kinds.ts";
import { quirksOf } from "./quirks/quirk-table.ts";
import type { ModelPart } from "./provider-types.ts";
import { toUsage } from "./model-usage.ts";

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type ReasoningPart = Extract<
  LanguageModelV4StreamPart,
  { type: "reasoning-start" | "reasoning-delta" | "reasoning-end" }
>;
type ToolCall = Extract<LanguageModelV4StreamPart, { type: "tool-call" }>;

export class Answer {
  readonly #info: ModelInfo;
  readonly #quirks: Quirks;
  readonly #acceptsMalformed: boolean;
  readonly #content: (TextPart | ThinkingPart | ToolCallPart)[] = [];
  readonly #blocks = new Map<string, TextPart | ThinkingPart>();
  #malformed: MalformedAnswer | undefined;
  #finish: Finish | undefined;

  /** `acceptsMalformed`: arguments that are not a JSON object are passed on under `__invalid_json`. */
  constructor(info: ModelInfo, options: { acceptsMalformed: boolean }) {
    this.#info = info;
    this.#quirks = quirksOf(info);
    this.#acceptsMalformed = options.acceptsMalformed;
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  /** Takes one part; returns the part for the consumer. Throws the error of an error part. */
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
    const ended = part.type === "reasoning-end";
    Object.assign(block, this.#quirks.thinkingSignature?.(part.providerMetadata, ended));
    if (part.type !== "reasoning-delta" || part.delta === "") return undefined;
    block.thinking += part.delta;
    return { type: "thinking", delta: part.delta };
  }

  #toolCall(part: ToolCall): void {
    const parsed = parseArguments(part.input);
    if (!parsed) {
      this.#malformed ??= new MalformedAnswer(
        `the arguments of the call of "${part.toolName}" are no object`,
      );
    }
    const signature = this.#quirks.callSignature?.(part.providerMetadata);
    this.#content.push({
      type: "toolCall",
      id: part.toolCallId,
      name: part.toolName,
      arguments: parsed ?? { [INVALID_JSON]: part.input },
      ...(signature ? { signature } : {}),
    });
  }

  /** The complete message. Throws `StreamCut` without an end event, `model_refused`, or for arguments that are not JSON. */
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
    if (raw !== undefined && raw === this.#quirks.overflowReason && this.#content.length === 0) {
      throw new PagurusError("context_overflow", `The context fills the window of "${this.#info.ref}".`);
    }
    if (unified === "error") throw new StreamCut("the server ended the answer with an error");
    // At the output limit the last call is cut.
    const cut = unified === "length";
    if (this.#malformed && !cut && !this.#acceptsMalformed) throw this.#malformed;
    const content = this.#content.filter((part) => {
      if (part.type === "text") return part.text !== "";
      return part.type !== "thinking" || part.thinking !== "" || part.signature !== undefined;
    });
    for (const part of content) {
      if (cut && part.type === "toolCall" && INVALID_JSON in part.arguments)
        part.arguments = { [REFUSED_ARGUMENTS]: "were cut at the output limit" };
      if (part.type === "thinking" && part.thinking === "" && this.#quirks.encryptsThinking)
        part.redacted = true;
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
