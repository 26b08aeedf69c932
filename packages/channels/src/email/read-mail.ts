/** Parses a mail: its sender, its own words, its attachments. Whatever a mail holds, this ends soon and does not throw. */
import type { Attachment } from "@pagurus/contract/channel/channel";
import { headersOf, type MailHeader } from "./mail-headers.ts";
import { addressKey } from "../address-key.ts";
import { plainLine } from "@pagurus/core/data/plain-text";
import { ownWords } from "./own-words.ts";
import { parseVisible, type VisibleMail } from "./visible-mail.ts";

/** Limits against mails that are made to keep a reader busy. */
const MAIL_LIMITS = { maxChildNodes: 100, maxHeadSize: 256 * 1024, maxHtmlLengthToParse: 1024 * 1024 };
const MOST_MAIL_TEXT = 1024 * 1024;
const MOST_LINE = 400;
const ADDRESS = /^[^\s@<>"(),:;\\[\]]{1,64}@[^\s@<>"(),:;\\[\]]{1,190}$/;

export interface ReadMail {
  headers: MailHeader[];
  /** The one address of From, by `addressKey`; undefined where there is none, or several. */
  from?: string;
  name?: string;
  subject: string;
  /** What the sender wrote, without quoted mails and signature. */
  text: string;
  attachments: Attachment[];
  /** Sentences about what was not read. */
  problems: string[];
}

const MOST_SENDER_NAME = 200;

function mailSender({ from, headerLines }: VisibleMail): { from?: string; name?: string } {
  const [one, ...more] = from?.value ?? [];
  const isOne = headerLines.filter(({ key }) => key === "from").length === 1 && more.length === 0;
  const address = addressKey(one?.address ?? "");
  if (!one || !isOne || !ADDRESS.test(address)) return {};
  const name = plainLine(one.name, MOST_LINE);
  return { from: address, ...(name === "" ? {} : { name }) };
}

const OPTIONS = { ...MAIL_LIMITS, skipTextToHtml: true, checksumAlgo: false } as const;

/** The parser turns HTML into text only where it is the whole mail: HTML beside attachments is parsed again as one. */
async function textIn(mail: VisibleMail): Promise<Pick<VisibleMail, "text" | "textConversionError">> {
  if (mail.text !== undefined || typeof mail.html !== "string") return mail;
  const alone = Buffer.from(`Content-Type: text/html; charset=utf-8\r\n\r\n${mail.html}`);
  return await parseVisible(alone, OPTIONS);
}

/** Undefined for a mail that cannot be parsed within the limits. */
export async function readMail(raw: Buffer): Promise<ReadMail | undefined> {
  let mail: VisibleMail;
  let body: Pick<VisibleMail, "text" | "textConversionError">;
  try {
    mail = await parseVisible(raw, OPTIONS);
    body = await textIn(mail);
  } catch {
    return undefined;
  }
  const problems: string[] = [];
  if (body.textConversionError)
    problems.unshift("Its HTML text was not read, since it is too long or too deep.");
  const written = body.text ?? "";
  if (written.length > MOST_MAIL_TEXT)
    problems.unshift(`Only its first ${MOST_MAIL_TEXT} characters were read.`);
  return {
    headers: headersOf(mail.headerLines),
    ...mailSender(mail),
    subject: plainLine(mail.subject ?? "", MOST_LINE),
    text: ownWords(written.slice(0, MOST_MAIL_TEXT)),
    attachments: mail.attachments.map(({ filename, contentType, content }, index) => ({
      name: plainLine(filename ?? "", MOST_SENDER_NAME) || `attachment ${index + 1}`,
      mimeType: contentType,
      bytes: content,
    })),
    problems,
  };
}
