/** Webhooks of `pagurus serve`: a signed request is a turn, and its answer is a signed request. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { signedHeaders, verifiedId } from "../../packages/channels/src/webhook/webhook-routes.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** Messages that may wait for their answers. */
const WAITING = 3;

describe("a webhook channel", () => {
  let model: ModelServer;
  let setting: Setting;
  let served: ServeProcess;
  const answers: { id: string; text: string }[] = [];
  let answered = Promise.withResolvers<void>();
  /** Until then the model does not answer. */
  let isFree = Promise.withResolvers<void>();
  const look: ReplyStep = { text: "I look." };
  let reply = look;
  const receiver = createServer((request, response) => {
    void take(request).then(() => response.writeHead(200).end());
  });

  async function take(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const id = verifiedId(SECRET, request.headers, body, Date.now()) ?? "not signed";
    answers.push({ id, text: (JSON.parse(body.toString()) as { text: string }).text });
    answered.resolve();
  }

  before(async () => {
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/answers`;
    const script = async () => {
      await isFree.promise;
      return reply;
    };
    isFree.resolve();
    model = await startServer({ protocol: "openai-completions", script });
    const ci = {
      kind: "webhook",
      secret: "${HOOK_SECRET}",
      url,
      allow: ["build", "flood"],
      waitingPerPerson: WAITING,
    };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { channels: { ci } }));
    setting.env["HOOK_SECRET"] = SECRET;
    served = await ServeProcess.start(setting);
  });
  after(async () => {
    await served.kill();
    receiver.closeAllConnections();
    receiver.close();
    await model.close();
    setting.remove();
  });

  async function post(id: string, message: object, secret = SECRET): Promise<number> {
    const body = JSON.stringify(message);
    const headers = signedHeaders(secret, id, body, Date.now());
    return (await fetch(`${served.url}/hooks/ci`, { method: "POST", headers, body })).status;
  }

  /** Waits until so many answers have arrived. */
  async function until(count: number): Promise<void> {
    while (answers.length < count) {
      await answered.promise;
      answered = Promise.withResolvers();
    }
  }

  it("runs one turn for an id, however often it arrives, and answers with a signature", async () => {
    const message = { from: "build", text: "The build is red." };
    assert.equal(await post("m-1", message, "another secret of many"), 401);
    for (let time = 0; time < 3; time += 1) assert.equal(await post("m-1", message), 202);
    await answered.promise;
    answered = Promise.withResolvers();
    assert.equal(await post("m-2", { from: "build", text: "/status" }), 202);
    await answered.promise;
    assert.deepEqual(
      answers.map(({ text }) => text),
      [
        "I look.",
        "No turn runs; 0 messages wait.\nThis channel is connected (receives at-least-once, sends at-least-once).",
      ],
    );
    assert.equal(model.requests.length, 1);
    assert.ok(answers.every(({ id }) => id !== "not signed"));
    const { stdout } = await finish(setting, ["channels", "logs", "ci"]);
    assert.match(stdout, / ci connected: receives at-least-once, sends at-least-once\n.* ci sent: /);
    assert.doesNotMatch(stdout, /look|red/);
  });

  it("ends the turn that runs at /stop, says so, and answers what is written afterwards", async () => {
    answers.length = 0;
    model.requests.length = 0;
    reply = { text: "Once upon a time there was a quay.", chunkSize: 6, hangAfterChunks: 4 };
    assert.equal(await post("s-1", { from: "build", text: "Tell a story." }), 202);
    while (model.requests.length === 0) await pause(20);
    reply = look;
    assert.equal(await post("s-2", { from: "build", text: "/stop" }), 202);
    await until(2);
    assert.ok(answers.some(({ text }) => text === "The turn ends."));
    assert.ok(answers.some(({ text }) => text.endsWith("Stopped.")));
    assert.equal(await post("s-3", { from: "build", text: "/stop" }), 202);
    await until(3);
    assert.equal(answers.at(-1)?.text, "No turn runs.");
    assert.equal(await post("s-4", { from: "build", text: "Go on." }), 202);
    await until(4);
    assert.equal(answers.at(-1)?.text, "I look.");
    assert.match(model.requests.at(-1)?.text ?? "", /Tell a story/);
  });

  it("accepts no more messages of one person than may wait, says so once, and answers each accepted one", async () => {
    answers.length = 0;
    model.requests.length = 0;
    answered = Promise.withResolvers();
    isFree = Promise.withResolvers();
    for (let at = 0; at < 20; at += 1)
      assert.equal(await post(`f-${at}`, { from: "flood", text: `flood ${at}` }), 202);
    await until(1);
    assert.match(answers[0]?.text ?? "", /^I did not take your last message: 3 messages of yours wait/);
    isFree.resolve();
    await until(1 + WAITING);
    // The queue is empty: the next message is accepted, and answered after all that came before it.
    assert.equal(await post("f-last", { from: "flood", text: "the last" }), 202);
    await until(2 + WAITING);
    assert.deepEqual(
      answers.slice(1).map(({ text }) => text),
      Array.from({ length: WAITING + 1 }, () => "I look."),
    );
    const asked = model.requests.map(({ text }) => text).join("\n");
    assert.match(asked, /flood 2/);
    assert.doesNotMatch(asked, /flood 3/);
    const { stdout } = await finish(setting, ["channels", "logs", "ci"]);
    assert.match(stdout, / ci refused: a message of flood was not accepted: 3 messages of this person wait/);
  });
});
