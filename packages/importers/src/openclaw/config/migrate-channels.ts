/** Converts channels of OpenClaw whose kind exists here: Telegram, Slack, Discord and IRC; docs/guides/from-openclaw.md. */
import { defined } from "@pagurus/core/data/defined";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type { KeyPath } from "@pagurus/core/config/key-path";
import { isRecord } from "@pagurus/core/data/record-fields";
import { accessOf, type AccessNames } from "./channel-access.ts";
import type { ConfigDraft } from "./config-draft.ts";
import { TheirChannel } from "./their-channel.ts";

const CHANNELS: KeyPath = ["channels"];
const NO_SETTING = "a channel has no such setting here";
const SOCKET = "Slack posts its events to /hooks/<channel> of pagurus serve here, not over a socket";

type Settings = Omit<ChannelConfig, "kind" | "enabled" | "allow" | "groups">;

interface Kind {
  access: AccessNames;
  /** Keys of the root by which it is an account itself. */
  credentials: readonly string[];
  /** Undefined, with a report, where it cannot be used. */
  settings(theirs: TheirChannel): Settings | undefined;
}

const KINDS: Readonly<Record<string, Kind>> = {
  telegram: {
    access: {
      groups: "groups",
      people: "allowFrom",
      person: (entry) => /^(?:(?:telegram|tg):)?(\d+)$/i.exec(entry)?.[1],
      group: (entry) => /^(?:(?:telegram|tg):)?(-\d+)$/i.exec(entry)?.[1],
      personForm: "numbers of users",
      groupForm: "a negative number",
    },
    credentials: ["botToken", "tokenFile"],
    settings: telegramSettings,
  },
  slack: {
    access: {
      groups: "channels",
      people: "users",
      person: (entry) => /^(?:(?:slack|user):)?([UW][A-Z0-9]+)$/i.exec(entry)?.[1]?.toUpperCase(),
      group: (entry) => /^(?:channel:)?([CG][A-Z0-9]+)$/i.exec(entry)?.[1]?.toUpperCase(),
      personForm: "ids of users (U…)",
      groupForm: "the id of a channel (C…)",
      mentionsOnly: "mentions alone, since the app sees nothing else here",
    },
    credentials: ["botToken"],
    settings: slackSettings,
  },
  discord: {
    access: {
      groups: "groups",
      people: "users",
      person: (entry) => /^(?:(?:discord|user):)?(\d+)$/i.exec(entry)?.[1],
      group: (entry) => /^(?:channel:)?(\d+)$/i.exec(entry)?.[1],
      personForm: "ids of users",
      groupForm: "the id of a channel",
    },
    credentials: ["token"],
    settings: discordSettings,
  },
  irc: {
    access: {
      groups: "groups",
      people: "allowFrom",
      person: (entry) => /^(?:irc:)?([^\s!@:]+![^\s!@]+@[^\s!@]+)$/i.exec(entry)?.[1],
      group: (entry) => (/^[#&+!]\S+$/.test(entry) ? entry : undefined),
      personForm: "nick!user@host, as a nick proves nothing",
      groupForm: "a name such as #boats",
    },
    credentials: ["host"],
    settings: ircSettings,
  },
};

function telegramSettings(theirs: TheirChannel): Settings {
  theirs.leave(
    "tokenFile",
    "a file with a token is not read here; set TELEGRAM_BOT_TOKEN in the environment",
  );
  for (const key of ["webhookUrl", "webhookSecret", "webhookPath"])
    theirs.leave(key, "messages are polled here; delete the webhook at Telegram");
  const url = theirs.text("apiRoot");
  if (url !== undefined) theirs.becomes("apiRoot", "url");
  return { token: theirs.secret("botToken", "TELEGRAM_BOT_TOKEN"), ...defined({ url }) };
}

function slackSettings(theirs: TheirChannel): Settings {
  for (const key of ["appToken", "mode", "webhookPath"]) theirs.leave(key, SOCKET);
  return {
    token: theirs.secret("botToken", "SLACK_BOT_TOKEN"),
    secret: theirs.secret("signingSecret", "SLACK_SIGNING_SECRET"),
  };
}

function discordSettings(theirs: TheirChannel): Settings {
  theirs.leave("guilds", "a channel is listed by its own id here, in groups, and not by its guild");
  return { token: theirs.secret("token", "DISCORD_BOT_TOKEN") };
}

function ircSettings(theirs: TheirChannel): Settings | undefined {
  const [host, nick] = [theirs.text("host"), theirs.text("nick")];
  if (host === undefined || nick === undefined) {
    theirs.leaveAll("it names no server or no nick");
    return undefined;
  }
  const isSecure = theirs.take("tls") !== false;
  const named = theirs.take("port");
  const port = typeof named === "number" ? named : isSecure ? 6697 : 6667;
  theirs.becomes("host", "service");
  theirs.leave("passwordFile", "a file with a password is not read here");
  const login = theirs.inner("nickserv");
  const isLogin = login && login.take("enabled") !== false && login.take("password") !== undefined;
  if (isLogin) login.becomes("password", "password of the account, to log in by SASL");
  login?.leaveRest("the login is SASL here, without NickServ");
  const hasPassword = theirs.take("password") !== undefined;
  if (hasPassword) theirs.becomes("password", "serverPassword");
  return {
    service: `${isSecure ? "ircs" : "irc"}://${host}:${port}`,
    nick,
    ...(hasPassword && { serverPassword: theirs.secret("password", "IRC_PASSWORD") }),
    ...(isLogin && { account: nick, password: login.secret("password", "IRC_NICKSERV_PASSWORD") }),
    join: theirs.list("channels") ?? [],
  };
}

/** Replaces the channels by ours; kinds that do not exist here are reported. */
export function takeChannels(draft: ConfigDraft): void {
  const all = draft.at(CHANNELS);
  if (all === undefined) return;
  const defaults = draft.at([...CHANNELS, "defaults"]);
  const groupPolicy = isRecord(defaults) ? defaults["groupPolicy"] : undefined;
  const made: [id: string, config: ChannelConfig, theirs: string][] = [];
  for (const kind of draft.keys(CHANNELS)) {
    const path = [...CHANNELS, kind];
    const root = draft.at(path);
    const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
    if (kind === "defaults") draft.drop(path, "each channel has its own settings here");
    else if (!known || !isRecord(root)) draft.drop(path, "there is no channel of this kind here");
    else {
      for (const [id, value, at] of accountsOf(kind, root, known)) {
        const config = channelOf(kind, known, new TheirChannel(value, at, draft), groupPolicy);
        if (config) made.push([id, config, at.join(".")]);
      }
      draft.forget(path);
    }
  }
  if (draft.at(CHANNELS) !== undefined) draft.drop(CHANNELS, "it names no channels");
  for (const [id, config, theirs] of made)
    draft.set([...CHANNELS, id], config, {
      path: theirs,
      as: `channels.${id}, a channel of the kind ${config.kind ?? ""}`,
    });
}

/** Each account is a channel of its own, with the settings of the root that it does not have itself. */
function accountsOf(
  kind: string,
  root: Readonly<Record<string, unknown>>,
  { credentials }: Kind,
): [id: string, value: Record<string, unknown>, path: KeyPath][] {
  const { accounts, defaultAccount: _default, ...own } = root;
  const named = isRecord(accounts) ? Object.entries(accounts) : [];
  const isAccount = credentials.some((key) => own[key] !== undefined);
  const hasDefault = named.some(([name]) => name === "default");
  const result: [string, Record<string, unknown>, KeyPath][] = [];
  if (named.length === 0 || (isAccount && !hasDefault)) result.push([kind, own, [...CHANNELS, kind]]);
  for (const [name, account] of named) {
    if (!isRecord(account)) continue;
    const shared = Object.fromEntries(Object.entries(own).filter(([key]) => !credentials.includes(key)));
    const value = name === "default" ? { ...own, ...account } : { ...shared, ...account };
    const id = name === "default" ? kind : `${kind}-${name}`;
    result.push([id, value, [...CHANNELS, kind, "accounts", name]]);
  }
  return result;
}

function channelOf(
  kind: string,
  { access, settings }: Kind,
  theirs: TheirChannel,
  groupPolicy: unknown,
): ChannelConfig | undefined {
  const own = settings(theirs);
  if (!own) return undefined;
  const isOff = theirs.take("enabled") === false;
  const allowed = accessOf(theirs, access, groupPolicy);
  theirs.take("name");
  theirs.leaveRest(NO_SETTING);
  const { join, ...rest } = own;
  const joined = join && [...new Set([...join, ...Object.keys(allowed.groups ?? {})])];
  return {
    kind,
    ...(isOff && { enabled: false }),
    ...rest,
    ...(joined && joined.length > 0 && { join: joined }),
    ...allowed,
  };
}
