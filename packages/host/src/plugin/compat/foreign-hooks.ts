/** Adapts OpenClaw's hook handlers to the host: the same names, with OpenClaw's event fields added to ours. */
import { PagurusError } from "@pagurus/contract/errors";
import type { HookContext, HookHandler, HookName } from "@pagurus/contract/host/hooks";
import type { PluginLogger } from "@pagurus/contract/host/plugin";
import { deliveryAnswer, readFields } from "./foreign-answers.ts";
import { agentContext, foreignCall } from "./foreign-events.ts";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { currentFolder } from "@pagurus/core/platform/surroundings";

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
    if (place.as.includes(":"))
      return (await internalHook(handler, fields, agentContext(payload, context), place)) as Answer<K>;
    const theirs = await foreignCall({ name, ...place }, payload, context);
    const answer = await handler(theirs.event, theirs.context);
    if (!isRecord(answer)) return answer as Answer<K>;
    for (const field of unread(name, place.as, answer)) note(`answer field ${field} of the hook ${place.as}`);
    return hostAnswer(name, answer, fields, moved) as Answer<K>;
  };
}

function unread(name: HookName, as: string, answer: Record<string, unknown>): string[] {
  const read = readFields(as) ?? readFields(name) ?? {};
  // Of a payload only its text is delivered.
  const inPayload = Object.keys(recordOf(answer["payload"])).filter((field) => field !== "text");
  return [
    ...Object.keys(answer).filter((field) => answer[field] !== undefined && !Object.hasOwn(read, field)),
    ...(Object.hasOwn(read, "payload") ? inPayload.map((field) => `payload.${field}`) : []),
  ];
}

type Answer<K extends HookName> = Awaited<ReturnType<HookHandler<K>>>;

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
  const details = { ...own, cfg: config, workspaceDir: currentFolder(), sessionKey, sessionId, agentId };
  const event = { type, action, sessionKey, context: details, timestamp: new Date(), messages: [] };
  await handler(event, context);
  if (as !== "agent:bootstrap") return undefined;
  const texts = promptFiles(details).map(({ name, content }) => `# ${name}\n\n${content}`);
  return texts.length === 0 ? undefined : { appendSystemContext: texts.join("\n\n") };
}

/** Files that a handler added to the prompt. */
function promptFiles(details: Record<string, unknown>): { name: string; content: string }[] {
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
