/** Middleware of plugins around the host's tools on Codex, which calls them as dynamic tools. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

describe("middleware on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("surrounds a tool of the host, and not one of Codex", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? {
            toolCalls: [
              { id: "c1", name: "harbour", arguments: { quay: 3 } },
              { id: "c2", name: "exec_command", arguments: { cmd: "echo own" } },
            ],
          }
        : { text: "Done." },
    );
    const seen: string[] = [];
    const plugin = (api: PluginApi): void => {
      api.registerTool({
        name: "harbour",
        description: "State of a quay.",
        parameters: { type: "object", properties: { quay: { type: "number" } } },
        readOnly: true,
        execute: async () => ({ content: [{ type: "text", text: "wet" }], isError: false }),
      });
      api.registerToolMiddleware(async ({ toolName, params, runtime }, next) => {
        const { content, isError } = await next();
        seen.push(`${toolName} ${JSON.stringify(params)} ${runtime}`);
        return { content: [...content, { type: "text", text: " and slippery" }], isError };
      });
    };
    const pagurus = await bench.host({ more: { plugins: { harbour: plugin } } });
    await bench.ask(pagurus, "How is the quay?");
    assert.deepEqual(seen, ['harbour {"quay":3} codex']);
    const results = conversation(bench.request(-1)).filter((line) => line.startsWith("result"));
    assert.match(results.find((line) => line.startsWith("result c1")) ?? "", /wet.*and slippery/s);
    assert.match(results.find((line) => line.startsWith("result c2")) ?? "", /own/);
    assert.doesNotMatch(results.find((line) => line.startsWith("result c2")) ?? "", /slippery/);
  });
});
