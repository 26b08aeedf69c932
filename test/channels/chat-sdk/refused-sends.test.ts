/** Messages that Slack, Telegram and GitHub do not take as they are sent, not yet, or do not replace. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createGitHubChannel } from "../../../packages/channels/src/chat-sdk/github-channel.ts";
import { createSlackChannel } from "../../../packages/channels/src/chat-sdk/slack-channel.ts";
import { createTelegramChannel } from "../../../packages/channels/src/chat-sdk/telegram-channel.ts";
import { WebhookRoutes } from "../../../packages/channels/src/webhook/webhook-routes.ts";
import { BotApi } from "./bot-api.ts";
import { GitHubApi } from "./github-api.ts";
import { shortenPauses, startLink, type SendingLink } from "./sending-link.ts";
import { refused, SlackApi } from "./slack-api.ts";
import { until } from "../../runner/until.ts";

const ANSWER = "The buoy is blue, and the crab is red.";

describe("a message that Slack does not take", () => {
  const ann = { channel: "work", address: "U0ANN", isGroup: false };
  const eve = { ...ann, address: "U0EVE" };
  let api: SlackApi;
  let sending: SendingLink;
  beforeEach(async () => {
    api = await SlackApi.open();
    const { token, secret } = SlackApi;
    const config = { kind: "slack", token, secret, url: `${api.url}/api` };
    sending = await startLink(createSlackChannel("work", config, {}, new WebhookRoutes()));
  });
  afterEach(async () => {
    await sending.end();
    await api.end();
  });
  const isDone = (): boolean => sending.store.outgoingCount("work") === 0;

  it("as the state of a growing answer that a person deleted, is the whole answer in a message of its own", async () => {
    sending.grow("w1", ann, "The buoy ");
    await until(() => api.sent.length === 1);
    api.sent.length = 0;
    sending.complete("w1", ann, ANSWER);
    sending.complete("w2", eve, "Answer for someone else.");
    await until(isDone);
    assert.deepEqual(sending.states(), ["w1-0 sent", "w2-0 sent"]);
    assert.deepEqual([api.got("D0ANN"), api.got("D0EVE")], [[ANSWER], ["Answer for someone else."]]);
  });

  it("as a state of a growing answer, ends the growth and not the answer", async () => {
    sending.grow("w1", ann, "The buoy ");
    await until(() => api.sent.length === 1);
    api.sent.length = 0;
    sending.link.outgoing.drafts.event("w1", "text.delta", { delta: "is blue " });
    await until(() => api.paths.includes("/api/chat.update"));
    sending.link.outgoing.drafts.event("w1", "text.delta", { delta: "and " });
    sending.complete("w1", ann, ANSWER);
    await until(isDone);
    assert.deepEqual(api.got("D0ANN"), [ANSWER]);
  });

  for (const code of ["edit_window_closed", "restricted_action_read_only_channel"])
    it(`because of ${code}, is sent as a new one`, async () => {
      sending.grow("w1", ann, "The buoy ");
      await until(() => api.sent.length === 1);
      api.failing.set("chat.update", refused(code));
      sending.complete("w1", ann, ANSWER);
      await until(isDone);
      assert.deepEqual(sending.states(), ["w1-0 sent"]);
      assert.deepEqual(api.got("D0ANN"), ["The buoy …", ANSWER]);
    });

  it("for a reason that no one knew, is lost alone, and the next is sent", async () => {
    api.failing.set("chat.postMessage", refused("a_new_reason"));
    sending.complete("w1", ann, ANSWER);
    sending.complete("w2", eve, "Answer for someone else.");
    await until(isDone);
    assert.deepEqual(sending.states(), ["w1-0 lost", "w2-0 sent"]);
  });

  for (const code of ["internal_error", "token_expired"])
    it(`because of ${code}, is sent again over the next connection`, async () => {
      api.failing.set("chat.postMessage", refused(code));
      sending.complete("w1", ann, ANSWER);
      await until(isDone);
      assert.deepEqual(sending.states(), ["w1-0 sent"]);
    });

  it("because of a limit, is sent again as late as Slack asks", async (t) => {
    const pauses = shortenPauses(t);
    const body = { ok: false, error: "ratelimited" };
    api.failing.set("chat.postMessage", { status: 429, body, headers: { "retry-after": "3600" } });
    sending.complete("w1", ann, ANSWER);
    await until(isDone);
    assert.deepEqual(pauses, [3_600_000]);
    assert.deepEqual(sending.states(), ["w1-0 sent"]);
  });
});

describe("a limit of GitHub", () => {
  const issue = { channel: "gh", address: "boats/harbour", isGroup: true, thread: "21" };
  const place = { ...issue, reply: "github:boats/harbour:issue:21" };
  const body = { message: "You have exceeded a secondary rate limit. Please wait a few minutes." };
  let api: GitHubApi;
  let sending: SendingLink;
  beforeEach(async () => {
    api = await GitHubApi.open();
    const { token, secret } = GitHubApi;
    const groups = { "boats/harbour": {} };
    const config = { kind: "github", token, secret, url: api.url, groups, pollSeconds: 1 };
    sending = await startLink(createGitHubChannel("gh", config, {}, new WebhookRoutes()));
  });
  afterEach(async () => {
    await sending.end();
    await api.stop();
  });

  for (const [name, headers, seconds] of [
    ["without a time delays a comment by a minute", { "x-ratelimit-remaining": "4890" }, 60],
    ["with a time delays a comment until then", { "retry-after": "1800" }, 1_800],
  ] as const)
    it(name, async (t) => {
      const pauses = shortenPauses(t);
      api.failure = { status: 403, body, headers };
      sending.complete("w1", place, ANSWER);
      await until(() => sending.store.outgoingCount("gh") === 0);
      assert.deepEqual([sending.states(), api.got("issues/21")], [["w1-0 sent"], [ANSWER]]);
      assert.deepEqual(pauses, [seconds * 1_000]);
    });

  it("that is spent delays a comment until it is reset", async (t) => {
    const pauses = shortenPauses(t);
    const resetAt = String(Math.ceil(Date.now() / 1_000) + 1_800);
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": resetAt };
    api.failure = { status: 403, body: { message: "Forbidden" }, headers };
    sending.complete("w1", place, ANSWER);
    await until(() => sending.store.outgoingCount("gh") === 0);
    assert.deepEqual(sending.states(), ["w1-0 sent"]);
    assert.equal(Math.round((pauses[0] ?? 0) / 60_000), 30);
  });

  it("delays the look at what was written, and does not end the connection", async (t) => {
    const pauses = shortenPauses(t);
    api.listFailure = { status: 403, body };
    await until(() => pauses.length === 1);
    const before = api.listed.length;
    await until(() => api.listed.length > before);
    assert.deepEqual([pauses, sending.connections()], [[60_000], 1]);
  });
});

it("an answer of Telegram whose growing message was deleted arrives as a new message", async () => {
  const api = await BotApi.open();
  const place = { channel: "tg", address: "101", isGroup: false };
  const sending = await startLink(
    createTelegramChannel("tg", { kind: "telegram", token: BotApi.token, url: api.url }, {}),
  );
  try {
    sending.grow("w1", place, "The buoy ");
    await until(() => api.sent.length === 1);
    api.sent.length = 0;
    sending.complete("w1", place, ANSWER);
    await until(() => sending.store.outgoingCount("tg") === 0);
    assert.deepEqual(sending.states(), ["w1-0 sent"]);
    assert.deepEqual(api.got("101"), [ANSWER]);
  } finally {
    await sending.end();
    await api.stop();
  }
});
