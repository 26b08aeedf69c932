/** Hooks on the model of a turn (`before_model_resolve`) and on its answer (`before_agent_finalize`). */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type {
  AnswerDecision,
  FinishedAnswer,
  ModelQuestion,
} from "../../packages/contract/src/host/hook-parts.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import type { ModelServer } from "../servers/server.ts";
import { Bench, eventsOf } from "./in-process.ts";
import { modelConfig } from "./setting.ts";

let bench: Bench | undefined;

/** Two models of the provider `test`, and one of `spare`. */
function models({ url }: ModelServer): Record<string, unknown> {
  const config = modelConfig("openai-completions", url) as {
    models: { providers: Record<string, { models: object[] }> };
  };
  const { test } = config.models.providers;
  assert.ok(test);
  test.models.push({ id: "other", contextWindow: 100_000, maxTokens: 4_000 });
  config.models.providers["spare"] = { ...test };
  return config;
}

describe("before_model_resolve", () => {
  afterEach(async () => bench?.end());
  const questions: ModelQuestion[] = [];

  async function hostOf(answers: readonly object[]) {
    bench = await Bench.with(() => ({ text: "Done." }));
    questions.length = 0;
    const plugin = (api: PluginApi): void => {
      for (const answer of answers)
        api.on("before_model_resolve", (question) => {
          questions.push(question);
          return answer;
        });
    };
    return {
      server: bench.server,
      host: await bench.host({ plugin, more: { config: models(bench.server) } }),
    };
  }

  it("chooses model and provider of a turn; the first answer for each counts", async () => {
    const wanted: [object[], string][] = [
      [[{}], "test/model"],
      [[{ modelOverride: "other" }], "test/other"],
      [[{ providerOverride: "spare" }], "spare/model"],
      [[{ modelOverride: "other" }, { modelOverride: "model", providerOverride: "spare" }], "spare/other"],
    ];
    for (const [answers, ref] of wanted) {
      const { host } = await hostOf(answers);
      const events = await bench?.ask(host, "Hello");
      const started = events?.find(({ type }) => type === "turn.started");
      assert.equal(started?.type === "turn.started" && started.model, ref);
      await bench?.end();
    }
    bench = undefined;
  });

  it("gets the prompt and the kinds of its attachments", async () => {
    const { host } = await hostOf([{}]);
    await bench?.ask(host, "Look", { parts: [{ type: "image", data: "aGk=", mimeType: "image/png" }] });
    assert.deepEqual(questions, [
      { prompt: "Look", attachments: [{ kind: "image", mimeType: "image/png" }] },
    ]);
  });

  it("is not asked where the caller names the model", async () => {
    const { host } = await hostOf([{ modelOverride: "other" }]);
    const events = await bench?.ask(host, "Hello", { model: "test/model" });
    assert.match(JSON.stringify(events), /"model":"test\/model"/);
    assert.deepEqual(questions, []);
  });

  it("refuses the turn for a model that is unknown, and names the hook", async () => {
    const { host, server } = await hostOf([{ providerOverride: "nowhere" }]);
    const last = (await eventsOf(host.run({ prompt: "Hello", cwd: bench?.root ?? "" }))).at(-1);
    assert.match(JSON.stringify(last), /A plugin chose the model nowhere\/model .*before_model_resolve/);
    assert.equal(server.requests.length, 0);
  });

  it("that throws is reported, and the configured model answers", async () => {
    bench = await Bench.with([{ text: "Done." }]);
    const plugin = (api: PluginApi): void =>
      api.on("before_model_resolve", () => {
        throw new Error("no route");
      });
    const events = await bench.ask(await bench.host({ plugin }), "Hello");
    assert.match(JSON.stringify(events.at(-1)), /hook before_model_resolve of plugin \w+: .*no route/);
  });
});

describe("before_agent_finalize", () => {
  afterEach(async () => bench?.end());
  const ends: FinishedAnswer[] = [];

  async function hostOf(decide: (end: FinishedAnswer) => AnswerDecision | undefined) {
    let answers = 0;
    bench = await Bench.with(() => ({ text: `Answer ${(answers += 1)}.` }));
    ends.length = 0;
    const plugin = (api: PluginApi): void =>
      api.on("before_agent_finalize", (end) => {
        ends.push(end);
        return decide(end);
      });
    return bench.host({ plugin });
  }

  /** Texts of the last request's messages. */
  function lastRequest(): string {
    return (
      bench
        ?.body(-1)
        .messages.map(({ role, text }) => `${role}: ${text}`)
        .join("\n") ?? ""
    );
  }

  it("gets the answer and the turn's messages, and changes nothing without an answer", async () => {
    const host = await hostOf(() => undefined);
    await bench?.ask(host, "Hello");
    assert.equal(bench?.server.requests.length, 1);
    const [end] = ends;
    assert.deepEqual(
      [end?.lastAssistantMessage, end?.stopHookActive, end?.provider, end?.model, end?.messages.length],
      ["Answer 1.", false, "test", "model", 2],
    );
  });

  it("asks for another answer with its reason, which no transcript records", async () => {
    const host = await hostOf(({ stopHookActive }) =>
      stopHookActive ? undefined : { action: "revise", reason: "Name the tests." },
    );
    await bench?.ask(host, "Hello");
    assert.equal(bench?.server.requests.length, 2);
    assert.match(lastRequest(), /assistant: Answer 1\.[\s\S]*user: [\s\S]*Name the tests\./);
    assert.deepEqual(
      ends.map(({ lastAssistantMessage }) => lastAssistantMessage),
      ["Answer 1.", "Answer 2."],
    );
    await bench?.ask(host, "And now?");
    assert.doesNotMatch(lastRequest(), /Name the tests\.[\s\S]*And now/);
    assert.match(lastRequest(), /Answer 2\.[\s\S]*And now\?/);
  });

  it("has one attempt for a retry, or as many as it names, by its key", async () => {
    const host = await hostOf(() => ({ action: "revise", retry: { instruction: "Once more." } }));
    await bench?.ask(host, "Hello");
    assert.equal(bench?.server.requests.length, 2);
    await bench?.end();
    let count = 0;
    const keyed = await hostOf(() => ({
      action: "revise",
      retry: { instruction: `Try ${(count += 1)}.`, idempotencyKey: "one", maxAttempts: 2 },
    }));
    await bench?.ask(keyed, "Hello");
    assert.equal(bench?.server.requests.length, 3);
  });

  it("revises at most three times a turn, and the fourth is reported", async () => {
    const host = await hostOf(({ messages }) => ({ action: "revise", reason: `After ${messages.length}.` }));
    const events = await bench?.ask(host, "Hello");
    assert.equal(bench?.server.requests.length, 4);
    assert.match(JSON.stringify(events?.at(-1)), /before_agent_finalize asked for a revision beyond the 3/);
  });

  it("ends the turn where one handler finalizes, whatever others ask", async () => {
    bench = await Bench.with(() => ({ text: "Done." }));
    const plugin = (api: PluginApi): void => {
      api.on("before_agent_finalize", () => ({ action: "revise", reason: "More." }));
      api.on("before_agent_finalize", () => ({ action: "finalize" }));
    };
    await bench.ask(await bench.host({ plugin }), "Hello");
    assert.equal(bench.server.requests.length, 1);
  });

  it("that throws is reported, and the turn ends with its answer", async () => {
    const host = await hostOf(() => {
      throw new Error("no verdict");
    });
    const events = await bench?.ask(host, "Hello");
    assert.match(JSON.stringify(events?.at(-1)), /hook before_agent_finalize of plugin \w+: .*no verdict/);
  });
});
