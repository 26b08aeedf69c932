/** Requests through the real gateway, captured and read back. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { captureNumbers, readCapture, readPart } from "../../../packages/gateway/src/capture/read-capture.ts";
import { createModelGateway } from "../../../packages/gateway/src/gateway.ts";
import type { Governor } from "../../../packages/gateway/src/governor/governor.ts";
import { directUpstream } from "../../../packages/gateway/src/upstream/direct.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { command } from "../../cli/fake-cli.ts";
import { Captures } from "./setting.ts";
import { until } from "../../runner/until.ts";

const KEY = "sk-harness-own-key";
const HOST_KEY = "sk-of-the-host-itself";
const ANSWER = `data: {"choices":[{"index":0,"delta":{"content":"your key is ${KEY}"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
const body = (older: string): string =>
  JSON.stringify({
    model: "m",
    stream: true,
    messages: [
      { role: "system", content: "rules" },
      { role: "user", content: older },
      { role: "assistant", content: "first" },
      { role: "user", content: "two" },
    ],
  });

interface Setting {
  captures: Captures;
  seen: string[];
  ask(body: string): Promise<string>;
}

async function setting(t: TestContext, governor: Partial<Governor>, answer = ANSWER): Promise<Setting> {
  const captures = new Captures();
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      seen.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { "content-type": "text/event-stream", "set-cookie": "a=b" });
      for (const piece of answer.match(/.{1,7}/gs) ?? []) response.write(piece);
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const upstream = directUpstream({ baseUrl, label: "model.example:443", secrets: [HOST_KEY] });
  const resolve = (): never => assert.fail("not asked");
  const gateway = createModelGateway({ logger: silentLogger, resolve, capture: captures.log });
  const route = await gateway.openRoute({
    api: "openai-completions",
    sessionKey: "main",
    runtime: "codex",
    governor: {
      main: async () => undefined,
      compaction: async () => undefined,
      upstream: () => upstream,
      sent: () => undefined,
      answered: () => undefined,
      ...governor,
    },
  });
  t.after(async () => {
    await route.close();
    await gateway.close();
    server.closeAllConnections();
    server.close();
    captures.remove();
  });
  const ask = async (text: string): Promise<string> => {
    const response = await fetch(`${route.baseUrl}/chat/completions?x=1`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${KEY}`,
        ...route.headers,
      },
      body: text,
    });
    return response.text();
  };
  return { captures, seen, ask };
}

/** The exchange ends a moment after its client has the answer. */
async function ended({ captures }: Setting, many: number) {
  const session = { home: captures.home, agentId: "main", sessionKey: "main" };
  const whole = () =>
    captureNumbers(session)
      .map((number) => readCapture(session, number))
      .filter((record) => record?.outcome !== undefined);
  await until(async () => {
    await captures.log.settled();
    return whole().length === many;
  }, `${many} requests did not end`);
  return { session, records: whole() };
}

test("a passed request is captured byte for byte, except the harness's key", async (t) => {
  const place = await setting(t, {});
  const hidden = (text: string): string => text.replaceAll(KEY, "*".repeat(KEY.length));
  const text = body(`my key is ${KEY}`);
  assert.equal(await place.ask(text), ANSWER);
  const { session, records } = await ended(place, 1);
  const [record] = records;
  assert.ok(record);
  assert.equal(place.seen[0], text, "the model is sent what the harness sent");
  assert.equal(readPart(session, record, "harness")?.bytes.toString(), hidden(text));
  assert.equal(readPart(session, record, "answer")?.bytes.toString(), hidden(ANSWER));
  assert.deepEqual(
    [record.sent[0]?.body, record.kind, record.path, record.model, record.outcome?.answeredBy],
    ["same", "main", "/chat/completions?x=1", "m", "upstream"],
  );
  assert.ok(!JSON.stringify(record).includes(KEY));
  assert.deepEqual(
    record.answer?.headers.find(([name]) => name === "set-cookie"),
    ["set-cookie", "[redacted]"],
  );
});

test("a replaced body is captured as sent, and shown as the engine's", async (t) => {
  const userMessage = (text: string) => ({
    role: "user" as const,
    content: [{ type: "text" as const, text }],
  });
  const place = await setting(t, {
    main: async () => ({
      context: { messages: [userMessage("SUMMARY"), userMessage("two")], historyCount: 1 },
      isOriginal: () => false,
    }),
  });
  await place.ask(body("one"));
  const { session, records } = await ended(place, 1);
  const [record] = records;
  assert.ok(record);
  assert.equal(readPart(session, record, "harness")?.bytes.toString(), body("one"));
  assert.equal(readPart(session, record, "sent")?.bytes.toString(), place.seen[0]);
  const env = { PAGURUS_HOME: place.captures.home };
  const { out } = await command(["context", "show", "--request", "1"], { env });
  assert.match(
    out,
    /messages\[0\] +system +\d+ B +kept +rules\nmessages\[1\] +user +\d+ B +engine +SUMMARY\n/,
  );
  const raw = await command(["requests", "show", "1", "--raw"], { env });
  assert.equal(raw.out, place.seen[0]);
});

test("a capture names the parts of an answer that its message does not have", async (t) => {
  const delta = { content: "la", audio: { data: "AAAA" } };
  const event = { choices: [{ index: 0, delta, finish_reason: "stop" }] };
  const place = await setting(t, {}, `data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`);
  await place.ask(body("one"));
  const [record] = (await ended(place, 1)).records;
  assert.deepEqual(record?.outcome?.degraded, ["audio"]);
});

test("a request that the gateway refuses is captured with the reason and its owner", async (t) => {
  const place = await setting(t, {
    main: () => Promise.reject(new PagurusError("live_turn_too_large", "The turn is too long; send less.")),
    owner: () => ({ sessionId: "s1", turnId: "t1" }),
  });
  const reply = await place.ask(body("one"));
  const { session, records } = await ended(place, 1);
  const [record] = records;
  assert.ok(record);
  assert.equal(readPart(session, record, "answer")?.bytes.toString(), reply);
  assert.deepEqual([record.answer?.status, record.sessionId, record.turnId], [400, "s1", "t1"]);
  assert.deepEqual(
    [record.outcome?.answeredBy, record.outcome?.error],
    ["gateway", "The turn is too long; send less."],
  );
});

test("the host's own key is in no capture, whichever side sends it", async (t) => {
  const place = await setting(t, {
    main: async () => ({
      context: {
        messages: [
          { role: "user", content: `the host has ${HOST_KEY}` },
          { role: "user", content: "two" },
        ],
        historyCount: 1,
      },
      isOriginal: () => false,
    }),
  });
  await place.ask(body("one"));
  const { session, records } = await ended(place, 1);
  const [record] = records;
  assert.ok(record);
  assert.ok(place.seen[0]?.includes(HOST_KEY), "the model is sent what the engine says");
  const sent = readPart(session, record, "sent")?.bytes.toString() ?? "";
  assert.ok(sent.includes(`the host has ${"*".repeat(HOST_KEY.length)}`), sent);
});
