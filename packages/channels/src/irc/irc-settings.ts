/** Settings of an IRC channel, checked. */
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import { PagurusError } from "@pagurus/contract/errors";
import { withVariables } from "@pagurus/core/platform/configured-secret";
import { isLoopback } from "@pagurus/core/platform/loopback";

export interface IrcSettings {
  id: string;
  host: string;
  port: number;
  isTls: boolean;
  nick: string;
  /** Login with SASL PLAIN. */
  login?: { account: string; password: string };
  serverPassword?: string;
  /** Channels to join. */
  join: readonly string[];
  /** Lines sent in a second, after the first five. */
  linesPerSecond: number;
}

const NICK = /^[A-Za-z[\]\\`_^{|}][A-Za-z0-9[\]\\`_^{|}-]{0,29}$/;
/** As servers count: each line costs two seconds. */
const LINES_PER_SECOND = 0.5;
const PORTS = { irc: 6667, ircs: 6697 };

function invalid(id: string, key: string, value: string | undefined, wanted: string): PagurusError {
  return new PagurusError(
    "config_invalid",
    `channels.${id}.${key} is ${JSON.stringify(value ?? null)}, which is ${wanted}.`,
  );
}

/** Throws `config_invalid`, `credential_missing`. */
export function ircSettings(
  id: string,
  config: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
): IrcSettings {
  const { service = "", nick = "", account, password, serverPassword, join = [], linesPerSecond } = config;
  const url = URL.parse(service);
  if (url === null || (url.protocol !== "irc:" && url.protocol !== "ircs:") || url.hostname === "")
    throw invalid(id, "service", config.service, "no address such as ircs://irc.example.org:6697");
  if (!NICK.test(nick)) throw invalid(id, "nick", config.nick, "no name that IRC allows, such as crab");
  const odd = join.find((name) => !/^[#&+!][^\s,\u0007]{1,99}$/.test(name));
  if (odd !== undefined) throw invalid(id, "join", odd, "no channel such as #boats");
  if (account !== undefined && password === undefined)
    throw invalid(id, "password", password, "needed for the account");
  const isTls = url.protocol === "ircs:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const hasSecret = account !== undefined || serverPassword !== undefined;
  if (hasSecret && !isTls && !isLoopback(host))
    throw invalid(id, "service", config.service, "not encrypted, so no password is sent there; use ircs://");
  const secret = (value: string, key: string): string => withVariables(value, `channels.${id}.${key}`, env);
  return {
    id,
    host,
    port: url.port === "" ? PORTS[isTls ? "ircs" : "irc"] : Number(url.port),
    isTls,
    nick,
    ...(account !== undefined && { login: { account, password: secret(password ?? "", "password") } }),
    ...(serverPassword !== undefined && { serverPassword: secret(serverPassword, "serverPassword") }),
    join,
    linesPerSecond: linesPerSecond ?? LINES_PER_SECOND,
  };
}
