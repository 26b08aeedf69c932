/** The reference server and one that misbehaves, used by models in real agents of the Agent Client Protocol. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { child } from "../../mcp/client/hosted.ts";
import type { ReplyToolCall } from "../../servers/script.ts";
import { AcpBench, type AgentName } from "../acp/acp-bench.ts";
import { realProgram } from "../programs.ts";
import { texts } from "./outcomes.ts";

const EVERYTHING = {
  command: process.execPath,
  args: [realProgram("@modelcontextprotocol/server-everything", "mcp-server-everything"), "stdio"],
};
const AGENTS = {
  claude: {
    provider: "anthropic",
    api: "anthropic-messages",
    id: "claude-opus-5-5",
    command: () => realProgram("@agentclientprotocol/claude-agent-acp", "claude-agent-acp"),
  },
  codex: {
    provider: "local",
    api: "openai-responses",
    id: "gpt-5.5",
    command: () => realProgram("@agentclientprotocol/codex-acp", "codex-acp"),
  },
};

function config(bench: AcpBench): object {
  const { provider, api, id, command } = AGENTS[bench.agent];
  const ref = `${provider}/${id}`;
  const models = [{ id, contextWindow: 200_000, maxTokens: 4_000 }];
  return {
    models: { providers: { [provider]: { api, baseUrl: bench.server.url, apiKey: "test-key", models } } },
    agents: {
      defaults: {
        model: ref,
        permission: { mode: "auto" },
        models: { [ref]: { agentRuntime: { id: "acp", agentId: bench.agent } } },
      },
    },
    plugins: {
      slots: { contextEngine: "lossless" },
      entries: { acp: { config: { agents: { [bench.agent]: { command: command() } } } } },
    },
    mcp: { servers: { everything: EVERYTHING, s: child("good") } },
  };
}

/** A call as the agent's model makes it, of a tool of Pagurus's server for the agent. */
function call(agent: AgentName, id: string, name: string, args: Record<string, unknown> = {}): ReplyToolCall {
  return agent === "claude"
    ? { id, name: `mcp__pagurus__${name}`, arguments: args }
    : { id, name, namespace: "mcp__pagurus", arguments: args };
}

describe("MCP servers in turns of real ACP agents", () => {
  let bench: AcpBench | undefined;
  afterEach(() => bench?.end());

  for (const agent of ["claude", "codex"] as const) {
    it(`(${agent}) a model uses the server's tools, and reads a sentence about one that crashes`, async () => {
      bench = await AcpBench.with(agent, (_request, main) =>
        main === 0
          ? { toolCalls: [call(agent, "toolu_1", "everything__echo", { message: "harbour" })] }
          : main === 1
            ? { toolCalls: [call(agent, "toolu_2", "s__crash")] }
            : { text: "Done." },
      );
      const pagurus = await bench.host({ more: { config: config(bench) } });
      const [echo, crashed] = texts(await bench.ask(pagurus, "Use the tools."));
      assert.match(echo ?? "", /Echo: harbour/);
      assert.match(
        crashed ?? "",
        /The MCP server "s" ended with code 3; its last output was: out of cheese\./,
      );
      const last = JSON.stringify(bench.main(2).body);
      assert.match(last, /Echo: harbour/);
      assert.match(last, /out of cheese/);
    });
  }
});
