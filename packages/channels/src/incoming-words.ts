/** The words of a message of a channel, as the host takes them. */
import type { IncomingMessage } from "@pagurus/contract/channel/channel";
import { plainLine, plainText, shownName } from "@pagurus/core/data/plain-text";

const MOST_SUBJECT = 400;

/** A line of a group's context: files are not kept, but named. */
export function textWithFiles({ text, attachments, fetchAttachments }: IncomingMessage): string {
  const names = (attachments ?? []).map(({ name }) => shownName(name) || "file");
  if (fetchAttachments) names.push("file");
  return names.length === 0 ? text : `${text} [with ${names.join(", ")}]`.trim();
}

export function isWordless(message: IncomingMessage): boolean {
  const { text, subject, attachments, fetchAttachments, fetchContent, unreadable } = message;
  const hasFiles = (attachments ?? []).length > 0 || (fetchAttachments ?? fetchContent) !== undefined;
  return text.trim() === "" && subject === undefined && !hasFiles && unreadable === undefined;
}

/** Its words as people see them, whichever service brought them. */
export function seen(message: IncomingMessage): IncomingMessage {
  const { text, subject } = message;
  const line = subject === undefined ? {} : { subject: plainLine(subject, MOST_SUBJECT) };
  return { ...message, text: plainText(text), ...line };
}

/** In a thread several people may write: each message names its writer, and the first one the subject. */
export function messagePrompt({ from, thread, subject, text }: IncomingMessage): string {
  if (thread === undefined) return text;
  const head = [`From: ${from}`, ...(subject === undefined ? [] : [`Subject: ${subject}`])];
  return `${head.join("\n")}\n\n${text}`.trim();
}
