/** Which failures of a model another one takes over from, at the command line and the models' endpoints. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { contextOverflowReply, type ReplyScript } from "../../servers/server.ts";
import { finish, run } from "../setting.ts";
import { cooldowns, startChain, takeovers, type Chain, type ChainScript } from "./fallback-setting.ts";

const ANSWER: ReplyScript = () => ({ text: "It is noon." });
const LONG = "The harbour wall was built in 1871 and rebuilt twice since. ".repeat(20);

/** A failure, its reason, and the target of the cooldown. */
const FAILURES: [what: string, script: ReplyScript | "down", reason: string, target: string][] = [
  ["a rate limit", () => ({ status: 429, headers: { "retry-after": "60" } }), "rate_limit", "one/model"],
  ["an overload", () => ({ status: 529 }), "overloaded", "one/model"],
  ["a server error", () => ({ status: 500 }), "server_error", "one/model"],
  ["refused credentials", () => ({ status: 401 }), "auth", "one"],
  ["an unpaid account", () => ({ status: 402 }), "billing", "one"],
  [
    "a used up balance",
    () => ({
      status: 400,
      errorBody: {
        type: "error",
        error: { type: "invalid_request_error", message: "Your credit balance is too low." },
      },
    }),
    "billing",
    "one",
  ],
  [
    "an unknown model",
    () => ({
      status: 404,
      errorBody: { type: "error", error: { type: "not_found_error", message: "model: model" } },
    }),
    "model_not_found",
    "one/model",
  ],
  ["a closed port", "down", "unreachable", "one"],
  [
    "a stream that is cut before its first text",
    () => ({ text: LONG, cutAfterChunks: 1 }),
    "stream_cut",
    "one/model",
  ],
];

describe("a fallback model", () => {
  let chain: Chain | undefined;

  afterEach(async () => {
    await chain?.close();
    chain = undefined;
  });

  async function played(script: ChainScript): Promise<Chain> {
    chain = await startChain(script);
    return chain;
  }

  for (const [what, script, reason, target] of FAILURES)
    it(`takes over after ${what}, is reported, and lets the failed one cool down`, async () => {
      const chain = await played({ one: script, two: ANSWER });
      const { code, last, events, stderr } = await run(chain.setting, "What time is it?");
      assert.equal(code, 0, stderr);
      assert.deepEqual(takeovers(events), [`one/model → two/model (${reason})`]);
      assert.ok(last?.type === "turn.completed" && last.model === "two/model");
      assert.deepEqual(
        last.fallbacks?.map(({ to }) => to),
        ["two/model"],
      );
      assert.equal(chain.counts()["two"], 1);
      assert.deepEqual(Object.keys(cooldowns(chain)), [target]);
    });

  it("is called without a wait where the provider asks for a longer one than the retries may last", async () => {
    chain = await startChain(
      { one: () => ({ status: 429, headers: { "retry-after": "40" } }), two: ANSWER },
      { defaults: { retry: {} } },
    );
    const { code, events } = await run(chain.setting, "What time is it?");
    assert.equal(code, 0);
    assert.deepEqual(chain.counts(), { one: 1, two: 1 });
    assert.ok(events.every(({ type }) => type !== "model.retry"));
    const { until = 0, failedAt = 0 } = cooldowns(chain)["one/model"] ?? {};
    assert.equal(until - failedAt, 40_000);
  });

  it("never takes over once text was shown, also not after the retries", async () => {
    const chain = await played({ one: () => ({ text: LONG, cutAfterChunks: 8 }), two: ANSWER });
    const { code, last, events } = await run(chain.setting, "What time is it?");
    assert.notEqual(code, 0);
    assert.ok(last?.type === "turn.failed" && last.error.code === "model_stream_cut");
    assert.deepEqual(takeovers(events), []);
    assert.equal(chain.counts()["two"], 0);
    assert.equal(cooldowns(chain)["one/model"]?.reason, "stream_cut");
  });

  it("does not take over from an invalid request or a context that is too long", async () => {
    for (const step of [{ status: 400 }, contextOverflowReply("anthropic-messages")]) {
      const chain = await played({ one: () => step, two: ANSWER });
      const { last, events } = await run(chain.setting, "What time is it?");
      assert.equal(last?.type, "turn.failed");
      assert.deepEqual(takeovers(events), []);
      assert.equal(chain.counts()["two"], 0);
      await chain.close();
    }
    chain = undefined;
  });

  it("takes over inside a turn, sees the tool results, and finishes the turn", async () => {
    const call = { id: "call_1", name: "shell", arguments: { command: "echo low tide" } };
    const chain = await played({
      one: (_request, index) => (index === 0 ? { toolCalls: [call] } : { status: 529 }),
      two: (_request, index) =>
        index === 0
          ? { text: "Once more.", toolCalls: [{ ...call, id: "call_2" }] }
          : { text: "The tide is low." },
    });
    const { code, events, stderr, last } = await run(chain.setting, "How is the tide?");
    assert.equal(code, 0, stderr);
    assert.deepEqual(takeovers(events), ["one/model → two/model (overloaded)"]);
    assert.match(chain.server("two").requests[0]?.text ?? "", /low tide/);
    assert.equal(chain.counts()["two"], 2);
    assert.ok(last?.type === "turn.completed");
    const shown = await finish(chain.setting, ["context", "show", "--json"]);
    const receipts = JSON.parse(shown.stdout) as { model: string; fallback?: unknown }[];
    const sent = receipts.map(({ model, fallback }) => [model, fallback]);
    const took = { from: "one/model", reason: "overloaded" };
    assert.deepEqual(sent.slice(-2), [
      ["two/model", took],
      ["two/model", took],
    ]);
    assert.deepEqual(sent[0], ["one/model", undefined]);
    const text = await finish(chain.setting, ["context", "show"]);
    assert.match(text.stdout, /fallback for one\/model \(overloaded\)/);
  });

  it("is skipped where it cannot be used, and the error says what was tried when none is left", async () => {
    chain = await startChain(
      { one: () => ({ status: 500 }), two: () => ({ status: 401 }), three: ANSWER },
      {
        fallbacks: ["nowhere/model", "two/model", "three/model"],
        defaults: { models: { "three/model": { agentRuntime: { id: "codex" } } } },
      },
    );
    const { last, events } = await run(chain.setting, "What time is it?");
    assert.deepEqual(takeovers(events), [
      "one/model → two/model (server_error; nowhere/model model_unknown)",
    ]);
    assert.ok(last?.type === "turn.failed" && last.error.code === "model_unavailable");
    assert.match(
      last.error.message,
      /one.*; no fallback could take over: .*two\/model failed \[auth\].*three\/model /,
    );
    assert.equal(chain.counts()["three"], 0);
  });

  it("takes over in a subagent of a turn with the configured model, too", async () => {
    const isChild = (text: string): boolean => text.includes("Count the boats") && !text.includes("Delegate");
    const spawn = { id: "call_1", name: "spawn_agent", arguments: { task: "Count the boats" } };
    const chain = await played({
      one: ({ text }, index) => {
        if (isChild(text)) return { status: 529 };
        return index === 0 ? { toolCalls: [spawn] } : { text: "Three boats." };
      },
      two: () => ({ text: "There are three." }),
    });
    const { code, last, stderr } = await run(chain.setting, "Delegate: how many boats are there?");
    assert.equal(code, 0, stderr);
    assert.ok(last?.type === "turn.completed" && last.model === "one/model");
    assert.ok(isChild(chain.server("two").requests[0]?.text ?? ""));
  });

  it("does not take over from a model that the caller names, by ref or alias", async () => {
    chain = await startChain(
      { one: () => ({ status: 500 }), two: () => ({ status: 500 }), three: ANSWER },
      { defaults: { models: { "two/model": { alias: "Second" }, "three/model": { alias: "last" } } } },
    );
    const failed = await run(chain.setting, "What time is it?", "--model", "second");
    assert.ok(failed.last?.type === "turn.failed");
    assert.match(failed.last.error.message, /provider "two"/);
    assert.deepEqual(chain.counts()["three"], 0);
    const answered = await run(chain.setting, "What time is it?", "--model", "last");
    assert.ok(answered.last?.type === "turn.completed" && answered.last.model === "three/model");
    assert.deepEqual(takeovers(answered.events), []);
  });
});
