/** Fallback models with other windows, and the server's view of a takeover. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Receipt } from "../../../packages/contract/src/session/receipt.ts";
import type { ReplyScript } from "../../servers/server.ts";
import { ServeProcess, type StreamedEvent } from "../../server/serve-setting.ts";
import { finish, run } from "../setting.ts";
import { startChain, takeovers, type Chain, type ChainOptions } from "./fallback-setting.ts";
import { longTest } from "../../runner/long-tests.ts";

const ANSWER: ReplyScript = () => ({ text: "It is noon." });
/** About 12,000 tokens. */
const LONG = "The harbour wall was built in 1871 and rebuilt twice since, of granite. ".repeat(700);

/** A model that answers the first turns and fails from then on. */
function failsAfter(turns: number): ReplyScript {
  return (_request, index) => (index < turns ? { text: "Noted." } : { status: 529 });
}

describe("a fallback model with another window", () => {
  let chain: Chain | undefined;
  let server: ServeProcess | undefined;

  afterEach(async () => {
    await server?.kill();
    await chain?.close();
    [server, chain] = [undefined, undefined];
  });

  for (const engine of ["legacy", "lossless"])
    it(`is skipped by ${engine} where the conversation does not fit, which is compacted for none of them`, async () => {
      const options: ChainOptions = {
        models: { two: { contextWindow: 24_000, maxTokens: 1_000 } },
        more: { plugins: { slots: { contextEngine: engine } } },
      };
      chain = await startChain({ one: failsAfter(2), two: ANSWER, three: ANSWER }, options);
      for (const part of ["first", "second"]) {
        const { code, stderr } = await run(chain.setting, `${part} ${LONG}`);
        assert.equal(code, 0, stderr);
      }
      const { code, events, stderr } = await run(chain.setting, `What time is it? ${LONG.slice(0, 30_000)}`);
      assert.equal(code, 0, stderr);
      assert.deepEqual(takeovers(events), ["one/model → three/model (overloaded; two/model context_window)"]);
      assert.ok(events.every(({ type }) => !type.startsWith("compaction.") && type !== "context.degraded"));
      assert.match(chain.server("three").requests[0]?.text ?? "", /first The harbour/);
    });

  it("gets a context within its own budget", async () => {
    chain = await startChain(
      { one: failsAfter(1), two: ANSWER },
      { models: { two: { contextWindow: 60_000, maxTokens: 1_000 } } },
    );
    await run(chain.setting, `first ${LONG}`);
    const { events } = await run(chain.setting, "What time is it?");
    assert.deepEqual(takeovers(events), ["one/model → two/model (overloaded)"]);
    const { stdout } = await finish(chain.setting, ["context", "show", "--json"]);
    const receipts = JSON.parse(stdout) as Receipt[];
    const [failed, took] = receipts.slice(-2);
    assert.ok(failed && took);
    assert.deepEqual([failed.model, took.model], ["one/model", "two/model"]);
    assert.ok(took.tokenBudget < 60_000 && took.tokenBudget < failed.tokenBudget, String(took.tokenBudget));
    assert.equal(took.parts.length, failed.parts.length);
  });

  longTest(
    "is reported by a server in its events, its work and its status, and described in its document",
    async () => {
      chain = await startChain(
        { one: failsAfter(0), two: ANSWER },
        { defaults: { models: { "two/model": { alias: "b" } } } },
      );
      server = await ServeProcess.start(chain.setting);
      const isEnd = ({ type }: StreamedEvent): boolean => type === "work.ended";
      const posted = await server.call("POST", "/api/v1/sessions/main/turns", { prompt: "What time is it?" });
      const events = await server.events(`/api/v1/work/${String(posted.body["id"])}/events`, isEnd);
      const took = events.find(({ type }) => type === "model.fallback");
      assert.deepEqual(
        [took?.data["from"], took?.data["to"], took?.data["reason"]],
        ["one/model", "two/model", "overloaded"],
      );
      const status = await server.call("GET", "/api/v1/sessions/main/status");
      const { recent } = status.body["fallbacks"] as { recent: { to: string }[] };
      assert.deepEqual(
        recent.map(({ to }) => to),
        ["two/model"],
      );

      const named = { prompt: "And now?", model: "B" };
      const other = await server.call("POST", "/api/v1/sessions/main/turns", named);
      const all = await server.events(`/api/v1/work/${String(other.body["id"])}/events`, isEnd);
      assert.ok(all.every(({ type }) => type !== "model.fallback"));
      assert.equal(all.find(({ type }) => type === "turn.completed")?.data["model"], "two/model");

      const { body } = await server.call("GET", "/api/v1/openapi.json");
      const { schemas } = body["components"] as { schemas: Record<string, { properties?: object }> };
      assert.deepEqual(Object.keys(schemas["ModelFallback"]?.properties ?? {}), [
        "type",
        "from",
        "to",
        "reason",
        "until",
        "skipped",
      ]);
    },
  );
});
