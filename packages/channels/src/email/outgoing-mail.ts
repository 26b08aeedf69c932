/** Builds mails, and sends them over one SMTP connection, which is opened when it is needed. */
import { Readable } from "node:stream";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection, { type SMTPConnectionSendInfo } from "nodemailer/lib/smtp-connection";
import type { OutgoingMessage } from "@pagurus/contract/channel/channel";
import { mailFailure, type EmailAccount } from "./email-account.ts";
import { LOOP_HEADER } from "./mail-origin.ts";
import { ownMessageId, parseReply, replySubject } from "./mail-thread.ts";
import { plainText } from "@pagurus/core/data/plain-text";
import { TemporaryRefusals } from "./temporary-refusals.ts";

const CONNECT_MS = 20_000;
const SILENCE_MS = 60_000;
/** A connection that was not used for so long may be closed by the server, ms. */
const CONNECTION_FRESH_MS = 10_000;

interface SmtpError extends Error {
  code?: string;
  responseCode?: number;
  command?: string;
}

type Envelope = SMTPConnection.Envelope & { rejected?: string[]; rejectedErrors?: NodemailerError[] };
type NodemailerError = SMTPConnection.SMTPError;

/** Names the outgoing message, also where a server replaces the Message-ID. */
export const OWN_FIELD = "X-Pagurus-Id";
const NO_THREAD = "0".repeat(16);

/** Header fields by which a mail of ours is found again. */
export function ownFields(
  { id, thread = NO_THREAD }: OutgoingMessage,
  address: string,
): Record<string, string> {
  return { "message-id": ownMessageId(id, thread, address), [OWN_FIELD]: id };
}

/** Largest file of a mail, bytes: encoded, it fits into the 10 MB that most servers take. */
export const MOST_ATTACHED_BYTES = 7 * 1024 * 1024;

/** Why the server does not take a mail. */
export interface Refusal {
  reason: string;
  /** Whether it refuses its reader alone, and not the mail as a whole. */
  isOfReader: boolean;
}

/** The same bytes at each attempt. */
export async function buildMail(message: OutgoingMessage, to: string, address: string): Promise<Buffer> {
  const { messageId: answered, references, subject } = parseReply(message.reply);
  const { "message-id": messageId = "", ...fields } = ownFields(message, address);
  const { id, text, attachment } = message;
  return await new MailComposer({
    from: address,
    to,
    subject: replySubject(subject),
    messageId,
    date: new Date(message.createdAt),
    ...(answered === "" ? {} : { inReplyTo: answered }),
    ...(references.length === 0 ? {} : { references }),
    headers: { "Auto-Submitted": "auto-replied", [LOOP_HEADER]: address, ...fields },
    baseBoundary: id,
    text: plainText(text),
    ...(attachment
      ? {
          attachments: [
            {
              filename: attachment.name,
              contentType: attachment.mimeType,
              // As bytes: line ends of a text stay as they are.
              contentTransferEncoding: "base64",
              content: Buffer.from(attachment.bytes),
            },
          ],
        }
      : {}),
  })
    .compile()
    .build();
}

function isTemporary({ responseCode = 0 }: NodemailerError): boolean {
  return responseCode < 500;
}

/** The text of a mail, read when the server has answered for each address. Throws where it refused the reader. */
function* textFor(to: string, envelope: Envelope, raw: Buffer): Generator<Buffer> {
  if (envelope.rejected?.includes(to) === true) throw mailFailure("the server refuses the reader");
  yield raw;
}

export class SmtpSender {
  readonly #account: EmailAccount;
  #connection: SMTPConnection | undefined;
  #usedAt = 0;
  readonly #refusals: TemporaryRefusals;

  constructor(account: EmailAccount, refusals = new TemporaryRefusals()) {
    this.#account = account;
    this.#refusals = refusals;
  }

  /**
   * Sends a mail to a person and, in the same transaction, to the account itself; to neither where the server refuses the person. Resolves
   * with the server's reason where it refuses that for good. Throws where it may be tried again.
   */
  async send(to: string, raw: Buffer): Promise<Refusal | undefined> {
    const connection = await this.#connected();
    const { address } = this.#account;
    // The library notes in it whom the server refuses.
    const envelope: Envelope = { from: address, to: [...new Set([to, address])], size: raw.length };
    try {
      await new Promise<SMTPConnectionSendInfo>((resolve, reject) => {
        // The callback of a cut connection may not come.
        connection.once("end", () => reject(mailFailure("the connection was cut")));
        connection.once("error", reject);
        connection.send(envelope, Readable.from(textFor(to, envelope, raw)), (error, info) => {
          if (error || !info) reject(error ?? mailFailure("the server gave no answer"));
          else resolve(info);
        });
      });
      this.#usedAt = Date.now();
      this.#refusals.end(to);
      return undefined;
    } catch (error) {
      // In the middle of the data this ends the transaction: the server takes nothing of it.
      this.close();
      const { rejectedErrors = [] } = envelope;
      const refusal = rejectedErrors.find(({ recipient }) => recipient === to);
      if (refusal) return this.#refusalOf(to, refusal, rejectedErrors);
      const { responseCode = 0, command = "", code, message } = error as SmtpError;
      // The library compares the size with that of the server, and then sends nothing.
      const isTooLarge = code === "EMESSAGE" && command === "MAIL FROM";
      if (isTooLarge || (responseCode >= 500 && /^(?:MAIL FROM|DATA)$/.test(command)))
        return { reason: message, isOfReader: false };
      throw error;
    }
  }

  /** Throws the refusal where it may end. */
  #refusalOf(to: string, refusal: NodemailerError, all: readonly NodemailerError[]): Refusal {
    // A server that refuses the account as well takes no mail at all now.
    const isOfServer = all.length > 1 && all.every(isTemporary);
    if (isOfServer || (isTemporary(refusal) && this.#refusals.isRetried(to))) throw refusal;
    return { reason: refusal.message, isOfReader: true };
  }

  /** Connects and logs in. Throws the server's errors. */
  async login(): Promise<void> {
    await this.#connected();
  }

  async #connected(): Promise<SMTPConnection> {
    if (this.#connection && Date.now() - this.#usedAt < CONNECTION_FRESH_MS) {
      this.#connection.removeAllListeners("end");
      return this.#connection;
    }
    this.close();
    const { smtp, user, password } = this.#account;
    const connection = new SMTPConnection({
      host: smtp.host,
      port: smtp.port,
      secure: smtp.isSecure,
      requireTLS: !smtp.isSecure && !smtp.isLocal,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
    });
    connection.on("error", () => undefined);
    try {
      await new Promise<void>((resolve, reject) => {
        connection.once("error", reject);
        connection.once("end", () => reject(mailFailure("the connection was cut")));
        connection.connect((error) => (error ? reject(error) : resolve()));
      });
      if (connection.allowsAuth)
        await new Promise<void>((resolve, reject) => {
          connection.login({ user, pass: password }, (error) => (error ? reject(error) : resolve()));
        });
    } catch (error) {
      connection.close();
      throw error;
    }
    connection.removeAllListeners("end");
    connection.once("end", () => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    this.#connection = connection;
    this.#usedAt = Date.now();
    return connection;
  }

  /** Never throws. */
  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}
