/** Adapts OpenClaw's hook handlers to the host: the same names, with OpenClaw's event fields added to ours. */
import { PagurusError } from "@pagurus/contract/errors";
import type { HookContext, HookHandler, HookName } from "@pagurus/contract/host/hooks";
import type { PluginLogger } from "@pagurus/contract/host/plugin";
import { deliveryAnswer, deliveryContext, deliveryEvent } from "./foreign-delivery.ts";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";

export type OpenClawHandler = (event: Record<string, unknown>, context: HookContext) => unknown;

export interface HookPlace {
  /** OpenClaw's name of the hook. */
  as: string;
  config: unknown;
}

/** The handler for the host. Logs once when its text is placed elsewhere than in OpenClaw. */
export function hostHook<K extends HookName>(
  name: K,
  handler: OpenClawHandler,
  logger: PluginLogger,
  place: HookPlace = { as: name, config: undefined },
  note: (what: string) => void = () => undefined,
): HookHandler<K> {
  let hasLogged = false;
  const moved = (fields: string[]): void => {
    if (hasLogged) return;
    hasLogged = true;
    logger.warn("A hook's text for the prompt is placed at the end of the system prompt.", { fields });
  };
  return async (payload, context) => {
    const fields = payload as Record<string, unknown>;
    const theirs = contextOf(context);
    if (place.as.includes(":")) return (await internalHook(handler, fields, theirs, place)) as Answer<K>;
    const isDelivery = name === "message_sending";
    const event = isDelivery ? deliveryEvent(place.as, fields, context) : eventOf(name, fields, context);
    const answer = await handler(event, isDelivery ? { ...theirs, ...deliveryContext(fields) } : theirs);
    if (!isRecord(answer)) return answer as Answer<K>;
    for (const field of unread(name, answer)) note(`answer field ${field} of the hook ${place.as}`);
    return hostAnswer(name, answer, fields, moved) as Answer<K>;
  };
}

/** The fields of OpenClaw's answers that have an effect here. */
const READ: Partial<Record<HookName, readonly string[]>> = {
  before_prompt_build: [
    "prependSystemContext",
    "appendSystemContext",
    "prependContext",
    "appendContext",
    "toolsAllow",
    "systemPrompt",
  ],
  before_model_resolve: ["modelOverride", "providerOverride"],
  before_agent_finalize: ["action", "reason", "retry"],
  before_tool_call: ["params", "block", "blockReason", "requireApproval"],
  // The last two are the plugin's own in OpenClaw as well.
  user_prompt: ["outcome", "reason", "message", "block", "category", "metadata"],
  message_sending: ["content", "payload", "cancel", "cancelReason", "reason"],
  tool_result_persist: ["message"],
  session_before_compact: ["cancel", "compaction"],
};

function unread(name: HookName, answer: Record<string, unknown>): string[] {
  const read = READ[name] ?? [];
  return Object.keys(answer).filter((field) => answer[field] !== undefined && !read.includes(field));
}

type Answer<K extends HookName> = Awaited<ReturnType<HookHandler<K>>>;

/** OpenClaw's name for a turn is run. */
function contextOf(context: HookContext): HookContext & { runId?: string } {
  return context.turnId === undefined ? context : { ...context, runId: context.turnId };
}

function hostAnswer(
  name: HookName,
  answer: Record<string, unknown>,
  payload: Record<string, unknown>,
  moved: (fields: string[]) => void,
): Record<string, unknown> | undefined {
  switch (name) {
    case "before_prompt_build":
      return promptAnswer(answer, moved);
    case "before_tool_call":
      return gateAnswer(answer);
    case "user_prompt":
      return inputAnswer(answer);
    case "message_sending":
      return deliveryAnswer(answer);
    case "tool_result_persist":
      return resultAnswer(answer, payload);
    default:
      return answer;
  }
}

/** OpenClaw's run gate answers `{outcome, reason, message}`; any outcome but pass blocks. */
function inputAnswer(answer: Record<string, unknown>): Record<string, unknown> | undefined {
  const { outcome, reason, message, block } = answer;
  if (outcome === undefined) return block === true ? answer : undefined;
  if (outcome === "pass") return undefined;
  const why = [message, reason].find((text) => typeof text === "string" && text !== "");
  return { block: true, reason: why ?? "A plugin blocked it without a reason." };
}

function resultAnswer(
  { message }: Record<string, unknown>,
  payload: Record<string, unknown>,
): Record<string, unknown> | undefined {
  if (!isRecord(message)) return undefined;
  const before = recordOf(payload["outcome"]);
  const { content, isError, details } = message;
  return {
    outcome: {
      ...before,
      ...(Array.isArray(content) && { content }),
      ...(typeof isError === "boolean" && { isError }),
      ...(isRecord(details) && { details }),
    },
  };
}

/** A gate that requires an approval blocks the call: plugins have no one to ask here. */
function gateAnswer(answer: Record<string, unknown>): Record<string, unknown> {
  const { requireApproval, block, ...rest } = answer;
  const wanted = requireApproval !== undefined && requireApproval !== null && requireApproval !== false;
  if (!wanted || block === true) return answer;
  return {
    ...rest,
    block: true,
    blockReason:
      "A plugin wants this call approved, and this host asks for no plugin; a permission rule with ask does.",
  };
}

function eventOf(
  name: HookName,
  payload: Record<string, unknown>,
  { sessionId, sessionKey, turnId }: HookContext,
): Record<string, unknown> {
  switch (name) {
    case "before_prompt_build":
      return { ...payload, queuedInjections: [] };
    case "user_prompt":
      return { ...payload, messages: [] };
    case "session_start":
      return { ...payload, sessionId, sessionKey };
    case "session_end": {
      const next = payload["nextSessionId"] === undefined ? {} : { nextSessionKey: sessionKey };
      return { ...payload, sessionId, sessionKey, ...next };
    }
    case "before_compaction":
    case "after_compaction":
      return { ...payload, tokenCount: payload["tokensAfter"] ?? payload["tokensBefore"] };
    case "after_tool_call":
      return { ...payload, result: payload["outcome"] };
    case "message_received":
      return { ...payload, from: "user", metadata: {}, sessionKey };
    case "llm_output":
      return { ...payload, sessionId, runId: turnId, resolvedRef: payload["model"] };
    case "agent_end":
      return { ...payload, runId: turnId };
    case "before_agent_finalize":
      return { ...payload, runId: turnId, turnId, sessionId, sessionKey };
    case "subagent_ended":
      return {
        ...payload,
        targetSessionKey: payload["childSessionKey"],
        targetKind: "subagent",
        runId: turnId,
      };
    case "subagent_spawned":
      return { ...payload, requesterSessionKey: payload["parentSessionKey"], mode: "run", runId: turnId };
    case "tool_result_persist": {
      const { toolCallId, toolName, outcome } = payload;
      return { ...payload, message: { role: "toolResult", toolCallId, toolName, ...recordOf(outcome) } };
    }
    default:
      return payload;
  }
}

/** Handlers of `registerHook` get one event with `type`, `action` and `context`, and answer by changing it. */
async function internalHook(
  handler: OpenClawHandler,
  payload: Record<string, unknown>,
  context: HookContext,
  { as, config }: HookPlace,
): Promise<unknown> {
  const [type = "", action = ""] = as.split(":");
  // One hook of ours covers two commands.
  if (type === "command" && payload["reason"] !== action) return undefined;
  const { sessionKey, sessionId, agentId } = context;
  const bootstrapFiles: unknown[] = [];
  const own = as === "agent:bootstrap" ? { bootstrapFiles } : payload;
  const details = { ...own, cfg: config, workspaceDir: process.cwd(), sessionKey, sessionId, agentId };
  const event = { type, action, sessionKey, context: details, timestamp: new Date(), messages: [] };
  await handler(event, context);
  if (as !== "agent:bootstrap") return undefined;
  const texts = filesOf(details).map(({ name, content }) => `# ${name}\n\n${content}`);
  return texts.length === 0 ? undefined : { appendSystemContext: texts.join("\n\n") };
}

/** Files that a handler added to the prompt. */
function filesOf(details: Record<string, unknown>): { name: string; content: string }[] {
  const files = details["bootstrapFiles"];
  return (Array.isArray(files) ? files : []).flatMap((file) => {
    const { name, path, content } = recordOf(file);
    const title = [name, path].find((text) => typeof text === "string");
    return typeof content === "string" && content !== "" && typeof title === "string"
      ? { name: title, content }
      : [];
  });
}

/** Text for the prompt goes where this host has a place for it; a system prompt is never replaced. */
function promptAnswer(
  answer: Record<string, unknown>,
  moved: (fields: string[]) => void,
): Record<string, unknown> {
  if (typeof answer["systemPrompt"] === "string") {
    throw new PagurusError(
      "engine_contract",
      "The hook replaces the system prompt, which this host does not let a plugin do; answer prependSystemContext or appendSystemContext.",
    );
  }
  const texts = ["prependContext", "appendContext"].filter(
    (field) => typeof answer[field] === "string" && answer[field] !== "",
  );
  if (texts.length === 0) return answer;
  moved(texts);
  const appended = [answer["appendSystemContext"], ...texts.map((field) => answer[field])];
  const appendSystemContext = appended.filter((text) => typeof text === "string" && text !== "").join("\n\n");
  return { ...answer, appendSystemContext };
}
