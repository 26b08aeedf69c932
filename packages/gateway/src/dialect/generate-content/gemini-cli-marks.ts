/**
 * How Gemini CLI marks its own requests and text, as recorded from 0.61.0 (`test/gateway/recorded`). Text without exactly these marks
 * counts as the user's.
 */
import { type Fields, stringOf } from "@pagurus/core/data/record-fields";
import type { WireHeaders } from "../wire-dialect.ts";

/** `words`: the user's text; `lasting`: stays valid, such as surroundings; `passing`: was only valid for its moment. */
export type TextKind = "words" | "lasting" | "passing";

const SURROUNDINGS = ["<session_context>\n", "\n</session_context>"] as const;
const HOOK = ["<hook_context>", "</hook_context>"] as const;
/** What is open in the editor that it runs in, sent with the user's text. */
const EDITOR = [
  "Here is the user's editor context as a JSON object. This is for your information only.\n```json\n",
  "Here is a summary of changes in the user's editor context, in JSON format. This is for your information only.\n```json\n",
];
const EDITOR_ENDS = "\n```";
/** Appended to the last content when an answer without text is requested again. */
const ASKED_AGAIN = new Set([
  "[System: You previously generated thoughts but failed to provide a final user-facing response. Please ensure you provide your final answer or call a tool now.]",
  "[System: You previously returned an empty response with no text or thoughts. Please ensure you provide your final answer or call a tool now.]",
]);
/** The answer that it makes up between results and such a text. */
const EXECUTED = "[Tool execution completed.]";
/** The answer that it makes up for one that the user has stopped, or a loop. */
const INTERRUPTED = "[The previous response was interrupted before it completed.]";
const LOOP = "System: Potential loop detected. Details: ";

const SNAPSHOT = "<state_snapshot>";
/** The answer that it makes up after a summary. */
const ACKNOWLEDGEMENT = "Got it. Thanks for the additional context!";
const COMPACTION_RULES = "You are a specialized system component responsible for distilling chat history ";
const COMPACTION_ENDS = "\n\nFirst, reason in your scratchpad. Then, generate the updated <state_snapshot>.";
const CHECK_BEGINS = "Critically evaluate the <state_snapshot> you just generated. ";
/** Asked for a line in its list of sessions. */
const SESSION_SUMMARY_BEGINS =
  "Summarize the user's primary intent or goal in this conversation in ONE sentence ";
/** The function with which each of its subagents ends. */
const SUBAGENT_END = "complete_task";

/** In a terminal of VS Code the program has another name. */
const GEMINI_AGENT = /^GeminiCLI[/-]|^CloudCodeVSCode\/.*; proxy_client=geminicli\)$/;

export function isGeminiCli(headers: WireHeaders): boolean {
  const agent = headers["user-agent"];
  return typeof agent === "string" && GEMINI_AGENT.test(agent);
}

function isWrapped(text: string, [begin, end]: readonly [string, string]): boolean {
  return text.startsWith(begin) && text.indexOf(end) === text.length - end.length;
}

/** Whether the text describes surroundings: date, system, folders, memory. */
export function describesSurroundings(text: string): boolean {
  return isWrapped(text, SURROUNDINGS);
}

function asksAgain(text: string): boolean {
  return ASKED_AGAIN.has(text.trim());
}

function isOfEditor(text: string): boolean {
  return text.endsWith(EDITOR_ENDS) && EDITOR.some((begin) => text.startsWith(begin));
}

export function kindOfText(text: string): TextKind {
  if (describesSurroundings(text) || isWrapped(text, HOOK)) return "lasting";
  return asksAgain(text) || text.startsWith(LOOP) || isOfEditor(text) ? "passing" : "words";
}

function onlyText(parts: readonly Fields[]): string {
  return parts.length === 1 ? stringOf(parts[0]?.["text"]) : "";
}

export function isSnapshot(text: string): boolean {
  return text.includes(SNAPSHOT);
}

export function isAcknowledgement(parts: readonly Fields[]): boolean {
  return onlyText(parts) === ACKNOWLEDGEMENT;
}

/** Whether an answer is made up, so that the text which follows is not next to results. */
export function isMadeUp(answer: readonly Fields[], next: readonly Fields[]): boolean {
  const text = onlyText(answer);
  return text === INTERRUPTED || (text === EXECUTED && asksAgain(onlyText(next)));
}

export function asksForCompaction(system: string, asked: readonly Fields[]): boolean {
  return system.trimStart().startsWith(COMPACTION_RULES) && onlyText(asked).endsWith(COMPACTION_ENDS);
}

/** Whether a request asks to check a summary that was made right before, and to repeat it if nothing is missing. */
export function asksToCheck(system: string, asked: readonly Fields[]): boolean {
  return system.trimStart().startsWith(COMPACTION_RULES) && onlyText(asked).startsWith(CHECK_BEGINS);
}

export function asksForSessionSummary(asked: readonly Fields[]): boolean {
  return onlyText(asked).startsWith(SESSION_SUMMARY_BEGINS);
}

export function isOfSubagent(functions: readonly Fields[]): boolean {
  return functions.some(({ name }) => name === SUBAGENT_END);
}

/** A summary in the tags in which Gemini CLI expects it. Tags inside the text would end it. */
export function inTags(text: string): string {
  return `${SNAPSHOT}\n${text.replaceAll(/<(\/?state_snapshot)>/gi, "[$1]")}\n</state_snapshot>`;
}
