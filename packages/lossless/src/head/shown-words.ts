/** Text of a message as the head shows it: images are named, and attached data is shortened. */
import { excerpt } from "@pagurus/core/compaction/summary/text-excerpt";
import { textOf } from "@pagurus/core/compaction/message-text";
import { attributed, inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage, ImagePart } from "@pagurus/contract/message";
import { ENTRY_TOOL } from "@pagurus/contract/harness/tool";

/** Base64 characters per three bytes. */
const BASE64 = 4;
/** Limit on one attachment in the head, characters. */
const DATA_CHARS = 800;

function backTo({ entryId }: AgentMessage): string {
  return entryId === undefined ? "" : `; ${ENTRY_TOOL} ${entryId} gives it`;
}

/** Placeholder of an image: type, size, and how the model retrieves it. */
function imageLine(image: ImagePart, message: AgentMessage): string {
  const size = Math.max(1, Math.round((image.data.length * 3) / BASE64 / 1_000));
  return `[${image.mimeType}, ${size} KB${backTo(message)}]`;
}

/** Text of a message, with a line for each image, and `dataChars` characters of each attachment after its source. */
export function shownWords(message: AgentMessage, dataChars = DATA_CHARS): string {
  const images =
    typeof message.content === "string" ? [] : message.content.filter((part) => part.type === "image");
  const lines = images.map((image) => imageLine(image, message));
  if (message.role !== "user") return [textOf(message), ...lines].filter((text) => text !== "").join("\n");
  const { typed, attached } = inputWords(message);
  const data = attached.map(({ source, text }) => {
    const count = text.split("\n").length;
    const name = `${source} (${count} ${count === 1 ? "line" : "lines"}${backTo(message)})`;
    return attributed(name, excerpt(text, dataChars));
  });
  return [typed, ...lines, ...data].filter((text) => text !== "").join("\n");
}

/** True for a message of the user that has data attached. */
export function hasData(message: AgentMessage | undefined): boolean {
  return message?.role === "user" && inputWords(message).attached.length > 0;
}

/** The user's own text; empty for any other message. */
export function wordsShownBy(message: AgentMessage | undefined): string {
  return message?.role === "user" ? inputWords(message).words : "";
}
