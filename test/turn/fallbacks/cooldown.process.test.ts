/** Cooldowns of failed models over turns and processes, and what reports them. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { StatusReport } from "../../../packages/contract/src/host/status.ts";
import type { ReplyScript } from "../../servers/server.ts";
import { finish, run, start, type Finished } from "../setting.ts";
import {
  cooldowns,
  endCooldowns,
  startChain,
  takeovers,
  type Chain,
  type ChainOptions,
  type ChainScript,
} from "./fallback-setting.ts";
import { longTest } from "../../runner/long-tests.ts";

const ANSWER: ReplyScript = () => ({ text: "It is noon." });
const OVERLOADED: ReplyScript = () => ({ status: 529 });

describe("a model that failed", () => {
  let chain: Chain | undefined;

  afterEach(async () => {
    await chain?.close();
    chain = undefined;
  });

  async function played(script: ChainScript, options?: ChainOptions): Promise<Chain> {
    chain = await startChain(script, options);
    return chain;
  }

  async function status({ setting }: Chain): Promise<{ report: StatusReport; text: string }> {
    const json = await finish(setting, ["status", "--json"]);
    const text = await finish(setting, ["status"]);
    return { report: JSON.parse(json.stdout) as StatusReport, text: text.stdout };
  }

  /** A turn in a process of its own. */
  function turn(chain: Chain, ...args: string[]): Promise<Finished> {
    return start(chain.setting, ["run", "--json", ...args, "What time is it?"]).finished;
  }

  longTest(
    "is not called by later processes while it cools, and is called again and cleared afterwards",
    async () => {
      let fails = true;
      const chain = await played({
        one: () => (fails ? { status: 529 } : { text: "It is one." }),
        two: ANSWER,
      });
      const first = await turn(chain);
      assert.deepEqual(takeovers(first.events), ["one/model → two/model (overloaded)"]);
      const calls = chain.counts()["one"];

      const second = await turn(chain);
      assert.equal(second.code, 0, second.stderr);
      assert.deepEqual(takeovers(second.events), ["one/model → two/model (cooldown)"]);
      assert.deepEqual(chain.counts(), { one: calls, two: 2 });

      endCooldowns(chain);
      fails = false;
      const third = await turn(chain);
      assert.deepEqual(takeovers(third.events), []);
      assert.ok(third.last?.type === "turn.completed" && third.last.model === "one/model");
      assert.deepEqual(cooldowns(chain), {});
    },
  );

  it("cools for longer after each failure in a row", async () => {
    const chain = await played({ one: OVERLOADED, two: ANSWER });
    const minutes: number[] = [];
    for (let round = 0; round < 5; round++) {
      await run(chain.setting, "What time is it?");
      const { until = 0, failedAt = 0 } = cooldowns(chain)["one/model"] ?? {};
      minutes.push((until - failedAt) / 60_000);
      endCooldowns(chain);
    }
    assert.deepEqual(minutes, [1, 5, 25, 60, 60]);
  });

  it("is called all the same where every model cools, which a notice says, and the error names the others", async () => {
    const chain = await played({ one: OVERLOADED, two: OVERLOADED, three: "down" });
    const first = await run(chain.setting, "What time is it?");
    assert.ok(first.last?.type === "turn.failed" && first.last.error.code === "model_unavailable");
    assert.match(
      first.last.error.message,
      /two\/model failed \[overloaded\], three\/model failed \[unreachable\]/,
    );
    const calls = chain.counts();

    const second = await run(chain.setting, "What time is it?");
    assert.deepEqual(takeovers(second.events), []);
    const notice = second.events.find((event) => event.type === "notice" && event.kind === "model_cooling");
    assert.ok(notice?.type === "notice" && /one\/model is cooling down until/.test(notice.detail));
    assert.equal(chain.counts()["two"], calls["two"]);
    assert.ok((chain.counts()["one"] ?? 0) > (calls["one"] ?? 0));
    assert.ok(second.last?.type === "turn.failed");
    assert.match(second.last.error.message, /two\/model is cooling down after a failure/);
    assert.equal(cooldowns(chain)["one/model"]?.failures, 1);
  });

  it("takes its provider's other models with it only where the provider failed", async () => {
    for (const [code, answers] of [
      [401, "three/model"],
      [529, "one/other"],
    ] as const) {
      const chain = await played(
        {
          one: ({ body }) => (body["model"] === "model" ? { status: code } : { text: "It is one." }),
          three: ANSWER,
        },
        { fallbacks: ["one/other", "three/model"] },
      );
      const { last } = await run(chain.setting, "What time is it?");
      assert.ok(last?.type === "turn.completed" && last.model === answers, JSON.stringify(last));
      await chain.close();
    }
    chain = undefined;
  });

  it("is shown by status with the time left, beside the fallbacks and what took over", async () => {
    const chain = await played(
      { one: OVERLOADED, two: ANSWER },
      { fallbacks: ["Second"], defaults: { models: { "two/model": { alias: "second" } } } },
    );
    await run(chain.setting, "What time is it?");
    const { report, text } = await status(chain);
    const { fallbacks } = report;
    assert.deepEqual(fallbacks?.models, ["two/model"]);
    assert.equal(fallbacks?.applied, true);
    assert.deepEqual(
      fallbacks?.cooldowns.map(({ target, reason, failures }) => [target, reason, failures]),
      [["one/model", "overloaded", 1]],
    );
    assert.deepEqual(
      fallbacks?.recent.map(({ from, to, reason }) => [from, to, reason]),
      [["one/model", "two/model", "overloaded"]],
    );
    assert.match(text, /^Fallbacks: +two\/model$/m);
    assert.match(text, /^Cooling: +one\/model: overloaded, until .*\(.+ left, after 1 failure\)$/m);
    assert.match(text, /^Took over: .*one\/model → two\/model \(overloaded; one\/model cools down until /m);
    assert.doesNotMatch(text, /^Degraded/m);
  });

  it("leaves other turns unharmed where the file of the cooldowns is damaged or cannot be written", async () => {
    const chain = await played({ one: OVERLOADED, two: ANSWER });
    await run(chain.setting, "What time is it?");
    writeFileSync(join(chain.setting.home, "cooldowns", "models.json"), '{"cooldowns": {"one/model": 3, ');
    const { code, events } = await run(chain.setting, "What time is it?");
    assert.equal(code, 0);
    assert.deepEqual(takeovers(events), ["one/model → two/model (overloaded)"]);
    assert.equal(cooldowns(chain)["one/model"]?.failures, 1);
  });

  it("is not noted where no fallbacks are configured", async () => {
    const chain = await played({ one: OVERLOADED }, { fallbacks: [] });
    const { last } = await run(chain.setting, "What time is it?");
    assert.ok(last?.type === "turn.failed");
    assert.throws(() => cooldowns(chain), { code: "ENOENT" });
    assert.equal((await status(chain)).report.fallbacks, undefined);
  });

  it("reports its takeover in plain output and in the transcript", async () => {
    const chain = await played({ one: OVERLOADED, two: ANSWER });
    const { stdout, stderr } = await finish(chain.setting, ["run", "What time is it?"]);
    assert.equal(stdout, "It is noon.\n");
    assert.match(stderr, /fallback: one\/model → two\/model \(overloaded; one\/model cools down until /);
    const shown = await finish(chain.setting, ["sessions", "show", "--json"]);
    assert.match(shown.stdout, /pagurus\.model_fallback/);
  });
});
