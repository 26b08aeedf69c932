import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Bench, eventsOf } from "./in-process.ts";
import { modelConfig } from "./setting.ts";

const COST = { cost: { input: 1, output: 5 } };

describe("An input that a cost limit refuses after its context was made", () => {
  for (const contextEngine of ["legacy", "lossless"])
    it(`reaches the model with no later turn of the engine ${contextEngine}`, async () => {
      const bench = await Bench.with(() => ({ text: "An answer." }));
      try {
        const settings = { logging: { level: "silent" as const }, plugins: { slots: { contextEngine } } };
        const config = modelConfig("openai-completions", bench.server.url, COST, settings);
        const host = await bench.host({ more: { config } });
        for (const prompt of ["one", "two", "three", "four"]) await bench.ask(host, prompt);
        const refused = await eventsOf(host.run({ prompt: "REFUSED", cwd: bench.root, maxCost: 1e-7 }));
        assert.equal(refused.at(-1)?.type, "turn.failed");
        for (const prompt of ["five", "six"]) {
          await bench.ask(host, prompt);
          const sent = bench.body(-1).messages.map(({ text }) => text);
          assert.equal(sent.filter((text) => text.includes("REFUSED")).length, 0, sent.join(" | "));
          assert.ok(sent.at(-1)?.includes(prompt));
        }
      } finally {
        await bench.end();
      }
    });
});
