/** What stands for an image in the head: what it is, how large, and how the model gets it back. */
import { textOf } from "../../compaction/message-text.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { ENTRY_TOOL } from "../../contract/tool.ts";

/** Characters of base64 for three bytes. */
const BASE64 = 4;

/** The words of a message, with a line for each of its images. */
export function shownWords(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  const images = message.content.flatMap((part) => {
    if (part.type !== "image") return [];
    const size = Math.max(1, Math.round((part.data.length * 3) / BASE64 / 1_000));
    const how = message.entryId === undefined ? "" : `; ${ENTRY_TOOL} ${message.entryId} gives it`;
    return [`[${part.mimeType}, ${size} KB${how}]`];
  });
  return [textOf(message), ...images].filter((text) => text !== "").join("\n");
}
