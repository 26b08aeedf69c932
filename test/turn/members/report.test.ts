import assert from "node:assert/strict";
import { test } from "node:test";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { Bench } from "../in-process.ts";

test("an engine's report is a degradation of its turn (finding F5)", async () => {
  const bench = await Bench.with(() => ({ text: "Yes." }));
  try {
    const legacy = createLegacyEngine();
    const pagurus = await bench.host({
      engine: {
        ...legacy,
        info: { id: "reporting", name: "Reporting" },
        assemble: (params) => {
          params.runtimeContext?.degraded?.("A page of my book was read again.");
          return legacy.assemble(params);
        },
      },
    });
    const events = await bench.ask(pagurus, "Anything?");
    const reported = events.flatMap((event) =>
      event.type === "context.degraded" ? [[event.stage, event.reason, event.engineId]] : [],
    );
    assert.deepEqual(reported, [["transcript", "A page of my book was read again.", "reporting"]]);
  } finally {
    await bench.end();
  }
});
