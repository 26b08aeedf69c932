import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  choiceFor,
  isSameModel,
  modelsReported,
  RanModel,
  readModel,
  type SessionModel,
} from "../../../packages/runtimes/src/acp/acp-model.ts";

function option(currentValue: string, options: object[]): SessionModel {
  const read = readModel({
    configOptions: [{ id: "model", category: "model", type: "select", currentValue, options }],
  });
  assert.ok(read);
  return read;
}

const QWEN = option("$runtime|openai|m1(openai)", [{ value: "$runtime|openai|m1(openai)", name: "m1" }]);
const CLAUDE = option("default", [
  { value: "default", name: "Default (recommended)" },
  { value: "opus", name: "Opus 5.5" },
]);
const PI = option("mine/m1", [{ group: "mine", options: [{ value: "mine/m1", name: "mine/m1" }] }]);

describe("the model of a native session", () => {
  it("is found in the agent's list by value, name, or without its provider", () => {
    assert.equal(choiceFor("m1", QWEN), "$runtime|openai|m1(openai)");
    assert.equal(choiceFor("m1", PI), "mine/m1");
    assert.equal(choiceFor("opus", CLAUDE), "opus");
    assert.equal(choiceFor("claude-opus-5-5", CLAUDE), undefined);
  });

  it("is the same with a provider, an effort, a date or another case", () => {
    for (const other of ["anthropic/claude-opus-5-5", "claude-opus-5-5[1m]", "Claude-Opus-5-5-20260101"])
      assert.ok(isSameModel("claude-opus-5-5", other), other);
    assert.ok(!isSameModel("claude-opus-5-5", "claude-opus-5"));
  });

  it("is read from Gemini's list, and nothing from an agent without one", () => {
    const models = { availableModels: [{ modelId: "auto" }], currentModelId: "auto" };
    const read = readModel({ models });
    assert.equal(read?.current, "auto");
    assert.equal(read?.setting?.method, "session/set_model");
    assert.equal(readModel({ configOptions: [{ id: "mode", category: "mode", type: "select" }] }), undefined);
  });
});

describe("the model that ran", () => {
  const turn = { provider: "anthropic", id: "claude-sonnet-5" };
  const ran = (
    asked: string,
    isNamed: boolean,
    session?: SessionModel,
    reported: string[] = [],
  ): RanModel => {
    const made = new RanModel({ id: asked, isNamed }, turn);
    made.session = session;
    made.report(reported);
    return made;
  };
  const seen = ({ id, isOther, recorded }: RanModel): unknown[] => [
    id,
    isOther,
    recorded.provider,
    recorded.model,
  ];

  it("is the one of the requests, whatever the session is set to", () => {
    const set = { ...CLAUDE, current: "opus", setFor: "claude-sonnet-5" };
    assert.deepEqual(seen(ran("claude-sonnet-5", true, set, ["claude-opus-5-5"])), [
      "claude-opus-5-5",
      true,
      "anthropic",
      "claude-opus-5-5",
    ]);
    assert.deepEqual(seen(ran("claude-sonnet-5", true, set, ["haiku", "claude-sonnet-5-20260101"])), [
      "claude-sonnet-5",
      false,
      "anthropic",
      "claude-sonnet-5",
    ]);
  });

  it("is the session's, with its own provider", () => {
    assert.deepEqual(seen(ran("claude-sonnet-5", false, PI)), ["mine/m1", true, "mine", "m1"]);
    assert.deepEqual(seen(ran("claude-sonnet-5", false, QWEN)), ["m1", true, "anthropic", "m1"]);
  });

  it("is the asked one when the environment names it, and unknown when nothing does", () => {
    assert.deepEqual(seen(ran("claude-sonnet-5", true)), [
      "claude-sonnet-5",
      false,
      "anthropic",
      "claude-sonnet-5",
    ]);
    assert.deepEqual(seen(ran("claude-sonnet-5", false)), [undefined, true, "anthropic", "claude-sonnet-5"]);
  });

  it("of an alias in the user's settings is no other one, and is recorded by its name", () => {
    const set = { ...CLAUDE, current: "opus" };
    assert.deepEqual(seen(ran("opus", false, set)), ["opus", false, "anthropic", "opus"]);
    assert.deepEqual(seen(ran("opus", false, set, ["claude-opus-5-5"])), [
      "claude-opus-5-5",
      false,
      "anthropic",
      "claude-opus-5-5",
    ]);
  });

  it("is reported with the usage, the one with most tokens first", () => {
    const used = (model: string, totalTokens: number): object => ({ model, token_count: { totalTokens } });
    const quota = { model_usage: [used("haiku", 5), used("opus", 50)] };
    assert.deepEqual(modelsReported({ _meta: { quota } }), ["opus", "haiku"]);
    assert.deepEqual(modelsReported({ _meta: { "_claude/model": "opus" } }), ["opus"]);
    assert.deepEqual(modelsReported({ stopReason: "end_turn" }), []);
  });
});
