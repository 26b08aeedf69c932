/** Title of a session without a name: the first words of the person. */
import type { UserMessage } from "@pagurus/contract/message";

const LONGEST = 120;
/** A part that a program or the host has added, such as an attached file or piped input. */
const NOT_TYPED = /^\s*<[a-z][\w-]*[\s>]/i;

/** One line; undefined when the person has typed nothing. */
export function titleOf({ content }: UserMessage): string | undefined {
  const texts =
    typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : ""));
  const typed = texts.find((text) => text.trim() !== "" && !NOT_TYPED.test(text));
  if (typed === undefined) return undefined;
  const chars = Array.from(
    typed
      .slice(0, LONGEST * 4)
      .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
      .trim(),
  );
  if (chars.length === 0) return undefined;
  return chars.length <= LONGEST ? chars.join("") : `${chars.slice(0, LONGEST - 1).join("")}…`;
}
