/** What `pagurus channels test` finds about e-mail beyond a login: whether mails can be sent, and whose sender would be believed. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { ChannelCheck } from "@pagurus/contract/channel/channel";
import { plainLine, shownName } from "@pagurus/core/data/plain-text";
import { channelFailure } from "../channel-failure.ts";
import { channelFailed } from "../channel-failure.ts";
import type { EmailAccount } from "./email-account.ts";
import { ImapMailbox } from "./imap-mailbox.ts";
import { headerIn, type MailHeader } from "./mail-headers.ts";
import { fieldsOf, isVerified, LOOP_HEADER, serversOf } from "./mail-origin.ts";
import { MailParserThread } from "./mail-parser-thread.ts";
import { OWN_FIELD, SmtpSender } from "./outgoing-mail.ts";

/** Mails of the inbox that are looked at: the account's own have no results. */
const NEWEST = 20;
/** Time in which a mail to the own account arrives, ms. */
const ARRIVES_MS = 10_000;
const LOOK_MS = 250;
const MOST_REASON = 300;

interface Checking {
  id: string;
  account: EmailAccount;
  mailbox: ImapMailbox;
  parser: MailParserThread;
  problems: string[];
  notes: string[];
}

/** Throws `channel_failed`. */
export async function checkEmail(
  id: string,
  account: EmailAccount,
  { isThorough, signal }: { isThorough: boolean; signal: AbortSignal },
): Promise<ChannelCheck> {
  const sender = new SmtpSender(account);
  const parser = new MailParserThread();
  let mailbox: ImapMailbox | undefined;
  try {
    await sender.login().catch((error: unknown) => {
      throw channelFailed(id, `cannot log in at ${account.smtp.host} to send mail`, error);
    });
    mailbox = await ImapMailbox.open(account);
    const checking: Checking = { id, account, mailbox, parser, problems: [], notes: [] };
    if (account.authserv !== undefined && account.unverified !== "trust") {
      await compareNewest(checking, account.authserv);
      if (isThorough) await tryForged(checking, account.authserv, { sender, signal });
    }
    return checking;
  } catch (error) {
    throw channelFailure(id, "could not be checked", error);
  } finally {
    sender.close();
    mailbox?.close();
    await parser.close();
  }
}

/** Compares the configured name and place with the newest mail that a server has checked. */
async function compareNewest(checking: Checking, authserv: string): Promise<void> {
  const { id, account, mailbox, parser, problems, notes } = checking;
  const key = `channels.${id}`;
  let count = 0;
  for (const found of await mailbox.newest(NEWEST)) {
    const head = await mailbox.head(found);
    const mail = head && (await parser.parse(head));
    if (!mail || mail.from === account.address) continue;
    count += 1;
    const servers = serversOf(mail.headers).map(shownName);
    if (servers.length === 0) continue;
    const hops = fieldsOf(mail.headers, authserv).map((field) => field.hops);
    const { authservHops = 0 } = account;
    if (hops.includes(authservHops)) return;
    const [first] = hops;
    problems.push(
      first === undefined
        ? `The newest checked mail of the inbox was checked by ${servers.join(" and ")}, and ${key}.authserv is ${JSON.stringify(authserv)}: with that name no sender is verified.`
        : `In the newest checked mail of the inbox the results of ${authserv} have ${first} Received fields above them: if that server removes fields with its name from what it receives, set ${key}.authservHops to ${first}.`,
    );
    return;
  }
  if (count > 0)
    problems.push(
      `None of the newest ${count} mails of the inbox has Authentication-Results: no sender is verified.`,
    );
  else notes.push(`The inbox has no mail of others so far, with which ${key}.authserv could be compared.`);
}

/** A mail to the own account with a result that only the server may write. As text, since a composer would encode that field. */
function forgedMail(address: string, authserv: string, nonce: string): Buffer {
  const domain = address.split("@").at(-1) ?? "";
  const lines = [
    `Authentication-Results: ${authserv}; dmarc=pass reason="${nonce}"`,
    ` header.from=${domain}`,
    `From: ${address}`,
    `To: ${address}`,
    "Subject: Pagurus tests this account",
    `Message-ID: <${nonce}@${domain}>`,
    `Date: ${new Date().toUTCString().replace("GMT", "+0000")}`,
    "Auto-Submitted: auto-generated",
    `${LOOP_HEADER}: ${address}`,
    `${OWN_FIELD}: ${nonce}`,
    "",
    "This mail tests whether a sender can write the results of a check. It can be deleted.",
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}

async function tryForged(
  { account, mailbox, parser, problems, notes }: Checking,
  authserv: string,
  { sender, signal }: { sender: SmtpSender; signal: AbortSignal },
): Promise<void> {
  const { address, authservHops = 0 } = account;
  const nonce = `test-${randomUUID()}`;
  const refusal = await sender.send(address, forgedMail(address, authserv, nonce));
  if (refusal) {
    notes.push(
      `The server does not take a mail with forged results: ${plainLine(refusal.reason, MOST_REASON)}`,
    );
    return;
  }
  const until = Date.now() + ARRIVES_MS;
  let head: Buffer | undefined;
  while (!(head = await mailbox.take({ [OWN_FIELD]: nonce })) && Date.now() < until)
    await pause(LOOK_MS, undefined, { signal });
  const mail = head && (await parser.parse(head));
  if (!mail) {
    problems.push(`A mail to the account itself did not arrive within ${ARRIVES_MS / 1_000} s.`);
    return;
  }
  const forged = mail.headers.filter(({ value }) => value.includes(nonce) && value.includes(authserv));
  if (forged.length === 0) return;
  if (isForgedCounted(mail.headers, nonce, { address, authserv, authservHops }))
    problems.push(
      `A forged result of ${authserv} in a mail counts, so anyone can write in the name of others: have the server remove such fields, or set authservHops to 0.`,
    );
  else
    notes.push(
      `The server does not remove results with its name that a sender wrote; they do not count, since they are below its own Received field.`,
    );
}

/** Whether the result with the nonce proves the sender, without any other. */
function isForgedCounted(
  headers: readonly MailHeader[],
  nonce: string,
  { address, authserv, authservHops }: { address: string; authserv: string; authservHops: number },
): boolean {
  const name = "authentication-results";
  const only = headers.filter((header) => header.name !== name || header.value.includes(nonce));
  return headerIn(only, name) !== undefined && isVerified(only, address, authserv, authservHops);
}
