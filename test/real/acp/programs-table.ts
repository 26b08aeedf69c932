/** Agents that run offline: how each is pointed to a scripted server, and what it reports. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Protocol } from "../../servers/server.ts";
import { nativeProgram, realProgram } from "../programs.ts";

export interface AgentCase {
  id: string;
  protocol: Protocol;
  /** The model that the turns ask for. */
  model: string;
  program(): string;
  /** Writes its settings into the user's folder; returns the environment of the agent's entry. */
  setUp?(place: { home: string; url: string }): Record<string, string>;
  /** Its own name for that model, where its entry has to name it; the transcript has it too. */
  ownModel?: string;
  /** The call of its shell with this command. */
  call(command: string): { name: string; arguments: Record<string, unknown> };
  /** It reports what came of a command. */
  reports: boolean;
  /** It reports the tokens of its model. */
  counts: boolean;
  /** It requests permission. */
  asks: boolean;
  /** Its model has the host's tools. */
  takesTools: boolean;
}

function write(file: string, content: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(content));
}

const SHELL = (name: string) => (command: string) => ({
  name,
  arguments: { command, description: "Writes and shows a file" },
});

export const AGENT_CASES: readonly AgentCase[] = [
  {
    id: "claude",
    protocol: "anthropic-messages",
    // Its default is another one.
    model: "claude-sonnet-5-5",
    program: () => realProgram("@agentclientprotocol/claude-agent-acp", "claude-agent-acp"),
    // Claude Code requires it when it runs as root.
    setUp: () => ({ IS_SANDBOX: "1" }),
    call: SHELL("Bash"),
    reports: true,
    counts: true,
    asks: true,
    takesTools: true,
  },
  {
    id: "codex",
    protocol: "openai-responses",
    model: "gpt-5.5",
    program: () => realProgram("@agentclientprotocol/codex-acp", "codex-acp"),
    // Outside its sandbox, so that it asks.
    call: (command) => ({
      name: "exec_command",
      arguments: { cmd: command, sandbox_permissions: "require_escalated", justification: "Writes a file." },
    }),
    reports: true,
    counts: true,
    asks: true,
    takesTools: true,
  },
  {
    id: "gemini",
    protocol: "google",
    model: "gemini-2.5-pro",
    program: () => realProgram("@google/gemini-cli", "gemini"),
    call: SHELL("run_shell_command"),
    reports: false,
    counts: true,
    asks: true,
    // The folder is not trusted.
    takesTools: false,
  },
  {
    id: "opencode",
    protocol: "anthropic-messages",
    model: "m1",
    program: () =>
      nativeProgram("opencode-ai", `opencode-${process.platform}-${process.arch}`, "bin/opencode"),
    setUp: ({ home, url }) => {
      const model = { name: "m1", tool_call: true, limit: { context: 200_000, output: 8_000 } };
      const options = { baseURL: url, apiKey: "key-of-test" };
      write(join(home, ".config/opencode/opencode.json"), {
        autoupdate: false,
        model: "local/m1",
        small_model: "local/m1",
        provider: { local: { npm: "@ai-sdk/anthropic", options, models: { m1: model } } },
      });
      return { OPENCODE_DISABLE_MODELS_FETCH: "1" };
    },
    call: SHELL("bash"),
    reports: true,
    counts: true,
    asks: true,
    takesTools: true,
  },
  {
    id: "copilot",
    protocol: "openai-completions",
    model: "m1",
    program: () =>
      nativeProgram("@github/copilot", `@github/copilot-${process.platform}-${process.arch}`, "copilot"),
    call: SHELL("bash"),
    reports: true,
    counts: true,
    asks: true,
    // It rejects MCP servers over stdio.
    takesTools: false,
  },
  {
    id: "qwen",
    protocol: "openai-completions",
    model: "m1",
    program: () => realProgram("@qwen-code/qwen-code", "qwen"),
    call: (command) => ({
      name: "run_shell_command",
      arguments: { command, description: "Writes and shows a file", is_background: false },
    }),
    reports: true,
    counts: true,
    asks: true,
    takesTools: true,
  },
  {
    id: "pi",
    protocol: "openai-completions",
    model: "m1",
    program: () => {
      realProgram("@earendil-works/pi-coding-agent", "pi");
      return realProgram("pi-acp", "pi-acp");
    },
    setUp: ({ home, url }) => {
      const model = { id: "m1", contextWindow: 200_000, maxTokens: 8_000, input: ["text"], reasoning: false };
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const local = { baseUrl: url, api: "openai-completions", apiKey: "key", models: [{ ...model, cost }] };
      write(join(home, ".pi/agent/models.json"), { providers: { local } });
      write(join(home, ".pi/agent/settings.json"), { defaultProvider: "local", defaultModel: "m1" });
      return { PI_OFFLINE: "1" };
    },
    call: SHELL("bash"),
    reports: true,
    counts: false,
    asks: false,
    takesTools: false,
  },
  {
    id: "droid",
    protocol: "openai-completions",
    model: "m1",
    ownModel: "custom:m1-0",
    program: () => nativeProgram("droid", `@factory/cli-${process.platform}-${process.arch}`, "bin/droid"),
    setUp: ({ home, url }) => {
      const provider = { provider: "generic-chat-completion-api", baseUrl: url, apiKey: "key-of-test" };
      write(join(home, ".factory/settings.json"), {
        customModels: [{ model: "m1", displayName: "m1", maxOutputTokens: 8_000, ...provider }],
      });
      return { FACTORY_API_KEY: "key-of-test" };
    },
    call: (command) => ({
      name: "Execute",
      arguments: {
        command,
        summary: "Writes and shows a file",
        timeout: 60,
        riskLevel: "medium",
        riskLevelReason: "Writes a file.",
      },
    }),
    reports: false,
    counts: false,
    asks: true,
    takesTools: true,
  },
];
