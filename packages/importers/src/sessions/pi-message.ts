/** Messages of pi: nearly ours, with extra roles for its screen and its extensions. */
import type { AssistantMessage } from "@pagurus/contract/message";
import { type Fields, filledString } from "@pagurus/core/data/record-fields";
import { shellText } from "@pagurus/core/data/shell-text";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import { resultContent } from "./blocks.ts";
import { isEmptyMessage, type DraftBody } from "./draft.ts";
import {
  assistantContent,
  sortParts,
  stopReasonOf,
  usageOf,
  userContent,
  type SortedParts,
} from "./message-parts.ts";
import { defined } from "@pagurus/core/data/defined";

export interface ReadMessage {
  body: DraftBody;
  /** Parts that are kept as data. */
  data: SortedParts["data"];
}

/** Undefined for a message that no model sees, and for one without content. */
export function readPiMessage(message: Fields, key: string, at: number | undefined): ReadMessage | undefined {
  const timestamp = at === undefined ? {} : { timestamp: at };
  const parts = sortParts(message["content"]);
  switch (message["role"]) {
    case "user": {
      const user = { role: "user", content: userContent(parts), ...timestamp } as const;
      return isEmptyMessage(user)
        ? undefined
        : { body: { type: "message", message: user }, data: parts.data };
    }
    case "assistant": {
      const answer = { ...assistant(message, parts, key), ...timestamp };
      return isEmptyMessage(answer)
        ? undefined
        : { body: { type: "message", message: answer }, data: parts.data };
    }
    case "toolResult": {
      const toolCallId = filledString(message["toolCallId"]);
      if (toolCallId === undefined) return undefined;
      const result = {
        role: "toolResult",
        toolCallId,
        toolName: toolName(filledString(message["toolName"]) ?? ""),
        content: resultContent(message["content"]),
        isError: message["isError"] === true,
        ...timestamp,
      } as const;
      return { body: { type: "message", message: result }, data: [] };
    }
    case "bashExecution":
      return message["excludeFromContext"] === true
        ? undefined
        : noticeMessage("pi.bash", shellText(message));
    case "custom":
    case "hookMessage":
      return custom(message, parts, timestamp);
    case "branchSummary":
    case "compactionSummary":
      return noticeMessage(`pi.${String(message["role"])}`, filledString(message["summary"]) ?? "");
    default:
      return undefined;
  }
}

function noticeMessage(customType: string, content: string): ReadMessage | undefined {
  return content === "" ? undefined : { body: { type: "custom_message", customType, content }, data: [] };
}

function assistant(message: Fields, parts: SortedParts, key: string): AssistantMessage {
  const content = assistantContent(parts, key);
  const provider = filledString(message["provider"]);
  const model = filledString(message["model"]);
  const usage = usageOf(message["usage"]);
  const errorMessage = filledString(message["errorMessage"]);
  return {
    role: "assistant",
    content,
    ...defined({ provider, model, usage }),
    stopReason: stopReasonOf(message["stopReason"], content),
    ...defined({ errorMessage }),
  };
}

/** A notice holds text; with an image it becomes a user message. */
function custom(message: Fields, parts: SortedParts, timestamp: object): ReadMessage | undefined {
  const content = userContent(parts);
  if (content.length === 0) return undefined;
  if (typeof content !== "string" && content.some((part) => part.type === "image"))
    return { body: { type: "message", message: { role: "user", content, ...timestamp } }, data: parts.data };
  const text =
    typeof content === "string"
      ? content
      : content.map((part) => ("text" in part ? part.text : "")).join("\n");
  const customType = filledString(message["customType"]) ?? "pi.custom";
  const display = typeof message["display"] === "boolean" ? { display: message["display"] } : {};
  const details = message["details"] === undefined ? {} : { details: message["details"] };
  return {
    body: { type: "custom_message", customType, content: text, ...display, ...details },
    data: parts.data,
  };
}
