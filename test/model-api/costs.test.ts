/** Cost limits at model calls of clients, over each protocol. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { ApiBench } from "./setting.ts";

/** One dollar for a token of an answer. */
const PRICES = { input: 0, output: 1_000_000 };

interface Limits {
  session?: number;
  day?: number;
  turn?: number;
}

async function openBench(maxCost: Limits, engine?: string): Promise<ApiBench> {
  const usage = { input: 10, output: 300 };
  const bench = await ApiBench.open(
    "openai-completions",
    () => ({ text: "Yes.", usage }),
    { cost: PRICES },
    engine,
  );
  await bench.stop();
  const file = join(bench.setting.home, "pagurus.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as { agents: { defaults: object } };
  Object.assign(config.agents.defaults, { maxCost });
  writeFileSync(file, JSON.stringify(config));
  await bench.start();
  return bench;
}

describe("a model call of a client under a cost limit", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  const input = [{ role: "user" as const, content: "Are you there?" }];
  const asked = { model: "test/model", max_tokens: 300 };
  const calls: [path: string, body: object, type: string][] = [
    ["/chat/completions", { ...asked, messages: input }, "insufficient_quota"],
    ["/messages", { ...asked, messages: input }, "billing_error"],
    ["/responses", { model: "test/model", input }, "insufficient_quota"],
  ];
  for (const engine of ["legacy", "lossless"])
    for (const [path, body, type] of calls)
      it(`is refused with 402 at ${path} with ${engine}, in the words of the protocol, before anything is sent`, async () => {
        bench = await openBench({ day: 400 }, engine);
        assert.equal((await bench.post(path, body)).status, 200);
        const before = bench.model.requests.length;
        const { status, json } = await bench.post(path, body);
        const error = json["error"] as { type: string; message: string; code?: string };
        assert.deepEqual([status, error.type], [402, type]);
        assert.match(error.message, /the day has cost \$300\.00 of \$400\.00/);
        if (path !== "/messages") assert.equal(error.code, "cost_limit");
        assert.equal(bench.model.requests.length, before);
      });

  it("counts for the session that its conversation continues", async () => {
    bench = await openBench({ session: 400 });
    const named = { "x-pagurus-session": "art" };
    const body = { ...asked, messages: input };
    assert.equal((await bench.post("/chat/completions", body, named)).status, 200);
    const { status, text } = await bench.post("/chat/completions", body, named);
    assert.equal(status, 402);
    assert.match(text, /the session has cost \$300\.00 of \$400\.00/);
    const other = { "x-pagurus-session": "boat" };
    assert.equal((await bench.post("/chat/completions", body, other)).status, 200);
  });
});
