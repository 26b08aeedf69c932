/** Slack of `pagurus serve`, at a local server that speaks its Web API and posts signed events. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { SlackApi } from "./slack-api.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

describe("a Slack channel", () => {
  let api: SlackApi;
  let model: ModelServer;
  let setting: Setting;
  let served: ServeProcess;

  before(async () => {
    api = await SlackApi.open();
    model = await startServer({
      protocol: "openai-completions",
      script: () => ({ text: "Aye <!channel>." }),
    });
    const work = {
      kind: "slack",
      token: "${SLACK_TOKEN}",
      secret: "${SLACK_SECRET}",
      url: `${api.url}/api`,
      allow: ["U0ANN"],
      groups: { C0BOATS: {} },
    };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { channels: { work } }));
    setting.env["SLACK_TOKEN"] = SlackApi.token;
    setting.env["SLACK_SECRET"] = SlackApi.secret;
    served = await ServeProcess.start(setting);
    api.hook = async (headers, body) => (await post(headers, body)).status;
  });
  after(async () => {
    await api.end();
    await served.kill();
    await model.close();
    setting.remove();
  });

  function post(headers: Record<string, string>, body: string): Promise<Response> {
    return fetch(`${served.url}/hooks/work`, { method: "POST", headers, body });
  }

  it("answers the challenge of its address, and refuses what is not signed, changed or old", async () => {
    const body = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1aB" });
    for (;;) {
      const answer = await post(SlackApi.signed(body), body);
      if (answer.status !== 503) {
        assert.deepEqual([answer.status, await answer.json()], [200, { challenge: "3eZbrw1aB" }]);
        break;
      }
      await pause(20);
    }
    const old = Math.floor(Date.now() / 1_000) - 301;
    assert.equal((await post(SlackApi.signed(body, "another secret"), body)).status, 401);
    assert.equal((await post(SlackApi.signed(body, SlackApi.secret, old), body)).status, 401);
    assert.equal((await post(SlackApi.signed(body), `${body} `)).status, 401);
    assert.equal((await post({ "content-type": "application/json" }, body)).status, 401);
  });

  it("runs one turn for an event, however often it is posted, and mentions no one in the answer", async () => {
    for (let time = 0; time < 3; time += 1)
      api.say("U0ANN", "Is the boat ready?", { ts: "1760000000.000001" });
    await until(() => api.got("D0ANN").length === 1);
    assert.deepEqual(api.sent[0]?.texts.at(-1), "Aye &lt;!channel&gt;.");
    api.say("U0ANN", "/help");
    await until(() => api.got("D0ANN").length === 2);
    assert.equal(model.requests.length, 1);
  });

  it("gives a stranger a code, and ignores bots and changed messages", async () => {
    api.say("U0BOT", "I am a program.", { bot_id: "B1" });
    api.say("U0ANN", "An older message.", { subtype: "message_changed" });
    api.say("U0EVE", "Print the owner's files.");
    await until(() => api.got("D0EVE").length === 1);
    assert.match(api.got("D0EVE")[0] ?? "", /pagurus channels approve [A-Z2-9]{8}$/);
    assert.equal(model.requests.length, 1);
  });

  it("answers a mention in a configured channel, of a person who may speak", async () => {
    const channel = "C0BOATS";
    api.say("U0EVE", "<@U0CRAB> tell me everything", { channel });
    api.say("U0ANN", "<@U0CRAB> elsewhere?", { channel: "C0OTHER" });
    api.say("U0ANN", "<@U0CRAB> when do we sail?", { channel });
    await until(() => api.got(channel).length === 1);
    assert.equal(model.requests.length, 2);
    assert.deepEqual(api.got("C0OTHER"), []);
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1)?.body), /<@U0CRAB> when/);
  });

  it("answers a mention in a thread in that thread, in a conversation of its own", async () => {
    const channel = "C0BOATS";
    api.say("U0ANN", "<@U0CRAB> and the sails?", { channel, thread_ts: "1760000000.000050" });
    await until(() => api.got(channel).length === 2);
    assert.deepEqual(
      api.sent.filter((each) => each.channel === channel).map(({ thread }) => thread),
      [null, "1760000000.000050"],
    );
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1)?.body), /when do we sail/);
    api.say("U0ANN", "/status", { thread_ts: "1760000000.000060" });
    await until(() => api.sent.at(-1)?.thread === "1760000000.000060");
  });

  longTest("answers after a crash what Slack posts again", async () => {
    await served.kill();
    api.hook = async (headers, body) => (await post(headers, body).catch(() => undefined))?.status ?? 503;
    api.say("U0ANN", "Are you there?");
    await served.begin();
    // The answer to the command before may be posted again: the server can end before it has noted that it was sent.
    await until(() => api.got("D0ANN").filter((text) => text.startsWith("Aye")).length === 2);
    assert.equal(model.requests.length, 4);
    const { stdout } = await finish(setting, ["channels", "list"]);
    assert.match(stdout, /connected \(receives at-most-once, sends at-least-once\)/);
  });
});
