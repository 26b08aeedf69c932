import type { ImagePart, TextPart } from "@pagurus/contract/message";
import type { Fields } from "@pagurus/core/data/record-fields";

/** Openings of user-role texts that the program wrote. */
const OPENINGS = ["<task-notification>", "<system-reminder>"];

/** A user-role line that the program wrote, as a notice; undefined for the user's own text, and for images. */
export function renderNotice(
  value: Fields,
  content: string | readonly (TextPart | ImagePart)[],
): { customType: string; content: string } | undefined {
  const texts =
    typeof content === "string"
      ? [content]
      : content.flatMap((part) => (part.type === "text" ? part.text : []));
  if (typeof content !== "string" && texts.length < content.length) return undefined;
  const text = texts.join("\n");
  const written = OPENINGS.some((opening) => text.trimStart().startsWith(opening));
  return value["isMeta"] === true || written
    ? { customType: "claude-code.notice", content: text }
    : undefined;
}
