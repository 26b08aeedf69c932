/** The words of a message, part by part. */
import type { AgentMessage } from "../../contract/message.ts";
import type { RedactedKind } from "./report-redaction.ts";

export interface MessagePart {
  title: string;
  kind: RedactedKind;
  text: string;
}

export function messageParts(message: AgentMessage): MessagePart[] {
  const kind = message.role === "toolResult" ? "results" : message.role;
  const title = message.role === "toolResult" ? `result of ${message.toolName}` : message.role;
  if (typeof message.content === "string") return [{ title, kind, text: message.content }];
  return message.content.map((part) => {
    switch (part.type) {
      case "text":
        return { title, kind, text: part.text };
      case "thinking":
        return { title: `${title}, thinking`, kind, text: part.thinking };
      case "toolCall":
        return {
          title: `${title}, call of ${part.name}`,
          kind,
          text: JSON.stringify(part.arguments, undefined, 2),
        };
      case "image":
        return { title, kind, text: `[image ${part.mimeType}, ${part.data.length} characters of Base64]` };
    }
  });
}
