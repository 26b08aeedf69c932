/**
 * Text that programs other than Codex and Claude Code put into their user's messages: Copilot 1.0.102, Qwen Code 0.24.4, OpenCode
 * 1.18.33. Text without exactly these marks counts as the user's.
 */
import { listOf, recordOf, stringOf, type Fields } from "@pagurus/core/data/record-fields";

const OPEN = "<system-reminder>\n";
const CLOSE = "</system-reminder>";
/** Reminders that describe what the model can use; sent again in each new context. */
const SURROUNDINGS = [
  "The following skills are available for use with the Skill tool.",
  "This is the Qwen Code. We are setting up the context for our chat.",
  "The following tools are reachable through `tool_search` and `tool_call`.",
  "The following MCP tools became available after startup and are reachable through `tool_search`",
];
/** Before the user's text, with an empty line after it. */
const CLOCK = /^<current_datetime>[^<]*<\/current_datetime>\n\n/;
/** How such texts begin in the bytes. */
const STARTS = ["<system-reminder>", "<current_datetime>"];

function insideOf(text: string): string | undefined {
  const whole = text.trimEnd();
  if (!whole.startsWith(OPEN) || whole.indexOf(CLOSE) !== whole.length - CLOSE.length) return undefined;
  return whole.slice(OPEN.length, -CLOSE.length);
}

/** Whether an element of a user may have such text; decided on its bytes. */
export function mayBeMarked(bytes: Buffer): boolean {
  return STARTS.some((start) => bytes.includes(start));
}

/** The user's own part of a text; undefined if none of it is the user's. */
function ownText(text: string): string | undefined {
  if (insideOf(text) !== undefined) return undefined;
  return withoutClock(text);
}

/** The text without Copilot's time before it. */
export function withoutClock(text: string): string {
  return text.replace(CLOCK, "");
}

/** Content of a user's element without the program's text: a text, or parts. Empty if nothing of it is the user's. */
export function ownContent(content: unknown): unknown {
  if (typeof content === "string") return ownText(content) ?? "";
  return listOf(content).flatMap((part): unknown[] => {
    const fields = recordOf(part);
    if (typeof fields["text"] !== "string") return [part];
    const text = ownText(fields["text"]);
    return text === undefined ? [] : [{ ...fields, text }];
  });
}

/** The parts of a user's element that stay valid when the rest of it is dropped. */
export function lastingParts(content: unknown): Fields[] {
  return listOf(content)
    .map(recordOf)
    .filter((part) => {
      const inside = insideOf(stringOf(part["text"]));
      return inside !== undefined && SURROUNDINGS.some((start) => inside.startsWith(start));
    });
}
