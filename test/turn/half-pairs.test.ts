import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { Bench, eventsOf } from "./in-process.ts";

it("half surrogate pairs of a prompt and its parts become U+FFFD in the transcript", async () => {
  const bench = await Bench.with(() => ({ text: "An answer." }));
  try {
    const host = await bench.host();
    const parts = [{ type: "text" as const, text: "part \udc00 \u{1f980}" }];
    const events = await eventsOf(host.run({ prompt: "prompt \ud83d", cwd: bench.root, parts }));
    assert.equal(events.at(-1)?.type, "turn.completed");
    const files = globSync("**/*.jsonl", { cwd: bench.root });
    const stored = files.map((file) => readFileSync(join(bench.root, file), "utf8")).join("");
    assert.match(stored, /prompt \ufffd/);
    assert.match(stored, /part \ufffd \u{1f980}/u);
    assert.doesNotMatch(stored, /\\ud83d|\\udc00/);
  } finally {
    await bench.end();
  }
});
