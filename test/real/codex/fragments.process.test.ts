/** Additional context on Codex: its own shapes and de-duplication; sent again where the model can no longer see it. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { RecordedRequest } from "../../servers/server.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

const SET = {
  task: { value: "The rerun is in progress.", kind: "application" as const },
  tab: { value: "The tab shows the harbour.", kind: "untrusted" as const },
};

/** How often the request has each entry. */
function seen({ text }: RecordedRequest): { task: number; tab: number } {
  return { task: text.split(SET.task.value).length - 1, tab: text.split(SET.tab.value).length - 1 };
}

describe("additional context on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("precedes the input, once for each thread, and is no message of the user", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const pagurus = await bench.host();
    for (const prompt of ["One?", "Two?"]) await bench.ask(pagurus, prompt, { additionalContext: SET });
    assert.deepEqual(seen(bench.request(0)), { task: 1, tab: 1 });
    assert.deepEqual(seen(bench.request(1)), { task: 1, tab: 1 });
    assert.match(bench.request(0).text, /<task>The rerun is in progress\.<\/task>/);
    assert.deepEqual(
      conversation(bench.request(1)).filter((line) => line.startsWith("user:")),
      ["user: One?", "user: Two?"],
    );
    const keys = new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"]));
    assert.equal(keys.size, 1, "one thread");
  });

  it("is sent again with a new thread, and again after it was left out once", async () => {
    bench = await CodexBench.with((_request, index) => ({
      text: `Answer ${index}. ${"Long. ".repeat(300)}`,
    }));
    const pagurus = await bench.host();
    await bench.ask(pagurus, "One?", { additionalContext: SET });
    await bench.ask(pagurus, "Two?");
    await bench.ask(pagurus, "Three?", { additionalContext: SET });
    assert.deepEqual(seen(bench.request(2)), { task: 2, tab: 2 });
    const { compacted, details } = await pagurus.compact({ sessionKey: "main" });
    assert.ok(compacted);
    assert.deepEqual(details, {
      codexNativeCompaction: {
        compacted: false,
        reason: "the next turn begins a new thread from the engine's context",
      },
    });
    await bench.ask(pagurus, "Four?", { additionalContext: SET });
    const last = bench.request(-1);
    assert.notEqual(last.body["prompt_cache_key"], bench.request(0).body["prompt_cache_key"]);
    assert.deepEqual(seen(last), { task: 1, tab: 1 });
  });
});
