/**
 * Parses a mail with the library, whose HTML parts lose what is hidden before they become text. The library has no option for that: this
 * file wraps its method that joins the texts of the parts, and fails where that method is gone.
 */
import { MailParser, type AddressObject, type HeaderLines, type MailParserOptions } from "mailparser";
import { visibleHtml } from "./visible-html.ts";

export interface VisibleAttachment {
  filename: string | undefined;
  contentType: string;
  content: Buffer;
}

export interface VisibleMail {
  headerLines: HeaderLines;
  from?: AddressObject;
  subject?: string;
  text?: string;
  html?: string | false;
  textConversionError?: Error;
  attachments: VisibleAttachment[];
}

/** A MIME part inside the library. */
interface Part {
  contentType?: string | false;
  textContent?: unknown;
  children?: Part[];
}

function showVisible(part: Part, most: number): void {
  const { contentType, textContent, children = [] } = part;
  if (contentType === "text/html" && typeof textContent === "string" && textContent.length <= most)
    part.textContent = visibleHtml(textContent);
  for (const child of children) showVisible(child, most);
}

/** Throws on a mail that is not within the limits. */
export async function parseVisible(raw: Buffer, options: MailParserOptions): Promise<VisibleMail> {
  const parser = new MailParser(options);
  const inside = parser as unknown as { tree: Part; getTextContent(): unknown };
  const joined = inside.getTextContent.bind(parser);
  inside.getTextContent = () => {
    showVisible(inside.tree, options.maxHtmlLengthToParse ?? Infinity);
    return joined();
  };
  const mail: VisibleMail = { headerLines: [], attachments: [] };
  parser.on("headers", (headers) => {
    mail.headerLines = parser.headerLines || [];
    const [from, subject] = [headers.get("from"), headers.get("subject")];
    if (from !== undefined) mail.from = from as AddressObject;
    if (typeof subject === "string") mail.subject = subject;
  });
  parser.end(raw);
  for await (const data of parser) {
    if (data.type === "text") {
      const { text, html, textConversionError } = data;
      if (text !== undefined) mail.text = text;
      if (html !== undefined) mail.html = html;
      if (textConversionError) mail.textConversionError = textConversionError;
      continue;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of data.content) chunks.push(chunk as Buffer);
    mail.attachments.push({
      filename: data.filename,
      contentType: data.contentType,
      content: Buffer.concat(chunks),
    });
    data.release();
  }
  return mail;
}
