/** Messages that Slack, Telegram and GitHub do not take as they are sent, not yet, or do not replace. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createGitHubChannel } from "../../../packages/channels/src/chat-sdk/github-channel.ts";
import { createSlackChannel } from "../../../packages/channels/src/chat-sdk/slack-channel.ts";
import { createTelegramChannel } from "../../../packages/channels/src/chat-sdk/telegram-channel.ts";
import { WebhookRoutes } from "../../../packages/channels/src/webhook/webhook-routes.ts";
import { BotApi } from "./bot-api.ts";
import { GitHubApi } from "./github-api.ts";
import { startLink, type SendingLink } from "./sending-link.ts";
import { refused, SlackApi } from "./slack-api.ts";
import { TestClock } from "../../runner/test-clock.ts";
import { until } from "../../runner/until.ts";

/** Longest pause of a link that is not about a limit, ms. */
const LINK_MS = 2_000;
const MINUTE_MS = 60_000;
/** Between two looks at GitHub. */
const POLL_MS = 1_000;
const ANSWER = "The buoy is blue, and the crab is red.";

describe("a message that Slack does not take", () => {
  const ann = { channel: "work", address: "U0ANN", isGroup: false };
  const eve = { ...ann, address: "U0EVE" };
  let clock: TestClock;
  let api: SlackApi;
  let sending: SendingLink;
  beforeEach(async () => {
    clock = new TestClock();
    api = await SlackApi.open();
    const { token, secret } = SlackApi;
    const config = { kind: "slack", token, secret, url: `${api.url}/api` };
    sending = await startLink(
      createSlackChannel("work", config, {}, { webhooks: new WebhookRoutes(), clock }),
      clock,
    );
  });
  afterEach(async () => {
    await sending.end();
    await api.end();
  });
  const isDone = (): boolean => sending.store.outgoingCount("work") === 0;

  it("as the state of a growing answer that a person deleted, is the whole answer in a message of its own", async () => {
    sending.grow("w1", ann, "The buoy ");
    await clock.passUntil(LINK_MS, () => api.sent.length === 1);
    api.sent.length = 0;
    sending.complete("w1", ann, ANSWER);
    sending.complete("w2", eve, "Answer for someone else.");
    await clock.passUntil(LINK_MS, isDone);
    assert.deepEqual(sending.states(), ["w1-0 sent", "w2-0 sent"]);
    assert.deepEqual([api.got("D0ANN"), api.got("D0EVE")], [[ANSWER], ["Answer for someone else."]]);
  });

  it("as a state of a growing answer, ends the growth and not the answer", async () => {
    sending.grow("w1", ann, "The buoy ");
    await clock.passUntil(LINK_MS, () => api.sent.length === 1);
    api.sent.length = 0;
    sending.link.outgoing.drafts.event("w1", "text.delta", { delta: "is blue " });
    await clock.passUntil(LINK_MS, () => api.paths.includes("/api/chat.update"));
    sending.link.outgoing.drafts.event("w1", "text.delta", { delta: "and " });
    sending.complete("w1", ann, ANSWER);
    await clock.passUntil(LINK_MS, isDone);
    assert.deepEqual(api.got("D0ANN"), [ANSWER]);
  });

  for (const code of ["edit_window_closed", "restricted_action_read_only_channel"])
    it(`because of ${code}, is sent as a new one`, async () => {
      sending.grow("w1", ann, "The buoy ");
      await clock.passUntil(LINK_MS, () => api.sent.length === 1);
      api.failing.set("chat.update", refused(code));
      sending.complete("w1", ann, ANSWER);
      await clock.passUntil(LINK_MS, isDone);
      assert.deepEqual(sending.states(), ["w1-0 sent"]);
      assert.deepEqual(api.got("D0ANN"), ["The buoy …", ANSWER]);
    });

  it("for a reason that no one knew, is lost alone, and the next is sent", async () => {
    api.failing.set("chat.postMessage", refused("a_new_reason"));
    sending.complete("w1", ann, ANSWER);
    sending.complete("w2", eve, "Answer for someone else.");
    await clock.passUntil(LINK_MS, isDone);
    assert.deepEqual(sending.states(), ["w1-0 lost", "w2-0 sent"]);
  });

  for (const code of ["internal_error", "token_expired"])
    it(`because of ${code}, is sent again over the next connection`, async () => {
      api.failing.set("chat.postMessage", refused(code));
      sending.complete("w1", ann, ANSWER);
      await clock.passUntil(LINK_MS, isDone);
      assert.deepEqual(sending.states(), ["w1-0 sent"]);
    });

  it("because of a limit, is sent again as late as Slack asks", async () => {
    const body = { ok: false, error: "ratelimited" };
    api.failing.set("chat.postMessage", { status: 429, body, headers: { "retry-after": "3600" } });
    sending.complete("w1", ann, ANSWER);
    await clock.pass(3_600_000);
    await clock.passUntil(LINK_MS, isDone);
    assert.deepEqual(sending.states(), ["w1-0 sent"]);
  });
});

describe("a limit of GitHub", () => {
  const issue = { channel: "gh", address: "boats/harbour", isGroup: true, thread: "21" };
  const place = { ...issue, reply: "github:boats/harbour:issue:21" };
  const body = { message: "You have exceeded a secondary rate limit. Please wait a few minutes." };
  let clock: TestClock;
  let api: GitHubApi;
  let sending: SendingLink;
  beforeEach(async () => {
    // The services of the tests have the machine's time.
    clock = new TestClock(Date.now());
    api = await GitHubApi.open();
    const { token, secret } = GitHubApi;
    const groups = { "boats/harbour": {} };
    const config = { kind: "github", token, secret, url: api.url, groups, pollSeconds: 1 };
    sending = await startLink(
      createGitHubChannel("gh", config, {}, { webhooks: new WebhookRoutes(), clock }),
      clock,
    );
  });
  afterEach(async () => {
    await sending.end();
    await api.stop();
  });

  for (const [name, headers, seconds] of [
    ["without a time delays a comment by a minute", { "x-ratelimit-remaining": "4890" }, 60],
    ["with a time delays a comment until then", { "retry-after": "1800" }, 1_800],
  ] as const)
    it(name, async () => {
      api.failure = { status: 403, body, headers };
      sending.complete("w1", place, ANSWER);
      await clock.pass(seconds * 1_000);
      await clock.passUntil(LINK_MS, () => sending.store.outgoingCount("gh") === 0);
      assert.deepEqual([sending.states(), api.got("issues/21")], [["w1-0 sent"], [ANSWER]]);
    });

  it("that is spent delays a comment until it is reset", async () => {
    const resetAt = String(Math.ceil(Date.now() / 1_000) + 1_800);
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": resetAt };
    api.failure = { status: 403, body: { message: "Forbidden" }, headers };
    sending.complete("w1", place, ANSWER);
    await until(() => clock.pending.some((ms) => Math.round(ms / MINUTE_MS) === 30));
    clock.move(31 * MINUTE_MS);
    await clock.passUntil(LINK_MS, () => sending.store.outgoingCount("gh") === 0);
    assert.deepEqual(sending.states(), ["w1-0 sent"]);
  });

  it("delays the look at what was written, and does not end the connection", async () => {
    api.listFailure = { status: 403, body };
    await clock.pass(POLL_MS);
    // Beside the timer that keeps the time of the connection.
    await until(() => clock.pending.filter((ms) => ms === MINUTE_MS).length === 2);
    clock.move(MINUTE_MS);
    const before = api.listed.length;
    await clock.pass(POLL_MS);
    await until(() => api.listed.length > before);
    assert.equal(sending.connections(), 1);
  });
});

it("an answer of Telegram whose growing message was deleted arrives as a new message", async () => {
  const clock = new TestClock();
  const api = await BotApi.open();
  const place = { channel: "tg", address: "101", isGroup: false };
  const sending = await startLink(
    createTelegramChannel("tg", { kind: "telegram", token: BotApi.token, url: api.url }, {}, { clock }),
    clock,
  );
  try {
    sending.grow("w1", place, "The buoy ");
    await clock.passUntil(LINK_MS, () => api.sent.length === 1);
    api.sent.length = 0;
    sending.complete("w1", place, ANSWER);
    await clock.passUntil(LINK_MS, () => sending.store.outgoingCount("tg") === 0);
    assert.deepEqual(sending.states(), ["w1-0 sent"]);
    assert.deepEqual(api.got("101"), [ANSWER]);
  } finally {
    await sending.end();
    await api.stop();
  }
});
