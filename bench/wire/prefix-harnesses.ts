/** The harnesses whose requests `bench wire --only prefix` counts, alone and under `pagurus wire`. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import { codexBinary } from "../../test/real/codex-binary.ts";
import { claudeBinary } from "../../test/real/programs.ts";
import type { ModelServer, RecordedRequest } from "../../test/servers/server.ts";
import type { Wish } from "./workload.ts";
import { inputOf } from "../../test/runner/child-input.ts";

/** Of the model, tokens. */
const WINDOW = 100_000;
const MAIN = join(import.meta.dirname, "../../packages/cli/src/main.ts");

export interface Place {
  root: string;
  cwd: string;
  env: Record<string, string>;
}

export function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), "pagurus-prefix-"));
  for (const name of ["work", "user", "home", "codex", "claude"]) mkdirSync(join(root, name));
  return {
    root,
    cwd: join(root, "work"),
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: join(root, "user"),
      PAGURUS_HOME: join(root, "home"),
      PAGURUS_NO_PROBE: "1",
    },
  };
}

interface Run {
  place: Place;
  /** The endpoint, in the dialect of the arm. */
  server: ModelServer;
  prompts: readonly string[];
  /** Under `pagurus wire`. */
  wrapped: boolean;
}

export interface Arm {
  name: string;
  /** What the endpoint speaks. */
  api: WireApi;
  /** The protocol of the harness alone, if another one. */
  alone?: WireApi;
  isMain(request: RecordedRequest): boolean;
  call(wish: Wish, place: Place): { name: string; arguments: Record<string, unknown> };
  /** Runs the prompts, one turn each. */
  run(run: Run): Promise<void>;
}

/** The command of an arm: the program, or ours in front of it. */
function command(
  { wrapped }: Run,
  [program, ...args]: readonly [string, ...string[]],
  ours: readonly string[] = [],
): [string, string[]] {
  if (!wrapped) return [program, args];
  const wire = ["wire", "--session", "bench", "--context-window", String(WINDOW), ...ours];
  return [process.execPath, [MAIN, ...wire, "--", program, ...args]];
}

function start(
  [program, args]: [string, string[]],
  { cwd, env }: Place,
  more: Record<string, string>,
): ChildProcessWithoutNullStreams {
  const child = spawn(program, args, { cwd, env: { ...env, ...more }, stdio: ["pipe", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-1_000);
  });
  child.on("close", (code) => {
    if (code !== 0) process.stderr.write(`${errors}\n`);
  });
  return child;
}

async function ended(child: ChildProcessWithoutNullStreams, what: string): Promise<void> {
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${what} ended with ${code}.`);
}

/** One process for all turns, which get their prompts in sequence. */
const CLAUDE: Arm = {
  name: "Claude Code",
  api: "anthropic-messages",
  isMain: ({ headers, body }) =>
    headers["x-claude-code-session-id"] !== undefined && Array.isArray(body["tools"]),
  call: (wish, { cwd }) => {
    if (wish.tool === "command")
      return { name: "Bash", arguments: { command: wish.command, description: "Look" } };
    const path = { file_path: join(cwd, wish.path) };
    if (wish.tool === "read") return { name: "Read", arguments: path };
    return { name: "Write", arguments: { ...path, content: wish.text } };
  },
  run: async (run) => {
    const { place, server, prompts } = run;
    const args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const model = ["--model", "claude-sonnet-4-5", "--permission-mode", "bypassPermissions"];
    const child = start(command(run, [claudeBinary(), ...args, ...model]), place, {
      ANTHROPIC_BASE_URL: server.url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "test-key",
      CLAUDE_CONFIG_DIR: join(place.root, "claude"),
      CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(WINDOW),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      IS_SANDBOX: "1",
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const over = ended(child, "Claude Code");
    over.catch(() => undefined);
    for (const prompt of prompts) {
      inputOf(child).write(
        `${JSON.stringify({ type: "user", message: { role: "user", content: prompt } })}\n`,
      );
      for (;;) {
        const { done, value } = await lines.next();
        if (done === true) return over;
        const line = JSON.parse(value) as { type?: string; is_error?: boolean; result?: string };
        if (line.type !== "result") continue;
        if (line.is_error === true) throw new Error(`A turn failed: ${String(line.result).slice(0, 200)}`);
        break;
      }
    }
    inputOf(child).end();
    return over;
  },
};

function shellFor(wish: Wish): string {
  if (wish.tool === "command") return wish.command;
  if (wish.tool === "read") return `cat ${wish.path}`;
  return `cat > ${wish.path} <<'END'\n${wish.text}END`;
}

function codexConfig(baseUrl: string): string {
  return [
    'model = "gpt-5.5"',
    'model_provider = "mock"',
    `model_context_window = ${WINDOW}`,
    `model_auto_compact_token_limit = ${WINDOW * 0.9}`,
    'sandbox_mode = "danger-full-access"',
    'approval_policy = "never"',
    "check_for_update_on_startup = false",
    "[model_providers.mock]",
    'name = "mock"',
    `base_url = "${baseUrl}"`,
    'wire_api = "responses"',
    'env_key = "MOCK_API_KEY"',
    "[features]",
    "plugins = false",
    "apps = false",
    "[analytics]",
    "enabled = false",
  ].join("\n");
}

const CODEX: Arm = {
  name: "Codex",
  api: "openai-responses",
  isMain: ({ headers }) => headers["x-codex-turn-metadata"] !== undefined,
  call: (wish) => ({ name: "exec_command", arguments: { cmd: shellFor(wish) } }),
  run: (run) => runCodex(run, []),
};

/** A process for each turn, which resumes the conversation. */
async function runCodex(run: Run, ours: readonly string[]): Promise<void> {
  const { place, server, prompts } = run;
  writeFileSync(join(place.root, "codex", "config.toml"), codexConfig(server.url));
  for (const [turn, prompt] of prompts.entries()) {
    const resume = turn === 0 ? [] : ["resume", "--last"];
    const program = [codexBinary(), "exec", "--skip-git-repo-check", ...resume, prompt] as const;
    const child = start(command(run, program, ours), place, {
      CODEX_HOME: join(place.root, "codex"),
      MOCK_API_KEY: "test-key",
    });
    child.stdout.resume();
    inputOf(child).end();
    await ended(child, `Codex, turn ${turn},`);
  }
}

const MODEL = "bench/small";

/** Codex on a model that speaks Chat Completions only, which it cannot use alone. */
const TRANSLATED: Arm = {
  ...CODEX,
  name: "Codex on Chat Completions",
  api: "openai-completions",
  alone: "openai-responses",
  isMain: ({ headers, body }) =>
    headers["x-codex-turn-metadata"] !== undefined || Array.isArray(body["tools"]),
  run: (run) => {
    const { place, server, wrapped } = run;
    const provider = {
      api: "openai-completions",
      baseUrl: server.url,
      apiKey: "test-key",
      models: [{ id: "small", contextWindow: WINDOW, maxTokens: 16_384 }],
    };
    writeFileSync(
      join(place.root, "home", "pagurus.json"),
      JSON.stringify({ models: { providers: { bench: provider } } }),
    );
    return runCodex(run, wrapped ? ["--model", MODEL] : []);
  },
};

export const ARMS: readonly Arm[] = [CLAUDE, CODEX, TRANSLATED];
