/**
 * Summaries that answered a program's compactions. What the program sends next begins with one, in words of its own: its beginning
 * shows which conversation it is, also in a later run.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import { isRecord, stringOf } from "@pagurus/core/data/record-fields";
import { plain, userKey } from "./request-messages.ts";

/** Type of the entry in the session. */
export const SUMMARY_ENTRY = "wire.summary";
/** What a model writes before its summary; programs drop it. */
const THOUGHTS = /<analysis>[^]*?<\/analysis>/g;
/** How much of a summary is compared, characters; a shorter one could be in other texts. */
const SUMMARY_CHARACTERS = 160;
const LEAST_CHARACTERS = 40;

/** Text without the tags that a program may drop. */
export function untagged(text: string): string {
  return plain(text.replaceAll(/<\/?\w+>/g, " "));
}

/** Undefined for a summary that is too short to be recognized. */
export function summaryBeginning(summary: string): string | undefined {
  const begins = untagged(summary.replaceAll(THOUGHTS, "")).slice(0, SUMMARY_CHARACTERS);
  return begins.length < LEAST_CHARACTERS ? undefined : begins;
}

/** The beginning that an entry of the session stores. */
export function storedBeginning(data: unknown): string | undefined {
  const begins = isRecord(data) ? stringOf(data["begins"]) : "";
  return begins === "" ? undefined : begins;
}

/** Whether a message of the program contains one of the summaries. */
export function hasSummary(message: AgentMessage, beginnings: readonly string[]): boolean {
  if (message.role !== "user" || beginnings.length === 0) return false;
  const text = untagged(userKey(message));
  return beginnings.some((begins) => text.includes(begins));
}
