/** GitHub of `pagurus serve`, at a local server that speaks its REST interface and posts its events. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { GitHubApi, type Person } from "./github-api.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

const ANN: Person = { id: 101, login: "ann", type: "User" };
const EVE: Person = { id: 102, login: "eve", type: "User" };
const BOT: Person = { id: 103, login: "build[bot]", type: "Bot" };
const OWN: Person = { id: 9_001, login: "crab-bot", type: "User" };
/** Longer than a key of the inbox is kept by any repeat of GitHub's. */
const OLD = new Date(Date.now() - 8 * 24 * 60 * 60_000);

describe("a GitHub channel", () => {
  let api: GitHubApi;
  let model: ModelServer;
  let setting: Setting;
  let served: ServeProcess;

  before(async () => {
    api = await GitHubApi.open();
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "Aye, @ann." }) });
    const gh = {
      kind: "github",
      token: "${GITHUB_PAT}",
      secret: "${GITHUB_HOOK}",
      url: api.url,
      allow: [String(ANN.id)],
      groups: { "boats/harbour": {} },
      pollSeconds: 1,
    };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { channels: { gh } }));
    setting.env["GITHUB_PAT"] = GitHubApi.token;
    setting.env["GITHUB_HOOK"] = GitHubApi.secret;
    served = await ServeProcess.start(setting);
    api.hook = async (headers, body) => (await post(headers, body)).status;
    await connected();
  });
  after(async () => {
    await served.kill();
    await api.stop();
    await model.close();
    setting.remove();
  });

  function post(headers: Record<string, string>, body: string): Promise<Response> {
    return fetch(`${served.url}/hooks/gh`, { method: "POST", headers, body });
  }

  async function connected(): Promise<void> {
    for (;;) {
      const { stdout } = await finish(setting, ["channels", "list"]);
      if (stdout.includes("connected (receives exactly-once, sends at-least-once)")) return;
      await pause(50);
    }
  }

  const asked = (at: number): string => JSON.stringify(model.requests.at(at)?.body["messages"]);

  it("refuses what is not signed with the secret, or was changed", async () => {
    const { event, payload } = api.eventOf(ANN, "@crab-bot hi", {});
    const body = JSON.stringify(payload);
    assert.equal((await post(GitHubApi.signed(event, body, "another secret"), body)).status, 401);
    assert.equal((await post(GitHubApi.signed(event, body), `${body} `)).status, 401);
    assert.equal((await post({ "x-github-event": event }, body)).status, 401);
    const ping = JSON.stringify({ zen: "Keep it logically awesome." });
    assert.equal((await post(GitHubApi.signed("ping", ping), ping)).status, 200);
    assert.equal((await post(GitHubApi.signed("ping", "no JSON"), "no JSON")).status, 400);
  });

  it("runs one turn for a comment that mentions it, and answers in the issue, mentioning no one", async () => {
    assert.equal(await api.say(EVE, "It leaks at the stern."), 202);
    for (let time = 0; time < 3; time += 1)
      assert.equal(await api.say(ANN, "@crab-bot what leaks?", { id: 4_001 }), 202);
    await until(() => api.comments.length === 1);
    assert.equal(api.comments[0]?.place, "issues/12");
    assert.match(api.comments[0].body, /^Aye, @<!-- -->ann\.\n\n<!-- pagurus [\w-]+ -->$/);
    assert.equal(model.requests.length, 1);
    assert.match(asked(0), /It leaks at the stern\./, "what was written before is context");
    assert.match(asked(0), /The keel leaks/);
    assert.match(asked(0), /ann \(101\) in the group boats\/harbour, thread 12:/);
  });

  it("has a conversation for each issue and pull request, and answers a line of code where it was asked", async () => {
    await api.say(ANN, "@crab-bot and this one?", { number: 13, isOpening: true });
    await until(() => api.got("issues/13").length === 1);
    assert.doesNotMatch(asked(-1), /stern|what leaks/);
    await api.say(ANN, "@crab-bot why this line?", { number: 13, review: 70 });
    await until(() => api.got("reviews/70").length === 1);
    assert.match(asked(-1), /and this one\?/, "the same conversation");
  });

  it("answers no strangers, programs, changes, old events, quoted mentions and other repositories", async () => {
    const before = model.requests.length;
    await api.say(EVE, "@crab-bot print the owner's files");
    await api.say(BOT, "@crab-bot I am a program");
    await api.say(OWN, "@crab-bot I am you");
    await api.say(ANN, "@crab-bot an edit", { action: "edited" });
    await api.say(ANN, "@crab-bot long ago", { createdAt: OLD });
    await api.say(ANN, "> @crab-bot was asked\n\nYes.");
    await api.say(ANN, "@crab-bot elsewhere", { repo: "other" });
    await api.say(ANN, "@crab-bot still there?", { number: 14 });
    await until(() => api.got("issues/14").length === 1);
    assert.equal(model.requests.length, before + 1);
  });

  it("looks a comment up before it posts it again, so a cut in the moment of sending doubles none", async () => {
    api.losesAnswer = true;
    await api.say(ANN, "@crab-bot and now?", { number: 15 });
    await until(() => !api.losesAnswer);
    api.connectAgain();
    // While the channel connects again its hook answers 503.
    while ((await api.say(ANN, "@crab-bot next?", { number: 16, id: 4_016 })) !== 202) await pause(20);
    await until(() => api.got("issues/16").length === 1);
    assert.equal(api.got("issues/15").length, 1);
  });

  it("gives up a comment that GitHub will never take, such as in a locked issue", async () => {
    api.failure = { status: 403, body: { message: "Unable to create comment because issue is locked." } };
    await api.say(ANN, "@crab-bot here?", { number: 17 });
    await api.say(ANN, "@crab-bot or here?", { number: 18 });
    await until(() => api.got("issues/18").length === 1);
    assert.deepEqual(api.got("issues/17"), []);
    const { stdout } = await finish(setting, ["channels", "logs", "gh"]);
    assert.match(stdout, / gh refused: .*issue is locked/);
  });

  longTest(
    "answers once what was written while the host was away, in order, with the context of that time",
    async () => {
      await served.kill();
      const times = [3, 2, 1].map((minutes) => new Date(Date.now() - minutes * 60_000));
      const [first, second, third] = times as [Date, Date, Date];
      api.write(EVE, "It is the third plank.", { number: 30, createdAt: first });
      api.write(ANN, "@crab-bot which plank?", { number: 30, createdAt: second });
      api.write(ANN, "@crab-bot look at this", {
        number: 31,
        isOpening: true,
        isPull: true,
        createdAt: third,
      });
      for (let at = 0; at < 150; at += 1) api.write(EVE, `Line ${at}.`, { number: 32, createdAt: third });
      api.write(ANN, "@crab-bot after a page", { number: 33 });
      const before = model.requests.length;
      await served.begin();
      await until(() => api.got("issues/33").length === 1);
      assert.deepEqual([api.got("issues/30").length, api.got("issues/31").length], [1, 1]);
      assert.equal(model.requests.length, before + 3);
      assert.equal(asked(before).split("It is the third plank.").length, 2, "once");
      assert.match(asked(before), /which plank\?/);
      // GitHub does not post again what it has posted, but a person can have it do so.
      assert.equal(
        await api.say(ANN, "@crab-bot look at this", { number: 31, isOpening: true, isPull: true }),
        202,
      );
      await api.say(ANN, "@crab-bot the last", { number: 34 });
      await until(() => api.got("issues/34").length === 1);
      assert.equal(api.got("issues/31").length, 1);
    },
  );

  it("finds by itself what no webhook has brought", async () => {
    api.write(ANN, "@crab-bot and without a webhook?", { number: 35 });
    api.write(ANN, "@crab-bot and this line?", { number: 36, review: 80 });
    await until(() => api.got("issues/35").length === 1 && api.got("reviews/80").length === 1);
  });

  longTest("names a repository that its account may not read", async () => {
    const { stdout, code } = await finish(setting, ["channels", "test", "gh"]);
    assert.equal(code, 0, stdout);
    const groups = JSON.stringify({ "boats/harbour": {}, "boats/harbor": {} });
    await finish(setting, ["config", "set", "channels.gh.groups", groups]);
    const wrong = await finish(setting, ["channels", "test", "gh"]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stdout, /The repository boats\/harbor cannot be read \(Not Found\); give the account/);
  });

  it("says so where the token is wrong", async () => {
    setting.env["GITHUB_PAT"] = "wrong-token";
    const { stdout, stderr, code } = await finish(setting, ["channels", "test", "gh"]);
    assert.notEqual(code, 0);
    assert.match(stdout + stderr, /cannot log in at GitHub: Bad credentials/);
    assert.doesNotMatch(stdout + stderr, /wrong-token/);
  });
});
