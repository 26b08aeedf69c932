/** The account of an e-mail channel: where its mail is read and sent, and whose sender is believed. */
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import { PagurusError } from "@pagurus/contract/errors";
import { isLoopback } from "@pagurus/core/platform/loopback";
import { defined } from "@pagurus/core/data/defined";

const MEGABYTE = 1024 * 1024;

export interface MailServer {
  host: string;
  port: number;
  /** TLS from the first byte; otherwise by STARTTLS, without which only a server of this machine is used. */
  isSecure: boolean;
  isLocal: boolean;
}

export interface EmailAccount {
  /** In lower case. */
  address: string;
  user: string;
  password: string;
  imap: MailServer;
  smtp: MailServer;
  /** Name in the Authentication-Results that are believed. */
  authserv?: string;
  /** `Received` fields above those results. */
  authservHops?: number;
  unverified: "drop" | "stranger" | "trust";
  /** Largest mail that is read, bytes. */
  maxBytes: number;
  /** How long the copy of a mail is looked for before it is sent again, ms. */
  lookupMs: number;
}

function serverOf(url: string, ports: { secure: number; plain: number }): MailServer {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const isSecure = /^(?:imaps|smtps):$/.test(protocol);
  return {
    host,
    port: port === "" ? (isSecure ? ports.secure : ports.plain) : Number(port),
    isSecure,
    isLocal: isLoopback(host),
  };
}

function invalid(key: string, problem: string): PagurusError {
  return new PagurusError("config_invalid", `${key} ${problem}.`);
}

/** Throws `config_invalid`. */
export function accountOf(id: string, config: ChannelConfig, password: string): EmailAccount {
  const key = `channels.${id}`;
  const { imap, smtp, authserv, authservHops = 0, unverified = "drop" } = config;
  const address = config.address?.toLowerCase() ?? "";
  if (!/^[^@\s<>]+@[^@\s<>]+$/.test(address))
    throw invalid(
      `${key}.address`,
      `is ${JSON.stringify(config.address ?? null)}, which is no address such as crab@example.org`,
    );
  if (imap === undefined || smtp === undefined)
    throw invalid(
      `${key}.${imap === undefined ? "imap" : "smtp"}`,
      "is missing; set it to the server, such as imaps://mail.example.org or smtps://mail.example.org",
    );
  if (authserv === undefined && unverified === "drop")
    throw invalid(
      `${key}.authserv`,
      `is missing, so no sender could be believed; set it to the name that your server writes in Authentication-Results, or ${key}.unverified to stranger or trust`,
    );
  return {
    address,
    user: config.user ?? address,
    password,
    imap: serverOf(imap, { secure: 993, plain: 143 }),
    smtp: serverOf(smtp, { secure: 465, plain: 587 }),
    ...defined({ authserv }),
    authservHops,
    unverified,
    maxBytes: config.maxBytes ?? 10 * MEGABYTE,
    lookupMs: (config.lookupSeconds ?? 30) * 1_000,
  };
}

/** A failure inside the channel, which `channelFailed` names. */
export function mailFailure(why: string): PagurusError {
  return new PagurusError("channel_failed", why);
}
