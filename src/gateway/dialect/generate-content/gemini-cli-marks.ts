/**
 * How Gemini CLI marks its own requests and text, as recorded from 0.61.0 (`test/gateway/recorded`). Text without exactly these marks
 * counts as the user's.
 */
import { type Fields, stringOf } from "../../../data/record-fields.ts";
import type { WireHeaders } from "../wire-dialect.ts";

const SURROUNDINGS = ["<session_context>\n", "\n</session_context>"] as const;
const SNAPSHOT = "<state_snapshot>";
const ACKNOWLEDGEMENT = "Got it. Thanks for the additional context!";
const COMPACTION_RULES = "You are a specialized system component responsible for distilling chat history ";
const COMPACTION_ENDS = "\n\nFirst, reason in your scratchpad. Then, generate the updated <state_snapshot>.";
const CHECK_BEGINS = "Critically evaluate the <state_snapshot> you just generated. ";
/** The function with which each of its subagents ends. */
const SUBAGENT_END = "complete_task";

export function isGeminiCli(headers: WireHeaders): boolean {
  const agent = headers["user-agent"];
  return typeof agent === "string" && /^GeminiCLI[/-]/.test(agent);
}

function onlyText(parts: readonly Fields[]): string {
  return parts.length === 1 ? stringOf(parts[0]?.["text"]) : "";
}

/** Whether the content describes surroundings: date, system, folders, memory. */
export function isSurroundings(parts: readonly Fields[]): boolean {
  const [begin, end] = SURROUNDINGS;
  const text = onlyText(parts);
  return text.startsWith(begin) && text.endsWith(end) && text.indexOf(end) === text.length - end.length;
}

export function isSnapshot(parts: readonly Fields[]): boolean {
  return onlyText(parts).includes(SNAPSHOT);
}

/** The model's answer that Gemini CLI makes up after a summary. */
export function isAcknowledgement(parts: readonly Fields[]): boolean {
  return onlyText(parts) === ACKNOWLEDGEMENT;
}

export function asksForCompaction(system: string, asked: readonly Fields[]): boolean {
  return system.trimStart().startsWith(COMPACTION_RULES) && onlyText(asked).endsWith(COMPACTION_ENDS);
}

/** Whether a request asks to check a summary that was made right before, and to repeat it if nothing is missing. */
export function asksToCheck(system: string, asked: readonly Fields[]): boolean {
  return system.trimStart().startsWith(COMPACTION_RULES) && onlyText(asked).startsWith(CHECK_BEGINS);
}

export function isOfSubagent(functions: readonly Fields[]): boolean {
  return functions.some(({ name }) => name === SUBAGENT_END);
}

/** A summary in the tags in which Gemini CLI expects it. Tags inside the text would end it. */
export function inTags(text: string): string {
  return `${SNAPSHOT}\n${text.replaceAll(/<(\/?state_snapshot)>/gi, "[$1]")}\n</state_snapshot>`;
}
