/** The suite of channels at local servers that speak the services' interfaces. */
import { createDiscordChannel } from "../../../packages/channels/src/chat-sdk/discord-channel.ts";
import { createGitHubChannel } from "../../../packages/channels/src/chat-sdk/github-channel.ts";
import { createSlackChannel } from "../../../packages/channels/src/chat-sdk/slack-channel.ts";
import { createTelegramChannel } from "../../../packages/channels/src/chat-sdk/telegram-channel.ts";
import { testChannel, type ChannelService, type Peer } from "../../../packages/testkit/src/index.ts";
import { WebhookRoutes } from "../../../packages/channels/src/webhook/webhook-routes.ts";
import { BotApi } from "./bot-api.ts";
import { DiscordApi } from "./discord-api.ts";
import { GitHubApi, type Person } from "./github-api.ts";
import { HookServer } from "./hook-server.ts";
import { SlackApi } from "./slack-api.ts";

const PEOPLE = {
  ann: { id: 101, first_name: "Ann", username: "ann" },
  eve: { id: 102, first_name: "Eve", username: "eve" },
};

async function telegram(): Promise<ChannelService> {
  const api = await BotApi.open();
  // With all of them in one answer nothing is forgotten before the connection closes.
  api.mostUpdates = 2;
  const config = { kind: "telegram", token: BotApi.token, url: api.url };
  return {
    channel: () => {
      api.connectAgain();
      return createTelegramChannel("tg", config, {});
    },
    addressOf: (peer) => String(PEOPLE[peer].id),
    say: (peer, text) => Promise.resolve(api.say(PEOPLE[peer], text)),
    pretend: (text) => Promise.resolve(api.say({ ...PEOPLE.ann, id: PEOPLE.eve.id }, text)),
    got: (peer: Peer) => Promise.resolve(api.got(String(PEOPLE[peer].id))),
    cut: () => Promise.resolve(api.cut()),
    stop: () => api.stop(),
    start: () => api.start(),
    end: () => api.stop(),
  };
}

testChannel("Telegram", {
  open: telegram,
  gaps: { "receive.cursor": "Telegram forgets an update once the next one was asked for." },
  deadlineMs: 60_000,
  gapDeadlineMs: 1_000,
});

async function discord(): Promise<ChannelService> {
  const api = await DiscordApi.open();
  const config = { kind: "discord", token: DiscordApi.token, url: api.url };
  const say = (peer: Peer, shown: Peer, text: string): Promise<void> =>
    Promise.resolve(api.say({ id: String(PEOPLE[peer].id), username: PEOPLE[shown].username }, text));
  return {
    channel: () => {
      api.connectAgain();
      return createDiscordChannel("dc", config, {});
    },
    addressOf: (peer) => String(PEOPLE[peer].id),
    say: (peer, text) => say(peer, peer, text),
    pretend: (text) => say("eve", "ann", text),
    got: (peer) => Promise.resolve(api.got(String(PEOPLE[peer].id))),
    cut: () => Promise.resolve(api.cut()),
    stop: () => api.stop(),
    start: () => api.start(),
    end: () => api.stop(),
  };
}

testChannel("Discord", { open: discord, deadlineMs: 60_000, gapDeadlineMs: 1_000 });

const USERS = { ann: "U0ANN", eve: "U0EVE" };

async function slack(): Promise<ChannelService> {
  const api = await SlackApi.open();
  const routes = new WebhookRoutes();
  const hooks = await HookServer.open(routes);
  api.hook = (headers, body) => hooks.post("work", headers, body);
  const { token, secret } = SlackApi;
  return {
    channel: () => {
      api.connectAgain();
      return createSlackChannel(
        "work",
        { kind: "slack", token, secret, url: `${api.url}/api` },
        {},
        { webhooks: routes },
      );
    },
    addressOf: (peer) => USERS[peer],
    say: (peer, text) => Promise.resolve(api.say(USERS[peer], text)),
    got: (peer) => Promise.resolve(api.got(USERS[peer].replace("U", "D"))),
    cut: () => Promise.resolve(api.cut()),
    stop: () => api.stop(),
    start: () => api.start(),
    end: async () => {
      await api.end();
      await hooks.close();
    },
  };
}

testChannel("Slack", {
  open: slack,
  gaps: {
    "connect.first": "Slack posts again what the host has not taken, also from before.",
    "end.stopped": "Slack calls by HTTP, so there is no connection that its end would end.",
  },
  deadlineMs: 60_000,
  gapDeadlineMs: 1_000,
});

const MEMBERS: Record<Peer, Person> = {
  ann: { id: 101, login: "ann", type: "User" },
  eve: { id: 102, login: "eve", type: "User" },
};
const ISSUES = { ann: 21, eve: 22 };

async function github(): Promise<ChannelService> {
  const api = await GitHubApi.open();
  const routes = new WebhookRoutes();
  const hooks = await HookServer.open(routes);
  api.hook = (headers, body) => hooks.post("gh", headers, body);
  const { token, secret } = GitHubApi;
  const groups = { "boats/harbour": {} };
  const say = async (peer: Peer, person: Person, text: string): Promise<void> =>
    void (await api.say(person, text, { number: ISSUES[peer] }));
  return {
    channel: () => {
      api.connectAgain();
      const config = { kind: "github", token, secret, url: api.url, groups, pollSeconds: 1 };
      return createGitHubChannel("gh", config, {}, { webhooks: routes });
    },
    addressOf: (peer) => String(MEMBERS[peer].id),
    placeOf: (peer) => ({
      group: "boats/harbour",
      thread: String(ISSUES[peer]),
      reply: `github:boats/harbour:issue:${ISSUES[peer]}`,
    }),
    say: (peer, text) => say(peer, MEMBERS[peer], text),
    pretend: (text) => say("eve", { ...MEMBERS.ann, id: MEMBERS.eve.id }, text),
    got: (peer) => Promise.resolve(api.got(`issues/${ISSUES[peer]}`)),
    cut: () => Promise.resolve(api.cut()),
    stop: () => api.stop(),
    start: () => api.start(),
    end: async () => {
      await api.stop();
      await hooks.close();
    },
  };
}

testChannel("GitHub", { open: github, deadlineMs: 60_000, gapDeadlineMs: 1_000 });
