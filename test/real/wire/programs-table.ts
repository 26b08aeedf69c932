/** The programs of `pagurus wire` that run offline: how each is set up for a scripted server, started, and read. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BundledProgram } from "../../../packages/core/src/config/bundled.ts";
import {
  WIRE_SETTINGS,
  type ProgramSettings,
} from "../../../packages/testkit/src/program/program-recipes.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { conversation as messagesLines } from "../claude/claude-bench.ts";
import { codexBinary } from "../codex-binary.ts";
import { conversation as responsesLines } from "../codex/codex-bench.ts";
import { claudeBinary, nativeProgram, realProgram } from "../programs.ts";

export interface ProgramCase extends Pick<ProgramSettings, "protocol" | "argv" | "call"> {
  id: BundledProgram;
  /** The program itself. */
  program(): string;
  /** Writes its settings into the folders of the run; returns its environment. */
  setUp(place: { home: string; url: string }): Record<string, string>;
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

const KEY_ENV = "PROGRAM_KEY";

const SHELL = (name: string) => (command: string) => ({
  name,
  arguments: { command, description: "Read a file" },
});

/** As the suite of `pagurus runtimes test` has it. The key is in the environment, so that the engine's summaries are the model's, too. */
function settingsOf<Id extends keyof typeof WIRE_SETTINGS>(
  id: Id,
): Pick<ProgramCase, "protocol" | "setUp" | "argv" | "call"> & { id: Id } {
  const { protocol, setUp, argv, call } = WIRE_SETTINGS[id] as ProgramSettings;
  return {
    id,
    protocol,
    setUp: ({ home, url }) => ({
      [KEY_ENV]: "key-of-test",
      ...setUp({ home, origin: new URL(url).origin, keyEnv: KEY_ENV }),
    }),
    argv,
    call,
  };
}

export const PROGRAM_CASES: readonly ProgramCase[] = [
  {
    ...settingsOf("pi"),
    program: () => realProgram("@earendil-works/pi-coding-agent", "pi"),
    lines: completionsLines,
    isMain: hasTools,
  },
  {
    ...settingsOf("copilot"),
    program: () =>
      nativeProgram("@github/copilot", `@github/copilot-${process.platform}-${process.arch}`, "copilot"),
    lines: completionsLines,
    isMain: (request) =>
      hasTools(request) && request.headers["x-interaction-type"] !== "conversation-subagent",
  },
  {
    ...settingsOf("qwen"),
    program: () => realProgram("@qwen-code/qwen-code", "qwen"),
    lines: completionsLines,
    isMain: (request) => hasTools(request) && !request.text.includes("managed memory extraction subagent"),
  },
  {
    ...settingsOf("gemini"),
    program: () => realProgram("@google/gemini-cli", "gemini"),
    lines: contentsLines,
    isMain: hasTools,
  },
  {
    ...settingsOf("opencode"),
    program: () =>
      nativeProgram("opencode-ai", `opencode-${process.platform}-${process.arch}`, "bin/opencode"),
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
