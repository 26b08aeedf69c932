import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createPagurus } from "../../src/app.ts";
import { Bench, eventsOf } from "./in-process.ts";
import { modelConfig } from "./setting.ts";

const COST = { cost: { input: 1, output: 5 } };

describe("An input that a cost limit refuses after its context was made", () => {
  for (const contextEngine of ["legacy", "lossless"])
    it(`reaches the model with no later turn of the engine ${contextEngine}`, async () => {
      const bench = await Bench.with(() => ({ text: "An answer." }));
      const more = { logging: { level: "silent" as const }, plugins: { slots: { contextEngine } } };
      const host = await createPagurus({
        home: join(bench.root, "home"),
        env: { PATH: process.env["PATH"], HOME: bench.root, PAGURUS_NO_PROBE: "1" },
        config: modelConfig("openai-completions", bench.server.url, COST, more),
      });
      const lastOf = async (prompt: string, maxCost?: number): Promise<string | undefined> => {
        const limit = maxCost === undefined ? {} : { maxCost };
        return (await eventsOf(host.run({ prompt, cwd: bench.root, ...limit }))).at(-1)?.type;
      };
      try {
        for (const prompt of ["one", "two", "three", "four"])
          assert.equal(await lastOf(prompt), "turn.completed");
        assert.equal(await lastOf("REFUSED", 1e-7), "turn.failed");
        for (const prompt of ["five", "six"]) {
          assert.equal(await lastOf(prompt), "turn.completed");
          const sent = bench.body(-1).messages.map(({ text }) => text);
          assert.equal(sent.filter((text) => text.includes("REFUSED")).length, 0, sent.join(" | "));
          assert.ok(sent.at(-1)?.includes(prompt));
        }
      } finally {
        await host.close();
        await bench.end();
      }
    });
});
