/** Bodies of the greatest length, number of items, messages and images that each door takes, and above: others are served meanwhile. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { everyNth, FULL } from "../runner/short-form.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { addHealth, probeHealth, send, type Health, type HealthProbe } from "./fuzz-clients.ts";
import { longInputs, SEVERAL } from "./long-inputs.ts";
import { MeasuredServer, type Figures } from "./measured-server.ts";
import { sendLong } from "./send-long.ts";

const MB = 2 ** 20;
/** Of an answer of `/health` without waiting for a processor, in the full form, ms. */
const HEALTH_MS = 250;
/** CPU time of one turn of the event loop, in the full form, ms. */
const MOST_MS = 100;
/** Bytes on which one turn of the event loop works: the three or four steps that one value of the most bytes needs. */
const MOST_AT_ONCE = 40 * MB;
const MOST_IMAGES = 8 * MB - 100;
const MOST_MESSAGES = 5_000;

interface LongBody {
  name: string;
  path: string;
  body: object | string;
  statuses: readonly number[];
}

const TURNS = "/api/v1/sessions/main/turns";
const CHAT = "/v1/chat/completions";
const OK: readonly number[] = [200, 202];

function image(length: number): object {
  return { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(length)}` } };
}

const user = (content: unknown): object => ({ role: "user", content });
const chat = (messages: readonly object[], more: object = {}): object => ({
  model: "test/model",
  messages,
  ...more,
});

function messages(count: number): object[] {
  return Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: "a",
  }));
}

function members(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]));
}

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const zeros = (count: number): string => "0,".repeat(count);
const acp = (method: string, params: object): object => ({ jsonrpc: "2.0", id: 1, method, params });

const BODIES: readonly LongBody[] = [
  {
    name: "a prompt of 31 MB",
    path: TURNS,
    body: { prompt: "lorem ipsum\n".repeat((30 * MB) / 13) },
    statuses: [413],
  },
  {
    name: "an image of the most bytes",
    path: TURNS,
    body: {
      prompt: "Look.",
      parts: [{ type: "image", data: "A".repeat(MOST_IMAGES), mimeType: "image/png" }],
    },
    statuses: OK,
  },
  {
    name: "an image of 28 MB",
    path: TURNS,
    body: { prompt: "Look.", parts: [{ type: "image", data: "A".repeat(28 * MB), mimeType: "image/png" }] },
    statuses: [400],
  },
  { name: "15 million items", path: TURNS, body: `{"prompt":[${zeros(15 * 10 ** 6)}0]}`, statuses: [413] },
  { name: "a million levels", path: TURNS, body: `{"prompt":${nested(10 ** 6)}}`, statuses: [413] },
  { name: "a text of 31 MB", path: CHAT, body: chat([user("a ".repeat(15 * MB))]), statuses: [400] },
  { name: "an image of the most bytes", path: CHAT, body: chat([user([image(MOST_IMAGES)])]), statuses: OK },
  {
    name: "images in three messages",
    path: CHAT,
    body: chat([1, 2, 3].map(() => user([image(MOST_IMAGES)]))),
    statuses: OK,
  },
  { name: "an image of 28 MB", path: CHAT, body: chat([user([image(28 * MB)])]), statuses: [413] },
  { name: "the most messages", path: CHAT, body: chat(messages(MOST_MESSAGES - 1)), statuses: OK },
  {
    name: "the most messages",
    path: "/v1/messages",
    body: { model: "test/model", max_tokens: 9, messages: messages(MOST_MESSAGES - 3) },
    statuses: OK,
  },
  {
    name: "the most messages",
    path: "/v1/responses",
    body: { model: "test/model", input: messages(MOST_MESSAGES - 5) },
    statuses: OK,
  },
  { name: "16,000 messages", path: CHAT, body: chat(messages(16_000)), statuses: [400] },
  {
    name: "2,000 members",
    path: CHAT,
    body: chat([user("b")], { metadata: members(2_000) }),
    statuses: OK,
  },
  {
    name: "2,001 members",
    path: CHAT,
    body: chat([user("b")], { metadata: members(2_001) }),
    statuses: [413],
  },
  { name: "15 million items", path: CHAT, body: `{"messages":[${zeros(15 * 10 ** 6)}0]}`, statuses: [413] },
  { name: "a million levels", path: CHAT, body: `{"messages":${nested(10 ** 6)}}`, statuses: [413] },
  {
    name: "a message of 7 MB",
    path: "/acp",
    body: acp("initialize", { a: "lorem\n".repeat(MB) }),
    statuses: [200, 400],
  },
  {
    name: "a message of 31 MB",
    path: "/acp",
    body: acp("initialize", { a: "a".repeat(31 * MB) }),
    statuses: [413],
  },
  { name: "7,800 items", path: "/acp", body: acp("x/y", { a: Array(3_900).fill({}) }), statuses: [400] },
  { name: "8,200 items", path: "/acp", body: acp("x/y", { a: Array(4_100).fill({}) }), statuses: [413] },
  { name: "a million items", path: "/acp", body: `[${zeros(10 ** 6)}0]`, statuses: [413] },
];

describe("a body of the greatest length", () => {
  let model: ModelServer;
  let setting: Setting;
  let measured: MeasuredServer;
  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    measured = await MeasuredServer.start(setting);
    for (const path of [CHAT, "/v1/messages"]) await post(path, { ...chat([user("a")]), max_tokens: 9 });
    await post("/v1/responses", { model: "test/model", input: "a" });
    const { body } = await measured.process.call("POST", TURNS, { prompt: "Hello." });
    await measured.process.ended(String(body["id"]));
    await measured.figures();
  });
  after(async () => {
    await measured.process.kill();
    await model.close();
    setting.remove();
  });

  async function post(path: string, body: object | string): Promise<number> {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return await send(measured.process, { how: "http", method: "POST", path, headers, body: text });
  }

  /** The server's figures, while nothing is asked: they are made in its main thread. */
  async function figures(probe: HealthProbe, health: Health): Promise<Figures> {
    addHealth(health, await probe.pause());
    const made = await measured.figures();
    probe.resume();
    return made;
  }

  it("has its answer, and each question to /health meanwhile its own", async (test) => {
    const probe = await probeHealth(measured.process, test.signal);
    const health = { longestMs: 0, ownMs: 0, asked: 0, failed: 0 };
    for (const { name, path, body, statuses } of BODIES) {
      const status = await post(path, body);
      assert.ok(statuses.includes(status), `${path}, ${name}: ${status}`);
      if (!FULL) continue;
      const { longestMs } = await figures(probe, health);
      const shown = `${longestMs.toFixed(0)} ms of CPU, resident ${measured.residentMb().toFixed(0)} MB`;
      test.diagnostic(`${path}, ${name}: ${status}; longest work ${shown}`);
    }
    addHealth(health, await probe.pause());
    const { longestMs, ownMs, asked, failed } = health;
    await probe.end();
    assert.ok(asked > 0);
    assert.equal(failed, 0);
    const shown = `${longestMs.toFixed(0)} ms at most, ${ownMs.toFixed(0)} without waiting for a processor`;
    test.diagnostic(`/health: ${shown}, asked ${asked} times`);
    if (FULL) assert.ok(ownMs < HEALTH_MS, `/health answered within ${ownMs} ms`);
  });

  it("is worked on in short steps, whatever is long in it", async (test) => {
    const probe = await probeHealth(measured.process, test.signal);
    const health = { longestMs: 0, ownMs: 0, asked: 0, failed: 0 };
    await figures(probe, health);
    const problems: string[] = [];
    for (const [at, input] of [...SEVERAL, ...everyNth(longInputs(), 60)].entries()) {
      const status = await sendLong(measured.process, setting, input, at);
      assert.ok(status < 500, `${input.name}: ${status}`);
      const { work, longestMs } = await figures(probe, health);
      const shown = `${input.name}: ${status}; ${(work.bytes / MB).toFixed(0)} MB and ${longestMs.toFixed(0)} ms of CPU at once`;
      if (FULL) test.diagnostic(shown);
      if (work.bytes > MOST_AT_ONCE || (FULL && longestMs >= MOST_MS))
        problems.push([shown, ...work.sites].join("\n"));
    }
    addHealth(health, await probe.pause());
    const { ownMs, failed } = health;
    await probe.end();
    assert.deepEqual(problems, []);
    assert.equal(failed, 0);
    if (FULL) assert.ok(ownMs < HEALTH_MS, `/health answered within ${ownMs} ms`);
  });
});
