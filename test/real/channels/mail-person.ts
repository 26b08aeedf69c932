/** A scripted person with a mail program: sends mails and reads their own inbox. */
import { ImapFlow } from "imapflow";
import { simpleParser, type ParsedMail } from "mailparser";
import { createTransport, type SendMailOptions } from "nodemailer";
import { setTimeout as pause } from "node:timers/promises";
import type { MailServers } from "../../servers/mail.ts";

const TRIES = 1_200;
export const CRAB = "crab@localhost";

export class MailPerson {
  readonly address: string;
  readonly #name: string;
  readonly #servers: MailServers;
  #imap: ImapFlow | undefined;
  /** Mails of the inbox so far, in the order of their arrival. */
  readonly got: ParsedMail[] = [];
  #uid = 0;

  constructor(name: string, servers: MailServers) {
    this.#name = name;
    this.address = `${name}@localhost`;
    this.#servers = servers;
  }

  /** Sends a mail where its sender is proven, or at the `outer` or `bare` port, where it is not. Returns its Message-ID. */
  async send(mail: SendMailOptions, at: "inner" | "outer" | "bare" = "inner"): Promise<string> {
    const transport = createTransport({ host: "127.0.0.1", port: this.#servers.ports[at], ignoreTLS: true });
    try {
      const { messageId } = await transport.sendMail({ from: this.address, to: CRAB, ...mail });
      return messageId;
    } finally {
      transport.close();
    }
  }

  /** Sends a mail over lost connections until the server has it. A repeat has to have the same Message-ID. */
  async insist(mail: SendMailOptions): Promise<void> {
    for (;;) {
      try {
        await this.send(mail);
        return;
      } catch {
        await pause(50);
      }
    }
  }

  /** Answers a mail as a mail program does, the quoted mail below. */
  async answer(mail: ParsedMail, text: string, more: SendMailOptions = {}): Promise<string> {
    const quoted = (mail.text ?? "").split("\n").map((line) => `> ${line}`);
    const id = mail.messageId ?? "";
    return await this.send({
      subject: `Re: ${mail.subject ?? ""}`,
      inReplyTo: id,
      references: [mail.references ?? [], id].flat(),
      text: [text, "", "On Monday, 3 Nov 2026, Crab <crab@localhost> wrote:", ...quoted, ""].join("\n"),
      ...more,
    });
  }

  /** Waits until there are so many mails. */
  async until(count: number): Promise<ParsedMail[]> {
    for (let tries = 0; this.got.length < count && tries < TRIES; tries += 1) {
      await this.look();
      if (this.got.length < count) await pause(50);
    }
    return this.got;
  }

  /** Reads what is new, over lost connections. */
  async look(): Promise<void> {
    try {
      const imap = await this.#connected();
      const all = await imap.fetchAll(`${this.#uid + 1}:*`, { uid: true, source: true }, { uid: true });
      for (const { uid, source } of all.toSorted((one, other) => one.uid - other.uid)) {
        if (uid <= this.#uid || !source) continue;
        this.got.push(await simpleParser(source));
        this.#uid = uid;
      }
    } catch {
      this.end();
    }
  }

  async #connected(): Promise<ImapFlow> {
    if (this.#imap?.usable === true) {
      await this.#imap.noop();
      return this.#imap;
    }
    const imap = new ImapFlow({
      host: "127.0.0.1",
      port: this.#servers.ports.imap,
      auth: { user: this.#name, pass: this.#name },
      logger: false,
      disableAutoIdle: true,
      doSTARTTLS: false,
    });
    imap.on("error", () => undefined);
    await imap.connect();
    await imap.mailboxOpen("INBOX");
    this.#imap = imap;
    return imap;
  }

  end(): void {
    this.#imap?.close();
    this.#imap = undefined;
  }
}

/** Text of a mail without the white space around it. */
export function textOf(mail: ParsedMail | undefined): string {
  return (mail?.text ?? "").trim();
}
