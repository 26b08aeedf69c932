import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { PluginRegister } from "../../../packages/contract/src/host/plugin.ts";
import { answer, Played, user, WrapBench } from "./bench.ts";

const foreign: PluginRegister = (api) => {
  api.registerContextEngine("foreign", () => ({
    info: { id: "foreign", name: "Foreign", ownsCompaction: true },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages,
      estimatedTokens: 10,
      systemPromptAddition: "The engine's line.",
    }),
    compact: async () => ({ ok: true, compacted: false, reason: "none" }),
  }));
  api.on("before_prompt_build", () => ({
    prependSystemContext: "The hook's first line.",
    appendSystemContext: "The hook's last line.",
  }));
  api.registerTool({
    name: "foreign_recall",
    description: "Reads again what was left out.",
    parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [{ type: "text", text: "recalled" }], isError: false }),
  });
};

describe("a third-party engine, around the user's own program", () => {
  const bench = new WrapBench();
  afterEach(() => bench.end());

  it("has its tools and the text of its hooks reach the model (finding B12)", async () => {
    const config = { ...WrapBench.CONFIG, plugins: { slots: { contextEngine: "foreign" } } };
    await bench.open({}, { plugins: { foreign }, config });
    const { specs } = await bench.pagurus.native.tools({ runtime: "wire-played", cwd: bench.cwd });
    assert.deepEqual(
      specs.map(({ name }) => name),
      ["foreign_recall"],
    );
    const program = new Played(bench);
    const { context } = await program.governed(user("Hello."));
    assert.equal(
      context.systemPromptAddition,
      "The hook's first line.\n\nThe engine's line.\n\nThe hook's last line.",
    );
    await program.isAnswered(answer("", "a"));
    const call = { type: "toolCall", id: "a", name: "foreign_recall", arguments: {} } as const;
    const outcome = await bench.governor.toolsFor("a")?.call(call, new AbortController().signal);
    assert.deepEqual(outcome?.content, [{ type: "text", text: "recalled" }]);
    await bench.governor.close();
  });
});
