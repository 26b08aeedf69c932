import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nearest } from "../../packages/core/src/platform/nearest.ts";
import { cpuMs } from "../runner/cpu-time.ts";

/** Seconds of work where each name is compared. */
const MOST_MS = 500;

describe("suggestions for a mistyped name", () => {
  const names = ["openai/gpt-5", "openai/gpt-5-mini", "anthropic/claude", "x"];

  it("are the closest ones first, also without the provider", () => {
    assert.deepEqual(nearest("gpt-5", names), ["openai/gpt-5"]);
    assert.deepEqual(nearest("openai/gpt5-mini", names), ["openai/gpt-5-mini"]);
    assert.deepEqual(nearest("Y", names), ["x"]);
    assert.deepEqual(nearest("something else", names), []);
  });

  it("cost nothing for a name that is far longer than all that there are", async () => {
    const many = Array.from({ length: 800 }, (_, at) => `provider/model-${at}`);
    let found: string[] | undefined;
    const ms = await cpuMs(() => (found = nearest("a".repeat(60_000), many)));
    assert.deepEqual(found, []);
    assert.ok(ms < MOST_MS, `${ms} ms of CPU`);
  });
});
