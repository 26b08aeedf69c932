/** Completions in OpenClaw's form, for its engines and plugins. */
import { PagurusError } from "@pagurus/contract/errors";
import { fieldOf } from "@pagurus/core/data/record-fields";
import type { LlmComplete, LlmCompleteRequest, LlmCompleteResult } from "@pagurus/contract/model";
import { defined } from "@pagurus/core/data/defined";

export interface ForeignCompleteParams extends Omit<LlmCompleteRequest, "messages" | "reasoning"> {
  /** System messages join the system prompt. */
  messages: { role: "system" | "user" | "assistant"; content: string }[];
  /** Levels that this host does not have become the nearest one. */
  reasoning?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "adaptive" | "max" | "ultra";
  /** Refused for another agent than the caller's. */
  agentId?: string;
  /** Hints that may be ignored, and are. */
  temperature?: number;
  responseFormat?: Record<string, unknown>;
  /** Refused: which credential serves a call is not known before it. */
  requiredAuthMode?: "oauth";
  /** Refused: completions are sent to a provider, never to an agent's runtime. */
  execution?: { mode: "isolated-agent-runtime"; authProfileId?: string; timeoutMs?: number } | undefined;
}

/** OpenClaw's names beside this host's; the counts are absent where the provider reports none. */
interface ForeignUsage extends Partial<Omit<NonNullable<LlmCompleteResult["usage"]>, "totalTokens">> {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  totalTokens?: number;
  costUsd?: number;
}

interface ForeignCaller {
  kind: "plugin" | "context-engine" | "host" | "unknown";
  id?: string;
  name?: string;
}

export interface ForeignCompleteResult extends Omit<LlmCompleteResult, "usage"> {
  usage: ForeignUsage;
  execution: { mode: "direct-provider"; owner: { kind: "provider"; id: string } };
  audit: { caller: ForeignCaller; purpose?: string; sessionKey?: string };
}

export type ForeignComplete = (params: ForeignCompleteParams) => Promise<ForeignCompleteResult>;

interface Place {
  caller: ForeignCaller;
  /** Absent where the call belongs to no agent. */
  agentId?: string | undefined;
  sessionKey?: string | undefined;
}

const REASONING = {
  off: "off",
  minimal: "low",
  low: "low",
  medium: "medium",
  adaptive: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
  ultra: "high",
} as const;

/** Throws as `complete`, and `usage_invalid` for what this host cannot do. */
export function foreignComplete(complete: LlmComplete, place: Place): ForeignComplete {
  return async (params) => {
    checkRequest(params, place);
    refuse(params, place);
    const result = await complete(requestOf(params));
    const { purpose } = params;
    const { sessionKey, caller } = place;
    return {
      ...result,
      usage: usageOf(result),
      execution: { mode: "direct-provider", owner: { kind: "provider", id: result.provider } },
      audit: { caller, ...defined({ purpose, sessionKey }) },
    };
  };
}

/** Throws `usage_invalid` for what is no request: plugins in JavaScript have no types. */
function checkRequest(params: unknown, { caller }: Place): void {
  const messages = fieldOf(params, "messages");
  const isText = (message: unknown): boolean => typeof fieldOf(message, "content") === "string";
  if (Array.isArray(messages) && messages.every(isText)) return;
  throw new PagurusError(
    "usage_invalid",
    `A completion of ${caller.id ?? caller.kind} was refused: it has no list of messages with texts; give messages: [{role: "user", content: "…"}].`,
  );
}

function refuse({ execution, requiredAuthMode, agentId }: ForeignCompleteParams, place: Place): void {
  const cannot =
    execution !== undefined
      ? `runs no completion in an agent's runtime (${execution.mode})`
      : requiredAuthMode !== undefined
        ? `cannot require a credential of the kind ${requiredAuthMode}`
        : agentId !== undefined && place.agentId !== undefined && agentId !== place.agentId
          ? `makes no completion for the agent ${agentId} in a session of ${place.agentId}`
          : undefined;
  if (cannot === undefined) return;
  throw new PagurusError(
    "usage_invalid",
    `A completion of ${place.caller.id ?? place.caller.kind} was refused: this host ${cannot}; leave that out.`,
  );
}

function requestOf(params: ForeignCompleteParams): LlmCompleteRequest {
  const { messages, systemPrompt, reasoning, maxTokens, model, purpose, signal } = params;
  const system = [
    ...(systemPrompt === undefined ? [] : [systemPrompt]),
    ...messages.flatMap(({ role, content }) => (role === "system" ? [content] : [])),
  ];
  const effort = reasoning === undefined ? undefined : REASONING[reasoning];
  return {
    messages: messages.flatMap(({ role, content }) => (role === "system" ? [] : [{ role, content }])),
    ...(system.length > 0 && { systemPrompt: system.join("\n\n") }),
    ...defined({ reasoning: effort, maxTokens, model, purpose, signal }),
  };
}

function usageOf({ usage }: LlmCompleteResult): ForeignUsage {
  if (!usage) return {};
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  return {
    ...usage,
    inputTokens: input,
    outputTokens: output,
    ...defined({ cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite, costUsd: cost }),
  };
}
