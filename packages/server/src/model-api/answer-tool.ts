/**
 * JSON answers that the Vercel AI SDK asks the Messages API for by a tool of its own, for models that it does not know: the arguments of the
 * call are the answer's text to its caller, and the text is in the history that it sends next.
 */
import type { AssistantMessage } from "@pagurus/contract/message";
import { recordOf, recordsOf } from "@pagurus/core/data/record-fields";
import type { Governor } from "@pagurus/gateway/governor/governor";
import type { WireAnswer, WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import { objectMembers, parsePart, wholeValue } from "@pagurus/gateway/json/scan";
import { WrapGovernor } from "@pagurus/gateway/wrap/wrap-governor";

const NAME = "json";
/** As `@ai-sdk/anthropic` 4.0 describes it. */
const DESCRIPTION = "Respond with a JSON object.";

function asksByTool({ api, body }: WireRequest): boolean {
  if (api !== "anthropic-messages" || !body.includes(DESCRIPTION)) return false;
  const members = objectMembers(body, wholeValue(body));
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && parsePart(body, span);
  };
  const isForced = recordOf(read("tool_choice"))["type"] === "any";
  return (
    isForced &&
    recordsOf(read("tools")).some(({ name, description }) => name === NAME && description === DESCRIPTION)
  );
}

/** The answer as the client's history will have it. */
function asText(message: AssistantMessage): AssistantMessage {
  const call = message.content.find((part) => part.type === "toolCall" && part.name === NAME);
  if (call?.type !== "toolCall") return message;
  const thinking = message.content.filter(({ type }) => type === "thinking");
  const text = { type: "text" as const, text: JSON.stringify(call.arguments) };
  return { ...message, content: [...thinking, text], stopReason: "stop" };
}

/** Follows the turns of a client. */
export class ClientGovernor extends WrapGovernor {
  override async answered(
    request: WireRequest,
    answer: WireAnswer,
    how: Parameters<Governor["answered"]>[2],
  ): Promise<void> {
    const message = asksByTool(request) ? asText(answer.message) : answer.message;
    await super.answered(request, { ...answer, message }, how);
  }
}
