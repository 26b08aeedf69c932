/** The programs of `pagurus wire` that run offline: how each is set up for a scripted server, started, and read. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BundledProgram } from "../../../packages/core/src/config/bundled.ts";
import type { Protocol, RecordedRequest } from "../../servers/server.ts";
import { conversation as messagesLines } from "../claude/claude-bench.ts";
import { codexBinary } from "../codex-binary.ts";
import { conversation as responsesLines } from "../codex/codex-bench.ts";
import { claudeBinary, nativeProgram, realProgram } from "../programs.ts";

export interface ProgramCase {
  id: BundledProgram;
  protocol: Protocol;
  /** The program itself. */
  program(): string;
  /** Writes its settings into the folders of the run; returns its environment. */
  setUp(place: { home: string; url: string }): Record<string, string>;
  argv(prompt: string, isNext: boolean): string[];
  /** The call of its shell with this command. */
  call(command: string): { name: string; arguments: Record<string, unknown> };
  lines(request: RecordedRequest): string[];
  /** A request of the conversation itself. */
  isMain(request: RecordedRequest): boolean;
  /** What its conversation is called, where it says so. */
  nativeId?(request: RecordedRequest): unknown;
}

type Fields = Record<string, unknown>;

function write(file: string, content: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
}

/** What programs put before or beside the user's words. */
const OWN =
  /^(?:<system-reminder>[\s\S]*<\/system-reminder>\s*|<current_datetime>[^<]*<\/current_datetime>\n\n)/;

function userLines(content: unknown): string[] {
  const parts = typeof content === "string" ? [{ text: content }] : (content as { text?: string }[]);
  return parts
    .map(({ text = "" }) => text.replace(OWN, ""))
    .filter((text) => text !== "")
    .map((text) => `user: ${text}`);
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return ((content as { text?: string }[] | null) ?? []).map(({ text = "" }) => text).join("");
}

/** As the benches of Codex and Claude Code write a request. */
function completionsLines({ body }: RecordedRequest): string[] {
  return (body["messages"] as Fields[]).flatMap((message): string[] => {
    const { role, content } = message;
    if (role === "user") return userLines(content);
    if (role === "tool") return [`result ${String(message["tool_call_id"])} ${textOf(content)}`];
    if (role !== "assistant") return [];
    const calls = (message["tool_calls"] ?? []) as { id: string; function: { name: string } }[];
    const words = textOf(content);
    return [
      ...(words === "" ? [] : [`assistant: ${words}`]),
      ...calls.map(({ id, function: { name } }) => `call ${name} ${id}`),
    ];
  });
}

/** As the benches of Codex and Claude Code write a request. */
function contentsLines({ body }: RecordedRequest): string[] {
  const lines = (body["contents"] as { role?: string; parts: Fields[] }[]).flatMap(({ role, parts }) =>
    parts.flatMap((part): string[] => {
      const call = part["functionCall"] as { id?: string; name: string } | undefined;
      const result = part["functionResponse"] as { id?: string; response: Fields } | undefined;
      if (call) return [`call ${call.name} ${call.id ?? ""}`];
      if (result) return [`result ${result.id ?? ""} ${String(result.response["output"])}`];
      const text = typeof part["text"] === "string" ? part["text"] : "";
      if (part["thought"] === true || text === "" || text.startsWith("<session_context>")) return [];
      return [`${role === "model" ? "assistant" : "user"}: ${text}`];
    }),
  );
  // Gemini CLI repeats the results of a session that it resumes.
  return lines.filter((line, at) => !line.startsWith("result ") || lines[at - 1] !== line);
}

/** The head of a context is one message here, and may be several elements. */
function hasTools({ body }: RecordedRequest): boolean {
  return ((body["tools"] as unknown[] | undefined) ?? []).length > 0;
}

const SHELL = (name: string) => (command: string) => ({
  name,
  arguments: { command, description: "Read a file" },
});

export const PROGRAM_CASES: readonly ProgramCase[] = [
  {
    id: "pi",
    protocol: "openai-completions",
    program: () => realProgram("@earendil-works/pi-coding-agent", "pi"),
    setUp: ({ home, url }) => {
      const model = { id: "m1", contextWindow: 200_000, maxTokens: 8_000, input: ["text"], reasoning: false };
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const mine = {
        baseUrl: url,
        api: "openai-completions",
        apiKey: "key-of-test",
        models: [{ ...model, cost }],
      };
      write(join(home, ".pi/agent/models.json"), { providers: { mine } });
      write(join(home, ".pi/agent/settings.json"), { defaultProvider: "mine", defaultModel: "m1" });
      return { PI_OFFLINE: "1" };
    },
    argv: (prompt, isNext) => ["-p", ...(isNext ? ["--continue"] : []), prompt],
    call: SHELL("bash"),
    lines: completionsLines,
    isMain: hasTools,
  },
  {
    id: "copilot",
    protocol: "openai-completions",
    program: () =>
      nativeProgram("@github/copilot", `@github/copilot-${process.platform}-${process.arch}`, "copilot"),
    setUp: ({ url }) => ({
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_API_KEY: "key-of-test",
      COPILOT_MODEL: "m1",
      COPILOT_OFFLINE: "true",
    }),
    argv: (prompt, isNext) => ["--allow-all-tools", ...(isNext ? ["--continue"] : []), "-p", prompt],
    call: SHELL("bash"),
    lines: completionsLines,
    isMain: (request) =>
      hasTools(request) && request.headers["x-interaction-type"] !== "conversation-subagent",
  },
  {
    id: "qwen",
    protocol: "openai-completions",
    program: () => realProgram("@qwen-code/qwen-code", "qwen"),
    setUp: ({ home, url }) => {
      write(join(home, ".qwen/settings.json"), { security: { auth: { selectedType: "openai" } } });
      return { OPENAI_API_KEY: "key-of-test", OPENAI_BASE_URL: url, OPENAI_MODEL: "m1" };
    },
    argv: (prompt, isNext) => ["-y", ...(isNext ? ["--continue"] : []), "-p", prompt],
    call: SHELL("run_shell_command"),
    lines: completionsLines,
    isMain: (request) => hasTools(request) && !request.text.includes("managed memory extraction subagent"),
  },
  {
    id: "gemini",
    protocol: "google",
    program: () => realProgram("@google/gemini-cli", "gemini"),
    setUp: ({ home, url }) => {
      write(join(home, ".gemini/settings.json"), {
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false },
      });
      return {
        GEMINI_API_KEY: "key-of-test",
        GOOGLE_GEMINI_BASE_URL: url.replace(/\/v1beta$/, ""),
        GEMINI_CLI_TRUST_WORKSPACE: "true",
      };
    },
    argv: (prompt, isNext) => [
      "-y",
      "-m",
      "gemini-2.5-pro",
      ...(isNext ? ["--resume", "latest"] : []),
      "-p",
      prompt,
    ],
    call: SHELL("run_shell_command"),
    lines: contentsLines,
    isMain: hasTools,
  },
  {
    id: "opencode",
    protocol: "anthropic-messages",
    program: () =>
      nativeProgram("opencode-ai", `opencode-${process.platform}-${process.arch}`, "bin/opencode"),
    setUp: ({ home, url }) => {
      const model = { name: "m1", tool_call: true, limit: { context: 200_000, output: 8_000 } };
      const options = { baseURL: url, apiKey: "key-of-test" };
      write(join(home, ".config/opencode/opencode.json"), {
        autoupdate: false,
        model: "mine/m1",
        small_model: "mine/m1",
        provider: { mine: { npm: "@ai-sdk/anthropic", options, models: { m1: model } } },
      });
      return { OPENCODE_DISABLE_MODELS_FETCH: "1" };
    },
    argv: (prompt, isNext) => ["run", ...(isNext ? ["--continue"] : []), prompt],
    call: SHELL("bash"),
    // It puts a prompt of several words in quotation marks.
    lines: (request) => messagesLines(request),
    isMain: (request) => hasTools(request) && request.headers["x-parent-session-id"] === undefined,
    nativeId: ({ headers }) => headers["x-session-id"],
  },
  {
    id: "codex",
    protocol: "openai-responses",
    program: codexBinary,
    setUp: ({ home, url }) => {
      write(
        join(home, ".codex/config.toml"),
        `model = "test-model"\nmodel_provider = "mock"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\ncheck_for_update_on_startup = false\n[model_providers.mock]\nname = "mock"\nbase_url = "${url}"\nenv_key = "MOCK_KEY"\nwire_api = "responses"\n[features]\nplugins = false\napps = false\n[analytics]\nenabled = false\n`,
      );
      return { MOCK_KEY: "key-of-test" };
    },
    argv: (prompt, isNext) => [
      "exec",
      "--skip-git-repo-check",
      ...(isNext ? ["resume", "--last"] : []),
      prompt,
    ],
    call: (command) => ({ name: "exec_command", arguments: { cmd: command } }),
    lines: responsesLines,
    isMain: hasTools,
    nativeId: ({ body }) => body["prompt_cache_key"],
  },
  {
    id: "claude",
    protocol: "anthropic-messages",
    program: claudeBinary,
    setUp: ({ url }) => ({
      ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "key-of-test",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    }),
    argv: (prompt, isNext) => [...(isNext ? ["-c"] : []), "-p", prompt, "--allowedTools", "Bash"],
    call: SHELL("Bash"),
    lines: (request) =>
      messagesLines(request).filter((line) => !/^(?:user: <system-reminder>|system: )/.test(line)),
    isMain: hasTools,
    nativeId: ({ headers }) => headers["x-claude-code-session-id"],
  },
];
