/** The account's mailbox over IMAP: what is new in the inbox, and whether a mail of ours is there. */
import { DAY_MS } from "@pagurus/core/data/interval";
import { ImapFlow, type FetchMessageObject } from "imapflow";
import { mailFailure, type EmailAccount } from "./email-account.ts";
import type { MailCursor } from "./mail-cursor.ts";

const CONNECT_MS = 20_000;
/** Without any byte for so long a connection is dead, ms; polls come more often. */
const SILENCE_MS = 120_000;
const INBOX = "INBOX";
const MAIL_HEAD_BYTES = 128 * 1024;

export interface FoundMail {
  uid: number;
  /** Bytes. */
  size: number;
  /** Milliseconds since the epoch. */
  at: number;
}

function foundMail({ uid, size = 0, internalDate }: FetchMessageObject): FoundMail {
  return { uid, size, at: internalDate === undefined ? 0 : new Date(internalDate).getTime() };
}

/** The head of a mail, of which only the beginning is there; empty where that has no end of the head. */
function headOf(start: Buffer): Buffer {
  const end = start.indexOf("\r\n\r\n");
  if (end >= 0) return start.subarray(0, end + 4);
  return start.length < MAIL_HEAD_BYTES ? start : Buffer.alloc(0);
}

export class ImapMailbox {
  readonly client: ImapFlow;
  readonly #account: EmailAccount;
  #sent: string | undefined;

  private constructor(client: ImapFlow, account: EmailAccount) {
    this.client = client;
    this.#account = account;
  }

  /** Logs in and opens the inbox. Throws the server's errors. */
  static async open(account: EmailAccount): Promise<ImapMailbox> {
    const { imap, user, password, maxBytes } = account;
    const client = new ImapFlow({
      host: imap.host,
      port: imap.port,
      secure: imap.isSecure,
      ...(imap.isSecure || imap.isLocal ? {} : { doSTARTTLS: true }),
      auth: { user, pass: password },
      logger: false,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      disableAutoIdle: true,
      maxLiteralSize: maxBytes + MAIL_HEAD_BYTES,
    });
    // Without a listener an error would end the process; each also closes the connection.
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.mailboxOpen(INBOX);
    } catch (error) {
      client.close();
      throw error;
    }
    return new ImapMailbox(client, account);
  }

  /** The end of the inbox: nothing before it is received. */
  get end(): MailCursor {
    const { mailbox } = this.client;
    if (mailbox === false) throw mailFailure("the inbox is not open");
    return {
      uidValidity: String(mailbox.uidValidity),
      uid: Math.max(0, mailbox.uidNext - 1),
      at: Date.now(),
    };
  }

  /** Whether the server has numbered the mails of the inbox again since. */
  isRenumbered({ uidValidity }: MailCursor): boolean {
    return this.end.uidValidity !== uidValidity;
  }

  /** What came after the cursor, oldest first; after a new numbering, what came since its time. */
  async after(cursor: MailCursor): Promise<FoundMail[]> {
    const query = { uid: true, size: true, internalDate: true };
    if (!this.isRenumbered(cursor)) {
      const all = await this.client.fetchAll(`${cursor.uid + 1}:*`, query, { uid: true });
      // A range to the end always has the newest mail, however old.
      return inOrder(all.map(foundMail).filter(({ uid }) => uid > cursor.uid));
    }
    const all = await this.client.fetchAll({ since: new Date(cursor.at - DAY_MS) }, query, { uid: true });
    return inOrder(all.map(foundMail).filter(({ at }) => at >= cursor.at));
  }

  /** The head of a mail; undefined where it was removed, empty where it has more than a head has. */
  async head(found: FoundMail): Promise<Buffer | undefined> {
    const start = await this.#bytes(found, MAIL_HEAD_BYTES);
    return start && headOf(start);
  }

  /** The mail's bytes; undefined where it was removed. */
  async read(found: FoundMail): Promise<Buffer | undefined> {
    return await this.#bytes(found, this.#account.maxBytes);
  }

  async #bytes({ uid }: FoundMail, maxLength: number): Promise<Buffer | undefined> {
    const mail = await this.client.fetchOne(`${uid}`, { source: { maxLength } }, { uid: true });
    return mail ? (mail.source ?? Buffer.alloc(0)) : undefined;
  }

  /** The newest mails of the inbox, the newest first. */
  async newest(count: number): Promise<FoundMail[]> {
    const { uid } = this.end;
    const query = { uid: true, size: true, internalDate: true };
    const all = await this.client.search({ all: true }, { uid: true });
    if (uid === 0 || !all || all.length === 0) return [];
    const found = await this.client.fetchAll(all.slice(-count), query, { uid: true });
    return inOrder(found.map(foundMail)).toReversed();
  }

  /** Removes the mail with a header field from the inbox, or from the sent ones, and returns its head; undefined where there is none. */
  async take(field: Readonly<Record<string, string>>): Promise<Buffer | undefined> {
    for (const folder of [INBOX, await this.#sentFolder()]) {
      await this.client.mailboxOpen(folder);
      const [uid] = (await this.client.search({ header: field }, { uid: true })) || [];
      if (uid === undefined) continue;
      const head = await this.head({ uid, size: 0, at: 0 });
      await this.client.messageDelete(`${uid}`, { uid: true });
      if (head) return head;
    }
    return undefined;
  }

  /** Asks the server to report new mail, until the next command. Called at once after a look, since it reports only what comes later. */
  watch(): void {
    void this.client.idle().catch(() => undefined);
  }

  /** Moves the copy of a sent mail from the inbox to the folder of sent mail. */
  async moveToSent(uid: number): Promise<void> {
    await this.client.messageMove(`${uid}`, await this.#sentFolder(), { uid: true });
  }

  /** Whether a mail with one of these header fields is in the inbox or among the sent ones. */
  async has(fields: Readonly<Record<string, string>>): Promise<boolean> {
    const one = Object.entries(fields).map(([name, value]) => ({ header: { [name]: value } }));
    for (const folder of [INBOX, await this.#sentFolder()]) {
      await this.client.mailboxOpen(folder, { readOnly: true });
      const found = await this.client.search({ or: one }, { uid: true });
      if (!found) throw mailFailure(`the server could not search in ${folder}`);
      if (found.length > 0) return true;
    }
    return false;
  }

  async #sentFolder(): Promise<string> {
    if (this.#sent !== undefined) return this.#sent;
    const folders = await this.client.list();
    const sent =
      folders.find(({ specialUse }) => specialUse === "\\Sent") ??
      folders.find(({ name }) => name === "Sent");
    this.#sent = sent?.path ?? (await this.client.mailboxCreate("Sent")).path;
    return this.#sent;
  }

  /** Never throws. */
  close(): void {
    this.client.close();
  }
}

function inOrder(mails: FoundMail[]): FoundMail[] {
  return mails.toSorted((one, other) => one.uid - other.uid);
}
