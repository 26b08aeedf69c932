/** A home, scripted models and a terminal for the day of a user. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { LAUNCHER } from "../../runner/program.ts";
import { FULL } from "../../runner/short-form.ts";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { Terminal } from "../../servers/terminal.ts";
import { makeSetting, type Setting } from "../../turn/setting.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";

/** A PNG of one pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const CALC = "function add(a, b) {\n  return a - b;\n}\n";
const SLOW = "for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.5; done";
const HARBOUR = [
  "# Harbour",
  "| ship | berth |",
  "| --- | --- |",
  "| Merle | 4 |",
  "",
  "```js",
  "const berth = 4;",
  "```",
].join("\n");
const PLAN = {
  plan: [
    { step: "Read the chart", status: "completed" },
    { step: "Sail", status: "in_progress" },
    { step: "Moor", status: "pending" },
  ],
};

interface Part {
  type?: string;
  role?: string;
  content?: unknown;
}

function messagesOf({ body }: RecordedRequest): Part[] {
  return ((body["messages"] ?? body["input"]) as Part[] | undefined) ?? [];
}

/** The newest words of the person in a request; texts that the host adds begin with a mark. */
function wordsOf(request: RecordedRequest): string {
  const texts = messagesOf(request)
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) =>
      Array.isArray(content) ? (content as { text?: unknown }[]) : [{ text: content }],
    )
    .flatMap(({ text }) => (typeof text === "string" && !/^\s*</.test(text) ? [text] : []));
  return texts.at(-1) ?? "";
}

/** Whether the request follows a tool's result. */
function hasResult(request: RecordedRequest): boolean {
  const last = messagesOf(request).at(-1);
  return (
    last?.type === "function_call_output" || JSON.stringify(last?.content ?? "").includes('"tool_result"')
  );
}

const CALLS: readonly [RegExp, string, Record<string, unknown>][] = [
  [/Count slowly/, "shell", { command: SLOW }],
  [/Fix the sign/, "edit", { path: "calc.js", old_text: "return a - b;", new_text: "return a + b;" }],
  [/Turn it round/, "edit", { path: "calc.js", old_text: "return a + b;", new_text: "return b + a;" }],
  [/Light the lamp/, "shell", { command: "echo lit" }],
  [/Plan the day/, "update_plan", PLAN],
];

export class Day {
  readonly setting: Setting;
  readonly terminal: Terminal;
  readonly servers: readonly ModelServer[];
  /** Answers to "Wait for me" come after it. */
  held = Promise.withResolvers<void>();
  #calls = 0;

  private constructor(setting: Setting, terminal: Terminal, servers: readonly ModelServer[]) {
    this.setting = setting;
    this.terminal = terminal;
    this.servers = servers;
  }

  static async start(columns: number, rows: number): Promise<Day> {
    const setting = makeSetting();
    let day: Day | undefined = undefined;
    const script = (request: RecordedRequest): Promise<ReplyStep> | ReplyStep =>
      (day as Day | undefined)?.reply(request) ?? { text: "early" };
    const messages = await startServer({
      protocol: "anthropic-messages",
      script,
      models: ["model", "other"],
    });
    const responses = await startServer({ protocol: "openai-responses", script, models: ["model"] });
    prepare(setting, messages, responses);
    const { NO_COLOR: _, ...env } = setting.env;
    const path = [
      setting.root,
      join(setting.root, ".local", "bin"),
      dirname(process.execPath),
      env["PATH"] ?? "",
    ].join(delimiter);
    const terminal = new Terminal(setting.root, setting.workspace, {
      ...env,
      PATH: path,
      EDITOR: join(setting.root, "editor.sh"),
      CODEX_HOME: join(setting.root, "codex"),
      CLAUDE_CONFIG_DIR: join(setting.root, "claude"),
      IS_SANDBOX: "1",
    });
    terminal.resize(columns, rows);
    day = new Day(setting, terminal, [messages, responses]);
    await terminal.sees(/ready>/);
    return day;
  }

  get requests(): readonly RecordedRequest[] {
    return this.servers.flatMap(({ requests }) => requests);
  }

  async reply(request: RecordedRequest): Promise<ReplyStep> {
    const words = wordsOf(request);
    if (/Wait for me/.test(words) && !hasResult(request)) {
      await this.held.promise;
      return this.#call("shell", { command: "true" });
    }
    if (/Never answer/.test(words)) return { text: "word ".repeat(500), chunkSize: 5, delayMs: 100 };
    if (/Stream a while/.test(words))
      return { text: `${"wave ".repeat(60)}ashore`, chunkSize: 5, delayMs: 60 };
    const [, name, args] = CALLS.find(([pattern]) => pattern.test(words)) ?? [];
    if (name !== undefined && args && !hasResult(request)) return this.#call(name, args);
    if (/Show the harbour/.test(words)) return { text: HARBOUR };
    if (/Long words/.test(words)) return { text: "harbourmaster ".repeat(30).trim() };
    return { text: `Done: ${/[A-Z][a-z]+(?: [a-z]+)+/.exec(words)?.[0].slice(0, 30) ?? "that"}` };
  }

  #call(name: string, args: Record<string, unknown>): ReplyStep {
    this.#calls += 1;
    return { toolCalls: [{ id: `call_${this.#calls}`, name, arguments: args }] };
  }

  /** Presses the key of the permission mode until the line below names this one. */
  async mode(mode: string): Promise<void> {
    for (let presses = 0; presses < 8; presses += 1) {
      if (new RegExp(`^messages/model · ${mode}(?: ·|\\s*$)`, "m").test(this.terminal.screen())) return;
      await this.terminal.press("BTab");
    }
    throw new Error(`Shift-Tab does not lead to ${mode}:\n${this.terminal.screen()}`);
  }

  /** Starts `pagurus` from the shell on a clear screen. */
  async chat(...args: string[]): Promise<void> {
    await this.terminal.types("clear");
    await this.terminal.types(`pagurus ${args.join(" ")}; echo "exit code $?"`);
    await this.terminal.sees(/^messages\/model · |^responses\/model · /m);
  }

  async leave(): Promise<void> {
    await this.terminal.press("C-d");
    await this.terminal.sees(/^exit code \d+/m);
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.setting.workspace, name), text);
  }

  resetCalc(): void {
    this.write("calc.js", CALC);
  }

  async end(): Promise<void> {
    this.held.resolve();
    this.terminal.end();
    for (const server of this.servers) await server.close();
    rmSync(this.setting.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function prepare(setting: Setting, messages: ModelServer, responses: ModelServer): void {
  const { root, home, workspace } = setting;
  const limits = { contextWindow: 200_000, maxTokens: 4_000, input: ["text", "image"] };
  const prices = { cost: { input: 3, output: 15 } };
  const programs = FULL
    ? {
        codex: { config: { command: codexBinary(), sandbox: "danger-full-access" } },
        "claude-cli": { config: { command: claudeBinary() } },
      }
    : {};
  const config = {
    session: { scope: "main" },
    models: {
      providers: {
        messages: {
          api: "anthropic-messages",
          baseUrl: messages.url,
          apiKey: "test-key",
          models: [{ id: "model", ...limits, ...prices, reasoning: true }],
        },
        responses: {
          api: "openai-responses",
          baseUrl: responses.url,
          apiKey: "test-key",
          models: [{ id: "model", ...limits }],
        },
      },
    },
    agents: { defaults: { model: "messages/model", permission: { mode: "auto", sandbox: "off" } } },
    plugins: { slots: { contextEngine: "lossless" }, entries: programs },
  };
  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  for (const folder of ["codex", "claude", ".local/bin"]) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(workspace, "calc.js"), CALC);
  mkdirSync(join(workspace, "src"));
  writeFileSync(join(workspace, "src", "lighthouse.js"), "lamp();\n");
  mkdirSync(join(workspace, ".git"));
  writeFileSync(join(workspace, ".git", "HEAD"), "ref: refs/heads/quay\n");
  writeFileSync(join(root, "clip.png"), Buffer.from(PIXEL, "base64"));
  const scripts = {
    pagurus: `exec "${process.execPath}" "${LAUNCHER}" "$@"`,
    "editor.sh": 'printf "Edited outside" > "$1"',
    ".local/bin/xclip": 'exec cat "$HOME/clip.png"',
  };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(root, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(root, name), 0o755);
  }
}
