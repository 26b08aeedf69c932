/** One request to a model: its prompt, tools and facts, then its bytes. The same request always gives the same bytes. */
import type { AgentMessage, AssistantMessage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import { packageVersion } from "../platform/package-version.ts";
import { wellFormedJson } from "../data/well-formed.ts";
import { buildPrompt, countMarks, hasMarks } from "./model-prompt.ts";
import type { Prompt, PromptTool } from "./prompt-types.ts";
import { shapedCall } from "./shaped-call.ts";
import type { Reasoning } from "./quirks/efforts.ts";
import type { CallFacts, ModelCall, ModelProtocol } from "./quirks/quirk-kinds.ts";
import { quirksOf } from "./quirks/quirk-table.ts";
import type { HttpRequest } from "./http-post.ts";
import type { ModelRequest, ResolvedModel } from "./provider-types.ts";

/** Maximum cache marks in one Anthropic request. */
const MOST_MARKS = 4;

export function modelCall({ info }: ResolvedModel, request: ModelRequest): ModelCall {
  const quirks = quirksOf(info);
  const unbind = request.thinking === "off" && quirks.bindsThinking;
  const messages = unbind ? withoutThinking(request.messages) : request.messages;
  const prompt = buildPrompt(request.system, messages, info, request.stableCount ?? 0);
  const { outputLimit } = quirks;
  const demanded = outputLimit === undefined ? undefined : Math.min(info.maxTokens, outputLimit);
  const facts: CallFacts = {
    model: info.id,
    reasoning: info.reasoning,
    cacheKey: request.cacheKey,
    thinking: requestThinking(request, info, prompt),
    maxOutputTokens: request.maxOutputTokens ?? demanded,
    hasTools: request.tools.length > 0,
    forcesTool: isForced(request.toolChoice),
  };
  return shapedCall({
    facts,
    prompt,
    tools: toolsOf(request, info, countMarks(prompt)),
    shape: request,
    quirks,
  });
}

/** Configured headers replace ours of the same name. */
export function postedRequest(model: ResolvedModel, protocol: ModelProtocol, call: ModelCall): HttpRequest {
  const { facts, quirks } = call;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": userAgent(),
    ...protocol.headers(model.apiKey?.reveal()),
  };
  for (const [name, value] of Object.entries(model.headers.reveal())) headers[name.toLowerCase()] = value;
  const betas = quirks.betas(facts);
  if (betas.length > 0) headers["anthropic-beta"] = joinedBetas(betas, headers["anthropic-beta"]);
  return {
    url: `${model.baseUrl}${protocol.path(facts.model)}`,
    headers,
    body: wellFormedJson(protocol.body(call)),
  };
}

function joinedBetas(own: readonly string[], configured: string | undefined): string {
  const others = (configured ?? "").split(",").map((beta) => beta.trim().toLowerCase());
  return [...new Set([...own, ...others.filter((beta) => beta !== "")])].join(",");
}

let known: string | undefined;
function userAgent(): string {
  return (known ??= `pagurus/${packageVersion()}`);
}

/**
 * The tools in their order; the last one has Anthropic's mark, which covers all of them. It is omitted where the prompt needs
 * all four: the system text's mark covers the tools too.
 */
function toolsOf(request: ModelRequest, info: ModelInfo, promptMarks: number): PromptTool[] {
  const tools = request.tools.map(({ name, description, parameters }): PromptTool => {
    return { name, description, parameters };
  });
  const last = tools.at(-1);
  if (last && hasMarks(info) && promptMarks < MOST_MARKS) last.mark = true;
  return tools;
}

function requestThinking(request: ModelRequest, info: ModelInfo, prompt: Prompt): Reasoning | undefined {
  const { thinking, reasoningEffort: asked = thinking } = request;
  if (!info.reasoning || asked === undefined) return undefined;
  if (asked === "off") return "none";
  if (quirksOf(info).refusesUnsignedLoops && inUnsignedToolLoop(prompt)) return "none";
  return asked;
}

function inUnsignedToolLoop(prompt: Prompt): boolean {
  if (prompt.at(-1)?.role !== "tool") return false;
  const answer = prompt.findLast((message) => message.role === "assistant");
  return answer?.role === "assistant" && answer.content.every((part) => part.type !== "thinking");
}

function isForced(choice: ModelRequest["toolChoice"]): boolean {
  return choice === "required" || typeof choice === "object";
}

/** The messages without anything that only its provider can read. Text and tool calls are kept. */
export function withoutThinking(messages: readonly AgentMessage[]): AgentMessage[] {
  return messages.map((message) => {
    if (message.role !== "assistant") return message;
    const content: AssistantMessage["content"] = [];
    for (const part of message.content) {
      if (part.type === "thinking") continue;
      if (part.type === "toolCall" && part.signature !== undefined) {
        const { signature: _signature, ...call } = part;
        content.push(call);
      } else {
        content.push(part);
      }
    }
    return { ...message, content };
  });
}
