import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import { directUpstream } from "../../packages/gateway/src/upstream/direct.ts";
import { Bench, BODY, DONE, governed, TOO_LONG, user, wordsOf } from "./exchange-bench.ts";
import { turns } from "../runner/loop-turns.ts";
import { until } from "../runner/until.ts";

describe("a route of the gateway", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("replaces the older messages with the engine's context and passes the answer on unchanged", async () => {
    bench = new Bench();
    await bench.open({ main: async () => governed(user("SUMMARY"), user("two")) });
    const response = await bench.ask(BODY);
    assert.equal(response.headers.get("x-kept"), "yes");
    assert.match(await response.text(), /^data: .*\[DONE\]\n\n$/s);
    const [seen] = bench.seen;
    assert.ok(seen);
    assert.equal(seen.path, "/v1/chat/completions?x=1");
    assert.deepEqual(wordsOf(seen), ["rules", "SUMMARY", "two"]);
    assert.ok(
      seen.body.startsWith('{"model":"m","stream":true,"messages":[{"role":"system","content":"rules"},'),
    );
    assert.equal(seen.headers["authorization"], "Bearer own-key");
    assert.equal(seen.headers["x-pagurus-token"], undefined, "the token goes no further");
    assert.deepEqual(bench.calls, ["sent 0", "answered 0"]);
    assert.deepEqual(bench.facts, [{ request: 0, kind: "main", answeredBy: "upstream", isReplaced: true }]);
    const [answer] = bench.answers;
    assert.equal(answer?.isComplete, true);
    assert.deepEqual(answer?.message.content, [{ type: "text", text: "The berth is free." }]);
    assert.equal(answer?.usage?.input, 40);
  });

  it("passes a request that the governor leaves alone byte for byte", async () => {
    bench = new Bench();
    await bench.open({});
    const odd = BODY.replace('"messages":', ' "messages" :\n');
    await (await bench.ask(odd)).text();
    assert.equal(bench.seen[0]?.body, odd);
    assert.deepEqual(
      bench.facts.map(({ isReplaced }) => isReplaced),
      [false],
    );
  });

  it("passes a request that it cannot read, without calling the governor", async () => {
    bench = new Bench();
    await bench.open({ main: () => assert.fail("asked") });
    for (const body of ["", "no json", BODY.slice(0, -3), '{"messages":1}', "[]"])
      await (await bench.ask(body)).text();
    assert.deepEqual(
      bench.seen.map(({ body }) => body),
      ["", "no json", BODY.slice(0, -3), '{"messages":1}', "[]"],
    );
    assert.deepEqual(bench.calls, []);
  });

  it("has the engine make the context smaller when the provider refuses it, and the harness never learns of it", async () => {
    bench = new Bench();
    const asked: (string | undefined)[] = [];
    const main: Governor["main"] = async (_request, { overflow }) => {
      asked.push(overflow?.message);
      return governed(user(overflow ? "SHORT" : "SUMMARY"), user("two"));
    };
    await bench.open({ main }, TOO_LONG, DONE);
    const response = await bench.ask(BODY);
    assert.equal(response.status, 200);
    await response.text();
    assert.deepEqual(bench.seen.map(wordsOf), [
      ["rules", "SUMMARY", "two"],
      ["rules", "SHORT", "two"],
    ]);
    assert.equal(asked.length, 2);
    assert.match(asked[1] ?? "", /maximum context length/);
  });

  it("passes any other refusal on, and a second one of the context too", async () => {
    bench = new Bench();
    await bench.open({ main: async () => governed(user("SUMMARY"), user("two")) }, TOO_LONG, TOO_LONG);
    const response = await bench.ask(BODY);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /context_length_exceeded/);
    assert.equal(bench.seen.length, 2);
    assert.equal(bench.answers.at(-1)?.error?.overflow, true);
  });

  it("answers in the dialect when the engine refuses the turn", async () => {
    bench = new Bench();
    await bench.open({
      main: () =>
        Promise.reject(
          new PagurusError("live_turn_too_large", "The current turn alone is too long; send less."),
        ),
    });
    const response = await bench.ask(BODY);
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { message: string; code: string } };
    assert.match(error.message, /send less/);
    assert.equal(error.code, "context_length_exceeded");
    assert.equal(bench.seen.length, 0);
  });

  it("decides on a request only when the answer before it is recorded", async () => {
    bench = new Bench();
    const order: string[] = [];
    await bench.open({
      main: async (_request, { request }) => {
        order.push(`main ${request}`);
        return undefined;
      },
      answered: async (_request, _answer, { request }) => {
        await turns();
        order.push(`recorded ${request}`);
      },
    });
    await Promise.all([
      bench.ask(BODY).then((first) => first.text()),
      bench.ask(BODY).then((next) => next.text()),
    ]);
    // The harness has the last answer before it is recorded.
    await until(() => order.length === 4);
    assert.deepEqual(order, ["main 0", "recorded 0", "main 1", "recorded 1"]);
  });

  it("reports a disconnected harness and an unreachable upstream to the governor", async () => {
    bench = new Bench();
    const leave = new AbortController();
    await bench.open({}, (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n');
      void turns().then(() => leave.abort());
    });
    await assert.rejects(bench.ask(BODY, { signal: leave.signal }).then((response) => response.text()));
    await until(() => bench.answers.length > 0);
    assert.deepEqual(bench.calls, ["sent 0", "answered 0 aborted"]);
    assert.deepEqual(bench.answers[0]?.message.content, [{ type: "text", text: "Half" }]);
    assert.equal(bench.answers[0]?.isComplete, false);
    await bench.end();

    bench = new Bench();
    const dead = directUpstream({ baseUrl: "http://127.0.0.1:9/v1", label: "dead" });
    await bench.open({ upstream: () => dead });
    const response = await bench.ask(BODY);
    assert.equal(response.status, 502);
    assert.match(await response.text(), /127\.0\.0\.1:9/);
    assert.deepEqual(bench.calls, ["sent 0", "answered 0"]);
  });

  it("refuses requests without a token of an open route", async () => {
    bench = new Bench();
    await bench.open({});
    const refused = await bench.ask(BODY, { headers: { "x-pagurus-token": "wrong", authorization: "" } });
    assert.equal(refused.status, 401);
    assert.equal(bench.seen.length, 0);
  });
});
