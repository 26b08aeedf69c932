/**
 * Which conversation a mail belongs to, and what an answer in it needs. The id of a thread comes from its first mail. Our own Message-IDs
 * hold it too, so that an answer to one of ours finds the thread where a mail program cuts the list of references.
 */
import { createHash } from "node:crypto";
import { headerIn, messageIds, type MailHeader } from "./mail-headers.ts";

/** `<pagurus.{outgoing id}.{thread}@{domain}>`. */
export const OWN_ID = /^<pagurus\.([\w-]{1,200})\.([0-9a-f]{16})@[^<>@\s]+>$/;
/** References of one mail: the first, and the newest. */
const MOST_REFERENCES = 20;
const MOST_SUBJECT = 400;

/** What an answer needs of the mail that it answers; stored by the host as text. */
export interface ReplyContext {
  /** With angle brackets; empty for a mail without an id. */
  messageId: string;
  references: string[];
  subject: string;
}

/** The same for an outgoing message at each attempt. */
export function ownMessageId(outgoingId: string, thread: string, address: string): string {
  return `<pagurus.${outgoingId}.${thread}@${address.split("@").at(-1) ?? "localhost"}>`;
}

function threadOf(root: string): string {
  return createHash("sha256").update(root).digest("hex").slice(0, 16);
}

/** Id of the thread: 16 digits. `fallback` is the root of a mail without any id. */
export function threadIn(headers: readonly MailHeader[], address: string, fallback: string): string {
  const references = messageIds(headerIn(headers, "references"));
  const known = [...references, ...messageIds(headerIn(headers, "in-reply-to"))];
  const domain = `@${address.split("@").at(-1) ?? ""}>`;
  for (const id of known.toReversed()) {
    const thread = id.endsWith(domain) ? OWN_ID.exec(id)?.[2] : undefined;
    if (thread !== undefined) return thread;
  }
  return threadOf(known[0] ?? messageIds(headerIn(headers, "message-id"))[0] ?? fallback);
}

/**
 * Which mail it answers: the id of an outgoing message of ours, or the Message-ID of any other mail. By `In-Reply-To`; programs that leave it
 * out name the mail as the last one of `References`. Undefined for a mail that answers none.
 */
export function answeredMail(headers: readonly MailHeader[], address: string): string | undefined {
  const answered = messageIds(headerIn(headers, "in-reply-to"));
  // Several: which of them is meant is not known, and the whole is the id of no message.
  const named = answered.length > 0 ? answered : messageIds(headerIn(headers, "references")).slice(-1);
  if (named.length === 0) return undefined;
  const [id = ""] = named;
  const domain = `@${address.split("@").at(-1) ?? ""}>`;
  const own = named.length === 1 && id.endsWith(domain) ? OWN_ID.exec(id)?.[1] : undefined;
  return own ?? named.join(" ");
}

/** References of an answer: those of the mail, and the mail. */
function referencesOf(headers: readonly MailHeader[], messageId: string): string[] {
  const known = messageIds(headerIn(headers, "references"));
  const before = known.length > 0 ? known : messageIds(headerIn(headers, "in-reply-to"));
  const all = [...new Set([...before, ...(messageId === "" ? [] : [messageId])])];
  if (all.length <= MOST_REFERENCES) return all;
  return [...all.slice(0, 1), ...all.slice(1 - MOST_REFERENCES)];
}

export function replyContext(headers: readonly MailHeader[], subject: string): ReplyContext {
  const [messageId = ""] = messageIds(headerIn(headers, "message-id"));
  return {
    messageId,
    references: referencesOf(headers, messageId),
    subject: subject.slice(0, MOST_SUBJECT),
  };
}

/** Parses what `replyContext` made; an empty context for anything else. */
export function parseReply(text: string | undefined): ReplyContext {
  const empty: ReplyContext = { messageId: "", references: [], subject: "" };
  if (text === undefined) return empty;
  const { messageId, references, subject } = JSON.parse(text) as Partial<ReplyContext>;
  return {
    messageId: messageId ?? "",
    references: references ?? [],
    subject: subject ?? "",
  };
}

/** Subject of an answer: `Re:` once, whatever prefixes there were. */
export function replySubject(subject: string): string {
  const plain = subject.replace(/^(?:\s*(?:re|aw|sv|antw|fw|fwd|wg)(?:\[\d+\])?:)+\s*/i, "").trim();
  return `Re: ${plain === "" ? "your mail" : plain}`;
}
