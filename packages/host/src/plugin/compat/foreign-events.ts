/**
 * Events and contexts of OpenClaw's hooks, made of this host's payloads, by OpenClaw's names. The kit in `test/real/openclaw` compares their
 * types with OpenClaw's; members that are not there are listed in `test/real/openclaw/types/declared-hooks.ts`.
 */
import type { HookContext, HookMap, HookName } from "@pagurus/contract/host/hooks";
import { compactedMessages, visibleMessages } from "./transcripts.ts";
import { defined } from "@pagurus/core/data/defined";

type Payload<K extends HookName> = HookMap[K]["payload"];

/** OpenClaw's words for the ends of children. */
const OUTCOMES: Readonly<Record<string, "ok" | "error" | "killed">> = {
  completed: "ok",
  failed: "error",
  aborted: "killed",
};

function runOf({ turnId }: HookContext): { runId?: string } {
  return turnId === undefined ? {} : { runId: turnId };
}

function errorText({ isError, content }: Payload<"after_tool_call">["outcome"]): { error?: string } {
  if (!isError) return {};
  return { error: content.map((part) => (part.type === "text" ? part.text : "")).join("") };
}

/** Members that OpenClaw's events do not have are this host's own. */
export const FOREIGN_EVENTS = {
  before_model_resolve: (payload: Payload<"before_model_resolve">) => payload,
  before_prompt_build: (payload: Payload<"before_prompt_build">) => payload,
  agent_turn_prepare: (payload: Payload<"before_prompt_build">) => ({
    ...payload,
    queuedInjections: [] as unknown[],
  }),
  before_agent_run: (payload: Payload<"user_prompt">) => ({ ...payload, messages: [] as unknown[] }),
  message_received: (payload: Payload<"message_received">, context: HookContext) => ({
    ...payload,
    ...runOf(context),
    from: "user",
    metadata: {},
    sessionKey: context.sessionKey,
  }),
  message_sending: ({ channel, to, thread, content }: Payload<"message_sending">) => ({
    to,
    content,
    ...defined({ threadId: thread }),
    metadata: { channel },
  }),
  reply_payload_sending: ({ channel, content }: Payload<"message_sending">, context: HookContext) => ({
    payload: { text: content },
    kind: "final" as const,
    channel,
    sessionKey: context.sessionKey,
    ...runOf(context),
  }),
  before_tool_call: (payload: Payload<"before_tool_call">, context: HookContext) => ({
    ...payload,
    ...runOf(context),
  }),
  after_tool_call: (payload: Payload<"after_tool_call">, context: HookContext) => ({
    ...payload,
    ...runOf(context),
    ...errorText(payload.outcome),
    result: payload.outcome,
  }),
  tool_result_persist: (payload: Payload<"tool_result_persist">) => {
    const { toolCallId, toolName, outcome } = payload;
    const { content, isError, details } = outcome;
    const message = {
      role: "toolResult" as const,
      toolCallId,
      toolName,
      content,
      isError,
      ...defined({ details }),
      timestamp: Date.now(),
    };
    return { ...payload, message };
  },
  before_compaction: async (payload: Payload<"before_compaction">, context: HookContext) => {
    const messages = await visibleMessages(context);
    return {
      ...payload,
      ...(messages && { messageCount: messages.length, messages: messages.map(({ message }) => message) }),
      tokenCount: payload.tokensBefore,
    };
  },
  after_compaction: async (payload: Payload<"after_compaction">, context: HookContext) => ({
    ...payload,
    ...(await compactedMessages(context)),
    tokenCount: payload.tokensAfter,
  }),
  before_reset: async (payload: Payload<"before_reset">, context: HookContext) => {
    const messages = await visibleMessages(context);
    return { ...payload, ...(messages && { messages: messages.map(({ message }) => message) }) };
  },
  session_start: (payload: Payload<"session_start">, { sessionId, sessionKey }: HookContext) => ({
    ...payload,
    sessionId,
    sessionKey,
  }),
  session_end: async (payload: Payload<"session_end">, context: HookContext) => {
    const { sessionId, sessionKey } = context;
    const { reason, nextSessionId } = payload;
    const messages = await visibleMessages(context);
    return {
      ...payload,
      ...defined({ messageCount: messages?.length }),
      reason: reason === "rotated" ? ("compaction" as const) : reason,
      sessionId,
      sessionKey,
      ...(nextSessionId === undefined ? {} : { nextSessionKey: sessionKey }),
    };
  },
  llm_output: (payload: Payload<"llm_output">, context: HookContext) => ({
    ...payload,
    ...runOf(context),
    usage: { ...payload.usage, total: payload.usage.totalTokens },
    sessionId: context.sessionId,
    resolvedRef: `${payload.provider}/${payload.model}`,
  }),
  before_agent_finalize: (payload: Payload<"before_agent_finalize">, context: HookContext) => {
    const { sessionId, sessionKey, turnId } = context;
    return { ...payload, ...runOf(context), ...defined({ turnId }), sessionId, sessionKey };
  },
  agent_end: (payload: Payload<"agent_end">, context: HookContext) => ({ ...payload, ...runOf(context) }),
  subagent_spawned: (payload: Payload<"subagent_spawned">, context: HookContext) => ({
    ...payload,
    ...runOf(context),
    requesterSessionKey: payload.parentSessionKey,
    agentId: context.agentId,
    mode: "run" as const,
    threadRequested: false,
  }),
  subagent_ended: (payload: Payload<"subagent_ended">, context: HookContext) => {
    const { childSessionKey, outcome, ...rest } = payload;
    const ended = OUTCOMES[outcome];
    return {
      ...rest,
      ...runOf(context),
      childSessionKey,
      targetSessionKey: childSessionKey,
      targetKind: "subagent" as const,
      ...defined({ outcome: ended }),
      endedAt: Date.now(),
    };
  },
  gateway_start: (payload: Payload<"gateway_start">) => payload,
  gateway_stop: (payload: Payload<"gateway_stop">) => payload,
};

export type ForeignHookName = keyof typeof FOREIGN_EVENTS;
export type ForeignEvent<K extends ForeignHookName> = Awaited<ReturnType<(typeof FOREIGN_EVENTS)[K]>>;

/** OpenClaw's name for a turn is run. */
export type AgentHookContext = HookContext & { runId?: string };

export function agentContext(_payload: object, context: HookContext): AgentHookContext {
  return { ...context, ...runOf(context) };
}

function toolContext(
  { toolName, toolCallId }: Pick<Payload<"before_tool_call">, "toolName" | "toolCallId">,
  context: HookContext,
): AgentHookContext & { toolName: string; toolCallId: string } {
  return { ...agentContext({}, context), toolName, toolCallId };
}

function deliveryContext({ channel, to }: Payload<"message_sending">, context: HookContext) {
  return { ...agentContext({}, context), channelId: channel, conversationId: to };
}

/** `config`: a copy of the configuration for the plugin. */
function gatewayContext(_payload: object, context: HookContext, config: unknown) {
  return { ...agentContext({}, context), config };
}

/** Contexts with members beside those of `agentContext`. */
export const FOREIGN_CONTEXTS = {
  message_sending: deliveryContext,
  reply_payload_sending: deliveryContext,
  before_tool_call: toolContext,
  after_tool_call: toolContext,
  tool_result_persist: toolContext,
  subagent_spawned: (
    { childSessionKey, parentSessionKey }: Payload<"subagent_spawned">,
    context: HookContext,
  ) => ({
    ...agentContext({}, context),
    childSessionKey,
    requesterSessionKey: parentSessionKey,
  }),
  subagent_ended: ({ childSessionKey }: Payload<"subagent_ended">, context: HookContext) => ({
    ...agentContext({}, context),
    childSessionKey,
  }),
  gateway_start: gatewayContext,
  gateway_stop: gatewayContext,
};

export type ForeignContext<K extends ForeignHookName> = K extends keyof typeof FOREIGN_CONTEXTS
  ? ReturnType<(typeof FOREIGN_CONTEXTS)[K]>
  : AgentHookContext;

type Make = (payload: object, context: HookContext, config: unknown) => object | Promise<object>;

/** The event and context for a handler that is registered as `as`, from a payload of the hook `name`. */
export async function foreignCall(
  { as, name, config }: { as: string; name: HookName; config: unknown },
  payload: object,
  context: HookContext,
): Promise<{ event: Record<string, unknown>; context: HookContext }> {
  const events = FOREIGN_EVENTS as unknown as Readonly<Record<string, Make | undefined>>;
  const contexts = FOREIGN_CONTEXTS as unknown as Readonly<Record<string, Make | undefined>>;
  const event = await (own(events, as) ?? own(events, name))?.(payload, context, config);
  const theirs = (own(contexts, as) ?? own(contexts, name) ?? agentContext)(payload, context, config);
  return { event: (event ?? payload) as Record<string, unknown>, context: theirs as HookContext };
}

function own<T>(table: Readonly<Record<string, T | undefined>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
