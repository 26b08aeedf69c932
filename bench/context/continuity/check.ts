/** Whether a context lets an agent go on with a job: what it lacks, and what it says wrongly. */
import type { AgentMessage } from "../../../src/contract/message.ts";
import { messageTokens } from "../../../src/tokens/messages.ts";
import type { PromptBlocks } from "../policy.ts";
import { textOfMessage } from "../replay/blocks.ts";
import type { FileState, JobState } from "./job.ts";

export interface ContinuityFindings {
  /** User's words that are not there verbatim; corrections are counted apart. */
  lostUserTexts: string[];
  lostCorrections: string[];
  /** Files that are not named, or whose last word is another state than theirs. */
  lostFiles: string[];
  lostOpenStep: boolean;
  /** Finished steps that a made text calls open, and calls that look as if nothing had come of them. */
  finishedShownOpen: string[];
  lostSideEffects: string[];
}

export interface ContinuityRules {
  /**
   * Tokens that the user's words may take. Where all of them are more, those that are neither a correction nor the
   * newest may be missing: constraints and corrections go first.
   */
  userShareTokens: number;
}

const OPEN = /\b(?:open|pending|to ?do|next|in progress|remaining|unfinished|not (?:yet )?done|started)\b/i;
const DONE = /\b(?:done|finished|completed?|closed)\b/i;
/** How words and calls tell a file's state; the later ones in a line win over the earlier. */
const STATES: readonly [FileState, RegExp][] = [
  ["gone", /\b(?:rm|removed?|deleted?|gone)\b/i],
  ["changed", /\b(?:writ(?:e|es|ten)|wrote|edit(?:s|ed)?|changed?|created?|modified|updated?)\b/i],
  ["seen", /\b(?:read|reads|seen|viewed|looked|look)\b/i],
];

interface Line {
  text: string;
  /** The name of the call that the line belongs to. */
  call?: string;
}

/** Lines of a context in order; a call is one line, with its name and its arguments. */
function linesOf(messages: readonly AgentMessage[]): Line[] {
  return messages.flatMap((message): Line[] => {
    if (message.role !== "assistant")
      return textOfMessage(message)
        .split("\n")
        .map((text) => ({ text }));
    return message.content.flatMap((part): Line[] => {
      if (part.type === "toolCall") {
        const { path, command, step } = part.arguments;
        const named = [path, command, step].filter((value) => typeof value === "string");
        return [{ text: `${part.name} ${named.join(" ")}`, call: part.name }];
      }
      return part.type === "text" ? part.text.split("\n").map((text) => ({ text })) : [];
    });
  });
}

/** Sections such as `## Files changed` tell the state of the lines below them. */
function headingsOf(lines: readonly Line[]): string[] {
  let heading = "";
  return lines.map(({ text }) => {
    if (/^(?:#+ |\*\*|<|[A-Z][^.]{0,60}:$)/.test(text.trim())) heading = text;
    else if (text.trim() === "") heading = "";
    return heading;
  });
}

function stateIn(text: string): FileState | undefined {
  return STATES.find(([, pattern]) => pattern.test(text))?.[0];
}

/** The state that a context tells of a file last; undefined where it is not named with one. */
function toldState(path: string, lines: readonly Line[], headings: readonly string[]): FileState | undefined {
  let told: FileState | undefined;
  let changed = false;
  for (const [index, { text }] of lines.entries()) {
    if (!text.includes(path)) continue;
    const state = stateIn(text.replaceAll(path, " ")) ?? stateIn(headings[index] ?? "");
    if (state === undefined) continue;
    // A file that was changed and is read again is still a changed one.
    if (state === "seen" && changed) continue;
    changed = state === "changed";
    told = state;
  }
  return told;
}

function lostFilesOf(state: JobState, lines: readonly Line[]): string[] {
  const headings = headingsOf(lines);
  return [...state.files].flatMap(([path, expected]) => {
    const told = toldState(path, lines, headings);
    return told === expected ? [] : [path];
  });
}

/** A result that says nothing came of its call is a finished call shown as open. */
function openCalls(messages: readonly AgentMessage[]): string[] {
  const answered = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "toolResult") answered.set(message.toolCallId, textOfMessage(message));
  }
  return messages.flatMap((message) =>
    message.role !== "assistant"
      ? []
      : message.content.flatMap((part) => {
          if (part.type !== "toolCall") return [];
          const result = answered.get(part.id);
          return result === undefined || result.startsWith("No result was recorded") ? [part.id] : [];
        }),
  );
}

/** The words of the user are no statement on what is done: a plan is not told again as open by standing there. */
function finishedAsOpen(state: JobState, messages: readonly AgentMessage[]): string[] {
  const users = new Set(state.userTexts);
  const made = messages.filter((message) => !users.has(textOfMessage(message)));
  const quoted = new Set(state.userTexts.flatMap((text) => text.split("\n").map((line) => line.trim())));
  const lines = linesOf(made).filter(({ text }) => !quoted.has(text.trim()));
  return state.finishedSteps.filter((mark) =>
    lines.some(({ text }) => text.includes(mark) && OPEN.test(text) && !DONE.test(text)),
  );
}

/** What of the user's words has to be verbatim: all while they fit their share, else corrections and the newest. */
function requiredTexts(state: JobState, rules: ContinuityRules): ReadonlySet<string> {
  const tokens = state.userTexts.reduce((sum, content) => sum + messageTokens({ role: "user", content }), 0);
  if (tokens <= rules.userShareTokens) return new Set(state.userTexts);
  return new Set([...state.corrections, ...state.userTexts.slice(-1)]);
}

/** Checks one context against what is true before the call. */
export function checkContinuity(
  prompt: PromptBlocks,
  state: JobState,
  rules: ContinuityRules,
): ContinuityFindings {
  const { messages } = prompt;
  const text = [prompt.addition ?? "", ...messages.map(textOfMessage)].join("\n");
  const missing = [...requiredTexts(state, rules)].filter((said) => !text.includes(said));
  const corrections = new Set(state.corrections);
  return {
    lostUserTexts: missing.filter((said) => !corrections.has(said)),
    lostCorrections: missing.filter((said) => corrections.has(said)),
    lostFiles: lostFilesOf(state, linesOf(messages)),
    lostOpenStep: state.openStep !== "" && !text.includes(state.openStep),
    finishedShownOpen: [...finishedAsOpen(state, messages), ...openCalls(messages)],
    lostSideEffects: state.sideEffects.filter((mark) => !text.includes(mark)),
  };
}
