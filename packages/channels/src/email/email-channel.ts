/**
 * E-mail: each thread is a conversation. What is received is what the inbox has after the last acknowledged place; the server's report
 * of new mail only wakes the reader. A mail is sent to its reader and, in the same transaction, to the account itself: that copy shows,
 * after a crash, whether the server has taken it. A second attempt has the same Message-ID.
 */
import { errorText } from "@pagurus/core/data/error-text";
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Channel,
  ChannelCapabilities,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  MessageContent,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { withVariables } from "@pagurus/core/platform/configured-secret";
import { channelFailed } from "../channel-failure.ts";
import { accountOf, mailFailure, type EmailAccount } from "./email-account.ts";
import { checkEmail } from "./check-email.ts";
import { ImapMailbox, type FoundMail } from "./imap-mailbox.ts";
import { cursorText, parseCursor } from "./mail-cursor.ts";
import { headerIn, messageIds, type MailHeader } from "./mail-headers.ts";
import { automaticKind, fieldsOf, isVerified } from "./mail-origin.ts";
import { answeredMail, replyContext, threadIn } from "./mail-thread.ts";
import {
  buildMail,
  MOST_ATTACHED_BYTES,
  OWN_FIELD,
  ownFields,
  SmtpSender,
  type Refusal,
} from "./outgoing-mail.ts";
import { plainText } from "@pagurus/core/data/plain-text";
import { TemporaryRefusals } from "./temporary-refusals.ts";
import { MailParserThread } from "./mail-parser-thread.ts";
import type { ReadMail } from "./read-mail.ts";
import { defined } from "@pagurus/core/data/defined";

const MOST_CHARS = 200_000;
/**
 * Pauses after which the inbox is looked at although the server reported nothing, ms; the last one again and again. Mail that comes
 * between a look and the wait for reports is reported by some servers only much later, hence the short ones after each report.
 */
const LOOK_AGAIN_MS = [500, 2_000, 8_000, 30_000] as const;
/** Pause between two looks for a copy, ms. */
const LOOK_MS = 500;
/** How long a server that was restarted may take to deliver what it had, ms. */
const RESTARTED_MS = 5_000;
const NOT_READ = "A mail was not read, since it has too many parts or is not valid.";
/** Before an address that the server has not verified: it is another one than the verified. */
const UNVERIFIED = "unverified:";

/** Throws `config_invalid`, `credential_missing`. */
export function createEmailChannel(
  id: string,
  config: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
): Channel {
  const password = withVariables(config.password ?? "", `channels.${id}.password`, env);
  const account = accountOf(id, config, password);
  const refusals = new TemporaryRefusals();
  return {
    id,
    kind: "email",
    sendsFiles: true,
    joinsFile: true,
    maxChars: MOST_CHARS,
    connect: (port, signal) => EmailConnection.open({ id, account, refusals, port }, signal),
    check: (options) => checkEmail(id, account, options),
  };
}

/** The message of a mail that a person wrote, as its head has it; undefined where its sender is not known. */
function messageOf(
  head: ReadMail,
  { address, authserv, authservHops, unverified }: EmailAccount,
  at: number,
): IncomingMessage | undefined {
  const { headers, from, name, subject } = head;
  if (from === undefined) return undefined;
  const isProven =
    unverified === "trust" || (authserv !== undefined && isVerified(headers, from, authserv, authservHops));
  if (!isProven && unverified === "drop") return undefined;
  const [messageId = `${at} ${subject}`] = messageIds(headerIn(headers, "message-id"));
  const replyTo = answeredMail(headers, address);
  const isFollowing = headerIn(headers, "references") ?? headerIn(headers, "in-reply-to");
  return {
    id: createHash("sha256").update(`${from} ${messageId}`).digest("hex").slice(0, 32),
    from: isProven ? from : `${UNVERIFIED}${from}`,
    ...defined({ name }),
    thread: threadIn(headers, address, `${from} ${messageId}`),
    reply: JSON.stringify(replyContext(headers, subject)),
    ...defined({ replyTo }),
    ...(isFollowing === undefined && subject !== "" ? { subject } : {}),
    text: "",
  };
}

/** Why the sender of a mail is not believed. */
function notVerified(headers: readonly MailHeader[], { authserv, authservHops = 0 }: EmailAccount): string {
  const elsewhere = authserv === undefined ? [] : fieldsOf(headers, authserv).map(({ hops }) => hops);
  const why = `${authserv ?? "the server"} has not verified its sender`;
  if (elsewhere.length === 0 || elsewhere.includes(authservHops)) return why;
  return `${why}: its results are where a sender can write them, and authservHops is ${authservHops}`;
}

function withNote(message: OutgoingMessage, name: string): OutgoingMessage {
  const note = `(The file ${JSON.stringify(name)} was not sent: the mail server does not take it.)`;
  return { ...message, text: [message.text, note].filter((part) => part !== "").join("\n\n") };
}

interface Opening {
  id: string;
  account: EmailAccount;
  refusals: TemporaryRefusals;
  port: ChannelPort;
}

class EmailConnection implements ChannelConnection {
  readonly capabilities: ChannelCapabilities = {
    inbound: "exactly-once",
    outbound: "at-least-once",
    maxChars: MOST_CHARS,
    maxFileBytes: MOST_ATTACHED_BYTES,
  };
  readonly ended: Promise<string>;
  readonly #id: string;
  readonly #account: EmailAccount;
  readonly #port: ChannelPort;
  readonly #mailbox: ImapMailbox;
  readonly #sender: SmtpSender;
  readonly #parser = new MailParserThread();
  #end: (reason: string) => void = () => undefined;
  #hasEnded = false;
  readonly #openedAt = Date.now();
  #reading: Promise<void> = Promise.resolve();
  #isWoken = false;
  #again: NodeJS.Timeout | undefined;

  private constructor({ id, account, refusals, port }: Opening, mailbox: ImapMailbox) {
    this.#id = id;
    this.#account = account;
    this.#port = port;
    this.#mailbox = mailbox;
    this.#sender = new SmtpSender(account, refusals);
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        this.#hasEnded = true;
        resolve(reason);
      };
    });
  }

  static async open(opening: Opening, signal: AbortSignal): Promise<EmailConnection> {
    const { id, account, port } = opening;
    let mailbox: ImapMailbox | undefined;
    try {
      mailbox = await ImapMailbox.open(account);
      // What was written before the first connection is not for us.
      if (port.cursor === undefined) await port.receive(undefined, cursorText(mailbox.end));
      const connection = new EmailConnection(opening, mailbox);
      connection.#listen(signal);
      return connection;
    } catch (error) {
      mailbox?.close();
      throw channelFailed(id, `cannot read the mail at ${account.imap.host}`, error);
    }
  }

  #listen(signal: AbortSignal): void {
    const { client } = this.#mailbox;
    client.on("close", () => this.#end("the connection was cut"));
    client.on("error", (error: Error) => this.#end(error.message));
    client.on("exists", () => this.#look());
    signal.addEventListener("abort", () => this.#end("the host stops"), { once: true });
    if (signal.aborted) this.#end("the host stops");
    void this.ended.then(() => clearTimeout(this.#again));
    this.#look();
  }

  /** Reads what is new, and again after growing pauses. */
  #look(step = 0): void {
    this.#wake();
    if (this.#hasEnded) return;
    clearTimeout(this.#again);
    const pauseMs = LOOK_AGAIN_MS[step] ?? LOOK_AGAIN_MS[LOOK_AGAIN_MS.length - 1];
    this.#again = setTimeout(() => this.#look(step + 1), pauseMs);
    this.#again.unref();
  }

  /** Reads what is new in the inbox. */
  #wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#reading = this.#reading
      .then(async () => {
        this.#isWoken = false;
        await this.#catchUp();
        if (!this.#isWoken && !this.#hasEnded) this.#mailbox.watch();
      })
      .catch((error: unknown) => {
        // What could not be taken is received again over the next connection.
        this.#end(errorText(error));
        return new Promise(() => undefined);
      });
  }

  async #catchUp(): Promise<void> {
    const { uidValidity } = this.#mailbox.end;
    const cursor = parseCursor(this.#port.cursor ?? cursorText(this.#mailbox.end));
    if (this.#mailbox.isRenumbered(cursor))
      this.#port.missed("The server has numbered the inbox again; a mail of that moment may be missing.");
    for (const mail of await this.#mailbox.after(cursor)) {
      if (this.#hasEnded) return;
      const message = await this.#received(mail);
      await this.#port.receive(message, cursorText({ uidValidity, uid: mail.uid, at: mail.at }));
    }
  }

  /** What the head says; the body is read when the host has decided that its sender may speak. */
  async #received(found: FoundMail): Promise<IncomingMessage | undefined> {
    const { address, maxBytes } = this.#account;
    const bytes = await this.#mailbox.head(found);
    if (!bytes) return undefined;
    const head = bytes.length === 0 ? undefined : await this.#parser.parse(bytes);
    if (!head) {
      this.#port.missed(NOT_READ);
      return undefined;
    }
    const kind = automaticKind(head.headers, head.from ?? "", address);
    if (kind === "own" && headerIn(head.headers, OWN_FIELD.toLowerCase()) !== undefined)
      await this.#mailbox.moveToSent(found.uid);
    if (kind === "bounce") this.#port.missed("A mail did not reach its reader; the report is in the inbox.");
    if (kind !== undefined) return undefined;
    const message = messageOf(head, this.#account, found.at);
    if (!message) {
      if (head.from !== undefined)
        this.#port.missed(
          `A mail in the name of ${head.from} was not answered: ${notVerified(head.headers, this.#account)}.`,
        );
      return undefined;
    }
    if (found.size <= maxBytes) return { ...message, fetchContent: () => this.#content(found) };
    const megabytes = (found.size / 1024 / 1024).toFixed(1);
    const most = (maxBytes / 1024 / 1024).toFixed(1);
    return {
      ...message,
      unreadable: `Your mail ${JSON.stringify(head.subject)} was not read: it has ${megabytes} MB, and ${most} MB is the most.`,
    };
  }

  async #content(found: FoundMail): Promise<MessageContent> {
    try {
      const bytes = await this.#mailbox.read(found);
      const mail = bytes && (await this.#parser.parse(bytes));
      if (!mail) {
        if (bytes) this.#port.missed(NOT_READ);
        return { text: "" };
      }
      const { text, problems, attachments } = mail;
      const all = [text, ...problems.map((problem) => `[${problem}]`)].filter((part) => part !== "");
      return { text: all.join("\n\n"), ...(attachments.length === 0 ? {} : { attachments }) };
    } catch (error) {
      throw channelFailed(this.#id, "could not read a mail", error);
    }
  }

  async #deliver(message: OutgoingMessage): Promise<Refusal | undefined> {
    const to = message.to.replace(UNVERIFIED, "");
    return await this.#sender.send(to, await buildMail(message, to, this.#account.address));
  }

  /** A file that the server does not take is named in the mail. */
  async send(message: OutgoingMessage): Promise<void> {
    try {
      if (this.#hasEnded) throw mailFailure("the connection has ended");
      const refusal = await this.#deliver(message);
      if (refusal === undefined) return;
      const { attachment, ...rest } = message;
      const isTaken =
        attachment && !refusal.isOfReader && !(await this.#deliver(withNote(rest, attachment.name)));
      const what = isTaken ? `the file ${JSON.stringify(attachment.name)} of a mail` : "a mail";
      const reason = plainText(refusal.reason).slice(0, 300);
      this.#port.missed(`The server refused ${what} to ${message.to.replace(UNVERIFIED, "")}: ${reason}`);
    } catch (error) {
      this.#end(errorText(error));
      throw channelFailed(this.#id, "could not send a mail", error);
    }
  }

  /** Waits for the copy as long as a server may take to deliver it; it may have been away since the mail was sent. */
  async wasSent(message: OutgoingMessage): Promise<boolean> {
    const { lookupMs } = this.#account;
    const until = Math.max(
      (message.triedAt ?? message.createdAt) + lookupMs,
      this.#openedAt + Math.min(lookupMs, RESTARTED_MS),
    );
    let mailbox: ImapMailbox | undefined;
    try {
      mailbox = await ImapMailbox.open(this.#account);
      const fields = ownFields(message, this.#account.address);
      while (!(await mailbox.has(fields))) {
        if (Date.now() >= until) return false;
        if (this.#hasEnded) throw mailFailure("the connection has ended");
        await pause(LOOK_MS);
      }
      return true;
    } catch (error) {
      this.#end(errorText(error));
      throw channelFailed(this.#id, "could not look up a mail", error);
    } finally {
      mailbox?.close();
    }
  }

  async close(): Promise<void> {
    this.#end("it was closed");
    this.#sender.close();
    this.#mailbox.close();
    await this.#parser.close();
  }
}
