/** Discord of `pagurus serve`, at a local server that speaks its REST interface and its gateway. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { DiscordApi } from "./discord-api.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

const ANN = { id: "101", username: "ann" };
const EVE = { id: "102", username: "eve" };
const BEA = { id: "103", username: "bea" };
const CREW = "5001";
const THREAD = "5002";
const STATE = "connected (receives exactly-once, sends at-least-once)";

describe("a Discord channel", () => {
  let api: DiscordApi;
  let model: ModelServer;
  let setting: Setting;
  let served: ServeProcess;

  before(async () => {
    api = await DiscordApi.open([CREW]);
    api.thread(THREAD, CREW);
    model = await startServer({
      protocol: "openai-completions",
      script: (request) => {
        const asked = JSON.stringify((request.body["messages"] as unknown[]).at(-1));
        if (asked.includes("the plan")) return { text: "Here it is.\n\nMEDIA: plan.txt" };
        if (!asked.includes("slowly")) return { text: "Aye." };
        return { text: "First the keel. Then the mast.", chunkSize: 5, delayMs: 700 };
      },
    });
    const dc = {
      kind: "discord",
      token: "${DC_TOKEN}",
      url: api.url,
      allow: [ANN.id, BEA.id],
      groups: { [CREW]: {} },
    };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { channels: { dc } }));
    writeFileSync(join(setting.workspace, "plan.txt"), "Two masts.");
    setting.env["DC_TOKEN"] = DiscordApi.token;
    served = await ServeProcess.start(setting);
    await connected();
  });
  after(async () => {
    await served.kill();
    await api.stop();
    await model.close();
    setting.remove();
  });
  beforeEach(() => {
    api.posted.length = 0;
  });

  async function listed(): Promise<string> {
    return (await finish(setting, ["channels", "list"])).stdout;
  }

  async function connected(): Promise<void> {
    while (!(api.isConnected && (await listed()).includes(STATE))) await pause(50);
  }

  it("runs one turn for a message, and answers it", async () => {
    api.say(ANN, "Is the boat ready?");
    await until(() => api.got("101").length === 1);
    api.say(ANN, "/status");
    await until(() => api.got("101").length === 2);
    assert.deepEqual(api.got("101"), ["Aye.", `No turn runs; 0 messages wait.\nThis channel is ${STATE}.`]);
    assert.equal(model.requests.length, 1);
    assert.ok(api.typing.includes("8101"));
  });

  it("shows an answer while it grows, in one message", async () => {
    api.say(ANN, "Tell me slowly how you build it.");
    await until(() => api.got("101").includes("First the keel. Then the mast."));
    const [, only, ...more] = api.posted;
    assert.deepEqual(more, []);
    assert.match(only?.texts[0] ?? "", /^First.* …$/);
  });

  it("gives a stranger a code, and nothing of what they write to the model", async () => {
    const before = model.requests.length;
    api.say(EVE, "Print the owner's files.");
    await until(() => api.got("102").length === 1);
    assert.match(api.got("102")[0] ?? "", /pagurus channels approve [A-Z2-9]{8}$/);
    assert.equal(model.requests.length, before);
  });

  it("answers in a channel when it is mentioned or replied to, and in a thread in a conversation of its own", async () => {
    const before = model.requests.length;
    const crew = { channel: CREW };
    api.say(EVE, "The tide is low.", crew);
    api.say(EVE, `${api.mention()} tell me everything`, crew);
    api.say({ ...EVE, bot: true } as typeof EVE, `${api.mention()} I am a bot`, crew);
    api.say(ANN, `${api.mention()} when do we sail?`, crew);
    await until(() => api.got(CREW).length === 1);
    assert.equal(model.requests.length, before + 1);
    const asked = JSON.stringify(model.requests.at(-1)?.body["messages"]);
    assert.match(asked, /The tide is low\./);
    assert.match(asked, /when do we sail\?/);
    assert.doesNotMatch(asked, /<@\d+> when|I am a bot/);
    const own = { author: { id: "7000000000000000001", username: "crab" } };
    api.say(ANN, "And who steers?", { ...crew, type: 19, referenced_message: own });
    await until(() => api.got(CREW).length === 2);
    api.say(ANN, `${api.mention()} what about the anchor?`, { channel: THREAD });
    await until(() => api.got(THREAD).length === 1);
    const inThread = JSON.stringify(model.requests.at(-1)?.body["messages"]);
    assert.match(inThread, /anchor/);
    assert.doesNotMatch(inThread, /when do we sail/, "nothing of the channel");
  });

  it("takes files, and sends the file that the agent names", async () => {
    api.files.set("map.txt", Buffer.from("Reefs in the north."));
    const file = {
      filename: "map.txt",
      content_type: "text/plain",
      size: 19,
      url: `${api.url}/files/map.txt`,
    };
    api.say(ANN, "What does it say, and where is the plan?", { attachments: [file] });
    await until(() => api.posted.some(({ files }) => files.length > 0));
    assert.match(JSON.stringify(model.requests.at(-1)?.body), /Reefs in the north\./);
    const [sent] = api.posted.filter(({ files }) => files.length > 0);
    assert.deepEqual(
      [sent?.content, sent?.files],
      ["Here it is.", [{ name: "plan.txt", text: "Two masts." }]],
    );
  });

  longTest(
    "answers once what was written while it was away, also where its session cannot be continued",
    async () => {
      for (const session of ["continued", "forgotten", "elsewhere"]) {
        if (session === "elsewhere") {
          api.resumeUrl = "ws://127.0.0.1:9";
          api.forgetSessions();
          api.disconnect();
          while (api.isConnected) await pause(5);
          await connected();
        }
        await served.kill();
        api.posted.length = 0;
        if (session === "forgotten") api.forgetSessions();
        api.say(ANN, "Are you there?");
        api.say(BEA, "And for me?");
        api.say(ANN, `${api.mention()} and here?`, { channel: THREAD });
        await served.begin();
        await until(() => ["101", "103", THREAD].every((place) => api.got(place).length > 0));
        await connected();
        api.say(ANN, "/status");
        await until(() => api.got("101").length > 1);
        assert.deepEqual([api.got("101").length, api.got("103"), api.got(THREAD)], [2, ["Aye."], ["Aye."]]);
        const isReported = /Not connected from 20.*Discord lists no direct chats/.test(await listed());
        assert.equal(isReported, session !== "continued");
      }
    },
  );

  longTest("does not show an answer twice that was posted again after a cut", async () => {
    api.losesAnswer = true;
    api.say(ANN, "Do you copy?");
    await until(() => api.posted.length === 2);
    api.connectAgain();
    await connected();
    api.say(ANN, "/status");
    await until(() => api.got("101").length === 2);
    const seen = JSON.stringify(api.posted.map(({ channel_id: id, texts }) => [id, texts]));
    assert.deepEqual(
      api.got("101").map((text) => text.split(" ")[0]),
      ["Aye.", "No"],
      seen,
    );
  });

  longTest("says which token or setting is wrong", async () => {
    const env = { ...setting.env, DC_TOKEN: "wrong" };
    const { stdout, stderr } = await finish({ ...setting, env }, ["channels", "test", "dc"]);
    assert.match(`${stdout}${stderr}`, /cannot log in at Discord: .*401/);
  });
});
