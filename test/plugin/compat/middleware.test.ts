import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import type { SurroundedCall } from "../../../packages/contract/src/host/tool-middleware.ts";
import { loadFrom, openClawPlugin, reasons } from "./load-plugins.ts";

describe("OpenClaw's middleware of tool results", () => {
  const CALL: SurroundedCall = {
    toolCallId: "c1",
    toolName: "read",
    params: { path: "a" },
    sessionKey: "main",
    sessionId: "s1",
    agentId: "main",
    turnId: "t1",
    cwd: "/work",
    runtime: "embedded",
    signal: new AbortController().signal,
  };
  const OUTCOME: ToolOutcome = { content: [{ type: "text", text: "secret 42" }], isError: false };

  async function resultOf(body: string, call: Partial<SurroundedCall> = {}): Promise<unknown> {
    const registry = await loadFrom(openClawPlugin(body));
    assert.deepEqual(reasons(registry), []);
    assert.deepEqual(registry.facts, []);
    const [only] = registry.toolMiddlewares;
    assert.ok(only);
    const answer = await only.middleware({ ...CALL, ...call }, () => Promise.resolve(OUTCOME));
    return { tools: only.tools, answer };
  }

  it("gets the event and context of OpenClaw, and its result replaces the outcome's content", async () => {
    const { tools, answer } = (await resultOf(`
      api.registerAgentToolResultMiddleware((event, context) => ({
        result: { content: [{ type: "text", text: JSON.stringify([event, context]) }], details: { seen: true } },
      }), { matcher: ["read", "shell"] });`)) as { tools: string[]; answer: ToolOutcome };
    assert.deepEqual(tools, ["read", "shell"]);
    assert.deepEqual([answer.isError, answer.details], [false, { seen: true }]);
    const [part] = answer.content;
    assert.deepEqual(JSON.parse(part?.type === "text" ? part.text : ""), [
      {
        turnId: "t1",
        toolCallId: "c1",
        toolName: "read",
        args: { path: "a" },
        cwd: "/work",
        isError: false,
        result: { content: OUTCOME.content },
      },
      { runtime: "openclaw", agentId: "main", sessionId: "s1", sessionKey: "main", runId: "t1" },
    ]);
  });

  it("keeps the outcome when it answers nothing", async () => {
    const { answer } = (await resultOf(`api.registerAgentToolResultMiddleware(() => undefined);`)) as {
      answer: unknown;
    };
    assert.deepEqual(answer, OUTCOME);
  });

  it("runs only for the runtimes that it names", async () => {
    const body = `api.registerAgentToolResultMiddleware(() => ({ result: { content: [] } }), { runtimes: ["codex"] });`;
    const inOwn = (await resultOf(body)) as { answer: ToolOutcome };
    const inCodex = (await resultOf(body, { runtime: "codex" })) as { answer: ToolOutcome };
    assert.deepEqual([inOwn.answer.content.length, inCodex.answer.content.length], [1, 0]);
  });
});
