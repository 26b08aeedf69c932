/** OpenClaw's hook handlers as the host's: the same names, events with the fields that OpenClaw's have beside ours. */
import { isRecord } from "../../config/record.ts";
import { PagurusError } from "../../contract/errors.ts";
import type { HookContext, HookHandler, HookName } from "../../contract/hooks.ts";
import type { PluginLogger } from "../../contract/plugin.ts";

export type OpenClawHandler = (event: Record<string, unknown>, context: HookContext) => unknown;

/** The handler as the host calls it. `logger` is told once of an answer that is placed elsewhere than in OpenClaw. */
export function hostHook<K extends HookName>(
  name: K,
  handler: OpenClawHandler,
  logger: PluginLogger,
): HookHandler<K> {
  let told = false;
  const moved = (fields: string[]): void => {
    if (told) return;
    told = true;
    logger.warn("A hook's text for the prompt is placed at the end of the system prompt.", { fields });
  };
  return async (payload, context) => {
    const answer = await handler(eventOf(name, payload as Record<string, unknown>, context), context);
    if (!isRecord(answer)) return answer as Awaited<ReturnType<HookHandler<K>>>;
    const own =
      name === "before_prompt_build"
        ? promptAnswer(answer, moved)
        : name === "before_tool_call"
          ? gateAnswer(answer)
          : answer;
    return own as Awaited<ReturnType<HookHandler<K>>>;
  };
}

/** A gate that wants somebody asked holds the call back: there is nobody whom a plugin could ask here. */
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
  { sessionId, sessionKey }: HookContext,
): Record<string, unknown> {
  switch (name) {
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
    default:
      return payload;
  }
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
