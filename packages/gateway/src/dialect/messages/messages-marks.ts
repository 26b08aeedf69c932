/**
 * How Claude Code marks its own text, as recorded from 2.1.330 (`test/gateway/recorded`). Text without exactly these marks
 * counts as the user's, and a request without them as an ordinary one.
 */

/** `words`: the user's text; `lasting`: stays valid, such as surroundings and reports; `passing`: was only valid for its moment. */
export type TextKind = "words" | "lasting" | "passing";

const OPEN = "<system-reminder>\n";
const CLOSE = "\n</system-reminder>";

/** Sent again in each new context. */
const CLAUDE_SURROUNDINGS = [
  "# Environment\n",
  "You are powered by the model ",
  "The following deferred tools are now available via ToolSearch.",
  "Available agent types for the Agent tool:",
  "The following skills are available for use with the Skill tool:",
  "As you answer the user's questions, you can use the following context:\n",
  "Today's date is ",
  "Attribution for git commits and pull requests ",
];
const MOMENTS = [
  "<total_tokens>",
  "<tools-used-before-summary>",
  "Called the ",
  "Result of calling the ",
  "The task tools haven't been used recently.",
];
/** Beginning and end of other text of Claude Code than reminders. */
const WRAPPERS: readonly (readonly [string, string])[] = [
  ["<local-command-caveat>", "</local-command-caveat>"],
  ["<command-name>", "</command-args>"],
  ["<local-command-stdout>", "</local-command-stdout>"],
  ["[Image: source: ", "]"],
];
const INTERRUPTED = new Set(["[Request interrupted by user]", "[Request interrupted by user for tool use]"]);
const CONTINUED =
  "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n";

const COMPACTION_BEGINS = `CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.

- Do NOT use Read, Bash, Grep, Glob, Edit, Write, or ANY other tool.
- You already have all the context you need in the conversation above.
- Tool calls will be REJECTED and will waste your only turn — you will fail the task.
- Your entire response must be plain text: an <analysis> block followed by a <summary> block.

Your task is to create a detailed summary of the conversation so far, `;
const FOCUS_BEGINS = "\n\nAdditional Instructions:\n";
const COMPACTION_ENDS =
  "\n\nREMINDER: Do NOT call any tools. Respond with plain text only — an <analysis> block followed by a <summary> block. Tool calls will be rejected and you will fail the task.";
/** Appended when the compaction is requested again, after an answer without a summary in its tags. */
const ASKED_AGAIN =
  "\n\nFor this reply only: write what the instructions above ask for, with the summary inside <summary></summary> tags. ";

const TITLE_BEGINS =
  "You are naming a coding session so the user can pick it out of a long list of sessions. The title is a name for what the session is about, ";
const SUGGESTION_BEGINS =
  "[SUGGESTION MODE: Suggest what the user might naturally type next into Claude Code.]\n\n";

/** The inside of a reminder that is the whole text; undefined for any other text. */
function insideOf(text: string): string | undefined {
  const whole = text.trimEnd();
  if (!whole.startsWith(OPEN) || whole.indexOf(CLOSE) !== whole.length - CLOSE.length) return undefined;
  return whole.slice(OPEN.length, -CLOSE.length);
}

function beginsWith(text: string, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => text.startsWith(beginning));
}

/** Whether the reminder describes surroundings: without it the model does not know its environment and tools. */
export function describesSurroundings(text: string): boolean {
  const inside = insideOf(text);
  return inside !== undefined && beginsWith(inside, CLAUDE_SURROUNDINGS);
}

/** A summary as text, as Claude Code's own compaction would have left it. */
export function continuationText(summary: string): string {
  return `${CONTINUED}${summary}`;
}

export function isContinuation(text: string): boolean {
  return text.startsWith(CONTINUED);
}

function isInterruption(text: string): boolean {
  return INTERRUPTED.has(text.trimEnd());
}

export function kindOfText(text: string): TextKind {
  if (isContinuation(text) || isInterruption(text) || compactionAsked(text)) return "passing";
  const inside = insideOf(text);
  if (inside !== undefined) return beginsWith(inside, MOMENTS) ? "passing" : "lasting";
  const whole = text.trimEnd();
  const isWrapped = WRAPPERS.some(
    ([begin, end]) =>
      whole.startsWith(begin) &&
      whole.length > begin.length &&
      whole.indexOf(end) === whole.length - end.length,
  );
  return isWrapped ? "passing" : "words";
}

/**
 * A tool's result without the reminders that Claude Code appended. A reminder with a steering text of the user stays in place: a
 * tool could have printed the same, and its output must not count as the user's.
 */
export function withoutReminders(result: string): string {
  let text = result;
  while (text.endsWith(CLOSE)) {
    const at = text.lastIndexOf(OPEN);
    if (at < 0 || (at > 0 && text.slice(at - 2, at) !== "\n\n")) break;
    const inside = text.slice(at + OPEN.length, -CLOSE.length);
    if (!beginsWith(inside, CLAUDE_SURROUNDINGS) && !beginsWith(inside, MOMENTS)) break;
    text = text.slice(0, Math.max(0, at - 2));
  }
  return text;
}

/** Undefined for text that does not ask for a compaction; else what the user wants the summary to focus on. */
export function compactionAsked(text: string): { focus?: string } | undefined {
  if (!text.startsWith(COMPACTION_BEGINS)) return undefined;
  const end = text.lastIndexOf(COMPACTION_ENDS);
  const rest = text.slice(end + COMPACTION_ENDS.length);
  if (end < 0 || (rest !== "" && !rest.startsWith(ASKED_AGAIN))) return undefined;
  const begin = text.indexOf(FOCUS_BEGINS);
  if (begin < 0 || begin > end) return {};
  const focus = text.slice(begin + FOCUS_BEGINS.length, end).trim();
  return focus === "" ? {} : { focus };
}

export function asksForTitle(systemText: string): boolean {
  return systemText.startsWith(TITLE_BEGINS);
}

export function asksForSuggestion(text: string): boolean {
  return text.startsWith(SUGGESTION_BEGINS);
}
