/** Tests of `migrate openclaw`: conversion of channels. No one may speak in a channel here who may not speak in it there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConfig } from "../../../packages/core/src/config/config-problems.ts";
import type { ChannelConfig } from "../../../packages/core/src/config/config-types.ts";
import { setting } from "./migrate-setting.ts";

/** The converted channels, with the reports on them. */
function became(channels: Record<string, unknown>) {
  const { migrate, written } = setting({ logging: { level: "warn" }, channels });
  const report = migrate();
  const value = written() as { channels?: Record<string, ChannelConfig> };
  assert.deepEqual(checkConfig(value), { problems: [], warnings: [], ignored: [] });
  assert.doesNotMatch(JSON.stringify(report), /SECRET-/, "reports have no secrets");
  const short = (path: string): string => path.replace(/^channels\./, "");
  return {
    channels: value.channels,
    becomes: Object.fromEntries(report.renamed.map(({ path, as }) => [short(path), as])),
    reasons: Object.fromEntries(report.notTaken.map(({ path, why }) => [short(path), why])),
  };
}

test("a bot of Telegram is taken with its people and groups, and the rest is reported", () => {
  const { channels, becomes, reasons } = became({
    defaults: { groupPolicy: "allowlist" },
    telegram: {
      enabled: true,
      botToken: "SECRET-1",
      dmPolicy: "allowlist",
      allowFrom: ["tg:123", 456, "@ann"],
      groups: {
        "*": { requireMention: false },
        "-1001": { systemPrompt: "Be brief.", topics: { "99": { requireMention: true } } },
        "-1002": { requireMention: true, groupPolicy: "open" },
        "-1003": { enabled: false },
      },
      apiRoot: "https://telegram.example.org",
      webhookUrl: "https://example.org/hook",
      historyLimit: 50,
    },
  });
  assert.deepEqual(channels, {
    telegram: {
      kind: "telegram",
      token: "SECRET-1",
      url: "https://telegram.example.org",
      allow: ["123", "456"],
      groups: { "-1001": { answer: "always" }, "-1002": { from: "all" } },
    },
  });
  assert.match(becomes["telegram"] ?? "", /channels\.telegram, a channel of the kind telegram/);
  assert.match(becomes["telegram.allowFrom"] ?? "", /without @ann/);
  assert.match(becomes["telegram.dmPolicy"] ?? "", /pairing codes/);
  assert.deepEqual(Object.keys(reasons).toSorted(), [
    "defaults",
    'telegram.groups["*"]',
    'telegram.groups["-1001"].systemPrompt',
    'telegram.groups["-1001"].topics',
    'telegram.groups["-1003"]',
    "telegram.historyLimit",
    "telegram.webhookUrl",
  ]);
});

test("a credential stays a reference to the environment, and one from elsewhere has to be put there", () => {
  const { channels, reasons, becomes } = became({
    telegram: { botToken: { source: "env", provider: "default", id: "CRAB_TOKEN" } },
    slack: {
      mode: "socket",
      appToken: "SECRET-2",
      botToken: { source: "exec", provider: "vault", id: "slack" },
    },
  });
  assert.deepEqual(channels, {
    telegram: { kind: "telegram", token: "${CRAB_TOKEN}" },
    slack: { kind: "slack", token: "${SLACK_BOT_TOKEN}", secret: "${SLACK_SIGNING_SECRET}" },
  });
  assert.equal(becomes["telegram.botToken"], "${CRAB_TOKEN}");
  assert.match(reasons["slack.botToken"] ?? "", /set SLACK_BOT_TOKEN in the environment/);
  assert.match(reasons["slack.appToken"] ?? "", /\/hooks\//);
});

test("a bot of Slack answers mentions in its channels", () => {
  const { channels, becomes, reasons } = became({
    slack: {
      botToken: "${SLACK_TOKEN}",
      signingSecret: "${SLACK_SECRET}",
      dm: { policy: "pairing", allowFrom: ["U1", "user:u2", "Ann"] },
      channels: {
        C1: { requireMention: false, users: ["U1", "U2", "U3"] },
        "#general": { requireMention: true },
      },
    },
  });
  assert.deepEqual(channels, {
    slack: {
      kind: "slack",
      token: "${SLACK_TOKEN}",
      secret: "${SLACK_SECRET}",
      allow: ["U1", "U2"],
      groups: { C1: {} },
    },
  });
  assert.match(becomes["slack.channels.C1.users"] ?? "", /add U3 to allow yourself/);
  assert.match(becomes["slack.channels.C1.requireMention"] ?? "", /mentions alone/);
  assert.match(reasons['slack.channels["#general"]'] ?? "", /the id of a channel/);
});

test("IRC is taken with its server, its logins and the channels that it joins", () => {
  const { channels, reasons, becomes } = became({
    irc: {
      host: "irc.example.org",
      nick: "crab",
      realname: "Crab",
      password: "SECRET-3",
      nickserv: { enabled: true, service: "NickServ", password: "${NICKSERV}", register: false },
      channels: ["#boats"],
      allowFrom: ["ann!ann@harbour.example.org", "bob"],
      groupPolicy: "open",
      groups: { "#deck": {} },
    },
  });
  assert.deepEqual(channels, {
    irc: {
      kind: "irc",
      service: "ircs://irc.example.org:6697",
      nick: "crab",
      serverPassword: "SECRET-3",
      account: "crab",
      password: "${NICKSERV}",
      join: ["#boats", "#deck"],
      allow: ["ann!ann@harbour.example.org"],
      groups: { "#deck": { from: "all" } },
    },
  });
  assert.match(becomes["irc.allowFrom"] ?? "", /a nick proves nothing, without bob/);
  assert.deepEqual(Object.keys(reasons).toSorted(), [
    "irc.nickserv.register",
    "irc.nickserv.service",
    "irc.realname",
  ]);
});

test("who may not speak in a group there may not here, and who may speak there only in a group is reported", () => {
  const { channels, reasons, becomes } = became({
    telegram: {
      botToken: "${T}",
      allowFrom: ["1", "2"],
      groupAllowFrom: ["1", "2", "3"],
      groups: { "-10": {}, "-20": { allowFrom: ["1"] } },
    },
  });
  assert.deepEqual(channels?.["telegram"]?.groups, { "-10": {} });
  assert.match(reasons['telegram.groups["-20"]'] ?? "", /may not speak in it there/);
  assert.match(becomes['telegram.groups["-10"].allowFrom'] ?? "", /add 3 to allow/);
});

test("a channel that is open to everyone asks for codes here, and one without direct messages is switched off", () => {
  const open = became({ telegram: { botToken: "${T}", dmPolicy: "open", allowFrom: ["*"] } });
  assert.deepEqual(open.channels, { telegram: { kind: "telegram", token: "${T}" } });
  assert.match(open.becomes["telegram.dmPolicy"] ?? "", /once the owner has approved/);
  const disabled = became({
    telegram: { botToken: "${T}", dmPolicy: "disabled", allowFrom: ["1"], groups: { "-1": {} } },
  });
  assert.equal(disabled.channels?.["telegram"]?.enabled, false);
  assert.match(disabled.becomes["telegram.dmPolicy"] ?? "", /enabled: false/);
});

test("each account is a channel of its own, with the settings of the root", () => {
  const { channels } = became({
    telegram: {
      botToken: "${ONE}",
      allowFrom: ["1"],
      defaultAccount: "default",
      accounts: { work: { botToken: "${TWO}", name: "Work", enabled: false }, home: { allowFrom: ["2"] } },
    },
  });
  assert.deepEqual(channels, {
    telegram: { kind: "telegram", token: "${ONE}", allow: ["1"] },
    "telegram-work": { kind: "telegram", enabled: false, token: "${TWO}", allow: ["1"] },
    "telegram-home": { kind: "telegram", token: "${TELEGRAM_BOT_TOKEN}", allow: ["2"] },
  });
});

test("a Discord account keeps its token and its people, and its guilds are reported", () => {
  const { channels, reasons } = became({
    discord: { token: "SECRET-4", guilds: { "1": {} }, allowFrom: ["12", "ann"] },
  });
  assert.deepEqual(channels, { discord: { kind: "discord", token: "SECRET-4", allow: ["12"] } });
  assert.deepEqual(reasons, {
    "discord.guilds": "a channel is listed by its own id here, in groups, and not by its guild",
  });
});

test("kinds that do not exist here, and channels that cannot be used, are reported", () => {
  const { channels, reasons } = became({
    whatsapp: { allowFrom: ["+49"] },
    matrix: { accessToken: "SECRET-5" },
    irc: { host: "irc.example.org" },
    telegram: "yes",
  });
  assert.equal(channels, undefined);
  assert.deepEqual(reasons, {
    whatsapp: "there is no channel of this kind here",
    matrix: "there is no channel of this kind here",
    irc: "it names no server or no nick",
    telegram: "there is no channel of this kind here",
  });
});
