/**
 * The spans of a turn in the GenAI conventions (semantic-conventions-genai 0.1): `invoke_agent` for the turn, in it `chat` for each
 * model call, `execute_tool` for each call of a tool, and one for each compaction. Made of the turn's events alone, so they hold
 * the same in every runtime. Contents only where configured.
 */
import type { Attributes, Span, SpanKind } from "@opentelemetry/api";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AssistantMessage, Usage } from "@pagurus/contract/message";
import { addUsage, inputTokens, NO_USAGE } from "@pagurus/core/tokens/add-usage";

/** Version of the conventions that the names are from. */
export const CONVENTIONS = "semantic-conventions-genai 0.1.0";

type Event<Type extends TurnEvent["type"]> = Extract<TurnEvent, { type: Type }>;

/** Begins spans; `parent` is absent for the first of a trace. */
export interface SpanSource {
  begin(name: string, kind: keyof typeof SpanKind, attributes: Attributes, parent: Span | undefined): Span;
  /** Ends a span as failed; `type` is an error's code. */
  fail(span: Span, type: string): void;
}

export interface TurnSpansOptions {
  source: SpanSource;
  agentId: string;
  /** Messages, and arguments and results of tools. */
  contents: boolean;
}

/** Names of providers in the conventions, where they differ from ours. */
const PROVIDERS: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  "google-vertex": "gcp.vertex_ai",
  bedrock: "aws.bedrock",
  mistral: "mistral_ai",
  xai: "x_ai",
};

export class TurnSpans {
  readonly #options: TurnSpansOptions;
  readonly #tools = new Map<string, Span>();
  #turn: Span | undefined;
  #model: Attributes = {};
  #modelName = "";
  #chat: Span | undefined;
  #compaction: Span | undefined;
  #usage: Usage = NO_USAGE;

  constructor(options: TurnSpansOptions) {
    this.#options = options;
  }

  /** Takes an event when it happens; a span's times are those of its events. */
  take(event: TurnEvent): void {
    switch (event.type) {
      case "turn.started":
        return this.#begin(event);
      case "model.request":
        return this.#asks(event);
      case "message":
        return event.message.role === "assistant" ? this.#answered(event.message) : undefined;
      case "model.retry":
        return void this.#chat?.addEvent("pagurus.retry", { "pagurus.retry.attempt": event.attempt });
      case "tool.started":
        return this.#runs(event);
      case "tool.completed":
        return this.#ran(event);
      case "compaction.started":
        return this.#compacts(event);
      case "compaction.completed":
      case "compaction.failed":
        return this.#compacted(event);
      case "context.degraded":
        return void this.#turn?.addEvent("pagurus.degraded", { "pagurus.stage": event.stage });
      case "turn.completed":
      case "turn.failed":
        return this.#end(event);
      default:
        return undefined;
    }
  }

  #begin({ sessionKey, sessionId, turnId, runtime, model, engine, seam }: Event<"turn.started">): void {
    const { agentId, source } = this.#options;
    const slash = model.indexOf("/");
    const provider = slash < 0 ? "" : model.slice(0, slash);
    this.#modelName = slash < 0 ? model : model.slice(slash + 1);
    this.#model = {
      "gen_ai.request.model": this.#modelName,
      ...(provider === "" ? {} : { "gen_ai.provider.name": PROVIDERS[provider] ?? provider }),
      "gen_ai.conversation.id": sessionId,
    };
    this.#turn = source.begin(
      `invoke_agent ${agentId}`,
      "INTERNAL",
      {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agentId,
        ...this.#model,
        "pagurus.session.key": sessionKey,
        "pagurus.turn.id": turnId,
        "pagurus.runtime": runtime,
        "pagurus.engine": engine,
        "pagurus.seam": seam,
      },
      undefined,
    );
  }

  #asks({ request, tokens, sharedTokens }: Event<"model.request">): void {
    this.#chat?.end();
    this.#chat = this.#options.source.begin(
      `chat ${this.#modelName}`,
      "CLIENT",
      {
        "gen_ai.operation.name": "chat",
        ...this.#model,
        "pagurus.request": request,
        "pagurus.context.tokens": tokens,
        "pagurus.context.shared_tokens": sharedTokens,
      },
      this.#turn,
    );
  }

  #answered(message: AssistantMessage): void {
    if (message.usage) this.#usage = addUsage(this.#usage, message.usage);
    const chat = this.#chat;
    if (!chat) return;
    this.#chat = undefined;
    if (message.usage) chat.setAttributes(usageAttributes(message.usage));
    chat.setAttribute("gen_ai.response.finish_reasons", [message.stopReason]);
    if (this.#options.contents)
      chat.setAttribute("gen_ai.output.messages", JSON.stringify([message.content]));
    chat.end();
  }

  #runs({ toolCallId, toolName, arguments: given }: Event<"tool.started">): void {
    const span = this.#options.source.begin(
      `execute_tool ${toolName}`,
      "INTERNAL",
      {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": toolName,
        "gen_ai.tool.call.id": toolCallId,
        "gen_ai.tool.type": "function",
        ...(this.#options.contents ? { "gen_ai.tool.call.arguments": JSON.stringify(given) } : {}),
      },
      this.#turn,
    );
    this.#tools.set(toolCallId, span);
  }

  #ran({ toolCallId, outcome }: Event<"tool.completed">): void {
    const span = this.#tools.get(toolCallId);
    if (!span) return;
    this.#tools.delete(toolCallId);
    if (this.#options.contents) span.setAttribute("gen_ai.tool.call.result", JSON.stringify(outcome.content));
    if (outcome.isError === true) this.#options.source.fail(span, "tool_error");
    else span.end();
  }

  #compacts({ lane, trigger, backend, tokensBefore }: Event<"compaction.started">): void {
    this.#compaction?.end();
    this.#compaction = this.#options.source.begin(
      "pagurus.compaction",
      "INTERNAL",
      {
        "pagurus.compaction.lane": lane,
        "pagurus.compaction.trigger": trigger,
        "pagurus.compaction.backend": backend,
        "pagurus.compaction.tokens_before": tokensBefore,
      },
      this.#turn,
    );
  }

  #compacted(event: Event<"compaction.completed"> | Event<"compaction.failed">): void {
    const span = this.#compaction;
    if (!span) return;
    this.#compaction = undefined;
    span.setAttribute("pagurus.compaction.handled_by", event.handledBy);
    if (event.type === "compaction.failed") return this.#options.source.fail(span, "compaction_failed");
    span.setAttribute("pagurus.compaction.tokens_after", event.tokensAfter);
    span.end();
  }

  #end(event: Event<"turn.completed"> | Event<"turn.failed">): void {
    const isFailed = event.type === "turn.failed";
    const open = [...this.#tools.values(), this.#compaction, this.#chat].filter((span) => span !== undefined);
    for (const span of open) this.#options.source.fail(span, isFailed ? event.error.code : "interrupted");
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    turn.setAttributes(usageAttributes(isFailed ? this.#usage : event.usage));
    if (isFailed) return this.#options.source.fail(turn, event.error.code);
    turn.setAttribute("pagurus.stop_reason", event.stopReason);
    if (event.cost?.turn !== undefined) turn.setAttribute("pagurus.cost.usd", event.cost.turn);
    turn.end();
  }
}

function usageAttributes(usage: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens(usage),
    "gen_ai.usage.output_tokens": usage.output,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheRead,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWrite,
  };
}
