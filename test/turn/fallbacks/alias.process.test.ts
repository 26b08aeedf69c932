/** Aliases of models wherever a model is named: configuration, command line, chat. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ReplyScript } from "../../servers/server.ts";
import { finish, run } from "../setting.ts";
import { startChain, takeovers, type Chain } from "./fallback-setting.ts";

const ONE: ReplyScript = () => ({ text: "It is one." });
const TWO: ReplyScript = () => ({ text: "It is two." });

describe("an alias of a model", () => {
  let chain: Chain | undefined;

  afterEach(async () => {
    await chain?.close();
    chain = undefined;
  });

  it("names the model of an agent and its fallbacks, and an agent may have aliases of its own", async () => {
    chain = await startChain(
      { one: () => ({ status: 529 }), two: TWO, three: ONE },
      {
        defaults: {
          model: { primary: "main one", fallbacks: ["SPARE"] },
          models: { "one/model": { alias: "Main one" }, "two/model": { alias: "spare" } },
        },
        list: [
          { id: "work", model: "own", models: { "three/model": { alias: "own" } } },
          { id: "strict", model: "main one" },
        ],
      },
    );
    const main = await run(chain.setting, "What time is it?");
    assert.deepEqual(takeovers(main.events), ["one/model → two/model (overloaded)"]);
    const work = await run(chain.setting, "What time is it?", "--agent", "work");
    assert.ok(work.last?.type === "turn.completed" && work.last.model === "three/model");
    // An agent's own model replaces the defaults' with their fallbacks.
    const strict = await run(chain.setting, "What time is it?", "--agent", "strict");
    assert.ok(strict.last?.type === "turn.failed" && strict.last.error.code === "model_unavailable");
    const { stdout, code } = await finish(chain.setting, ["config", "validate"]);
    assert.equal(code, 0, stdout);
  });

  it("is taken by /model in a chat, which refuses a name that is none", async () => {
    chain = await startChain(
      { one: ONE, two: TWO },
      { defaults: { models: { "two/model": { alias: "spare" } } } },
    );
    const input = "/model spar\n/model Spare\nWhat time is it?\n";
    const { stdout } = await finish(chain.setting, ["chat"], input);
    assert.match(
      stdout,
      /"spar" is neither a model ref nor an alias; write provider\/model\. The model stays/,
    );
    assert.match(stdout, /next turns of this chat use Spare\./);
    assert.match(stdout, /It is two\./);
    assert.deepEqual(chain.counts(), { one: 0, two: 1 });
  });

  it("that two models have, and a fallback that is no model, are found by config validate", async () => {
    chain = await startChain(
      { one: ONE },
      {
        fallbacks: ["nowhere/model"],
        defaults: { models: { "one/model": { alias: "a" }, "one/other": { alias: "A" } } },
      },
    );
    const { stdout, stderr, code } = await finish(chain.setting, ["config", "validate"]);
    assert.equal(code, 0, stderr);
    const text = stdout + stderr;
    assert.match(
      text,
      /agents\.defaults\.models: the alias "a" names one\/model and one\/other; it means one\/model/,
    );
    assert.match(
      text,
      /agents\.defaults\.model\.fallbacks\[0\]: The model ref "nowhere\/model" names no known/,
    );
  });
});
