/** `pagurus wire` as a user starts it, with an engine of a plugin: a forced compaction inside a tool loop. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { MAIN } from "../../runner/program.ts";
import type { Protocol, RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";
import { ENGINE_ID, type Answering, type Asked } from "./compactions-engine.ts";
import {
  claudeShows,
  codexShows,
  isClaudeCompaction,
  isCodexCompaction,
  MODEL_SUMMARY,
  sessionLines,
  requestOf,
  withoutLeft,
} from "./compactions-words.ts";
import { WrapRun } from "./wrap-bench.ts";
import { inputOf } from "../../runner/child-input.ts";

const PLUGIN = fileURLToPath(new URL("./compactions-plugin.ts", import.meta.url));
const SESSION = "forced";

interface Kind {
  name: string;
  runtime: string;
  protocol: Protocol;
  isCompaction(request: RecordedRequest): boolean;
  shows(request: RecordedRequest | undefined): string[];
  call: { id: string; name: string; arguments: Record<string, unknown> };
  /** Usage after which the program compacts. */
  full: number;
  /** Sends the texts in sequence; returns exit codes, or the answers. */
  say(texts: readonly string[]): Promise<unknown[]>;
}

describe("a forced compaction under pagurus wire", { timeout: 240_000 }, () => {
  let run: WrapRun;
  afterEach(() => run.end());

  function wire(env: Record<string, string>, ...words: string[]): ReturnType<typeof spawn> {
    return spawn(
      process.execPath,
      [MAIN, "wire", "--session", SESSION, "--engine", ENGINE_ID, "--", ...words],
      { cwd: run.cwd, env: run.env(env), stdio: ["pipe", "pipe", "ignore"] },
    );
  }

  async function codex(texts: readonly string[]): Promise<unknown[]> {
    run.setCodex("model_auto_compact_token_limit = 5000");
    const codes: unknown[] = [];
    for (const [at, text] of texts.entries()) {
      const more = at === 0 ? [] : ["resume", "--last"];
      const child = wire(
        { MOCK_KEY: "key-of-mock" },
        codexBinary(),
        "exec",
        "--skip-git-repo-check",
        ...more,
        text,
      );
      inputOf(child).end();
      child.stdout?.resume();
      codes.push(await new Promise((resolve) => child.once("close", resolve)));
    }
    return codes;
  }

  async function claude(texts: readonly string[]): Promise<unknown[]> {
    const env = {
      ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "key-of-test",
      CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000",
    };
    const streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const allowed = [
      "--permission-mode",
      "dontAsk",
      "--allowedTools",
      "Bash",
      "--model",
      "claude-sonnet-4-5",
    ];
    const child = wire(env, claudeBinary(), "-p", ...streams, ...allowed);
    const closed = new Promise<unknown>((resolve) => child.once("close", resolve));
    const waiting = [...texts];
    const next = (): void => {
      const content = waiting.shift();
      if (content === undefined) inputOf(child).end();
      else inputOf(child).write(`${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`);
    };
    assert.ok(child.stdout);
    const codes: unknown[] = [];
    createInterface({ input: child.stdout }).on("line", (text) => {
      const line = JSON.parse(text) as Record<string, unknown>;
      if (line["type"] !== "result") return;
      codes.push(line["is_error"] === false ? 0 : line["result"]);
      next();
    });
    next();
    assert.equal(await closed, 0);
    return codes;
  }

  /** The conversation that the user sees. */
  async function sessionShown(): Promise<AgentMessage[]> {
    const child = spawn(process.execPath, [MAIN, "sessions", "show", SESSION, "--json"], {
      env: run.env(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    await new Promise((resolve) => child.once("close", resolve));
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; message: AgentMessage })
      .flatMap(({ type, message }) => (type === "message" ? [message] : []));
  }

  const kinds: Kind[] = [
    {
      name: "Codex",
      runtime: "wire-codex",
      protocol: "openai-responses",
      isCompaction: isCodexCompaction,
      shows: codexShows,
      call: { id: "call_1", name: "exec_command", arguments: { cmd: "echo one" } },
      full: 9_000,
      say: codex,
    },
    {
      name: "Claude Code",
      runtime: "wire-claude",
      protocol: "anthropic-messages",
      isCompaction: isClaudeCompaction,
      shows: claudeShows,
      call: { id: "call_1", name: "Bash", arguments: { command: "echo one", description: "one" } },
      full: 99_000,
      say: claude,
    },
  ];
  const ways: [Answering, string, number][] = [
    ["handled", "the engine", 0],
    ["declines", "the model, where the engine does not handle it", 1],
    ["throws", "the model, where the engine throws", 1],
    ["hangs", "the model, where the engine hangs", 1],
  ];
  for (const kind of kinds)
    for (const [how, who, count] of ways)
      it(`of ${kind.name} is answered by ${who}, and the session continues`, async () => {
        let nth = 0;
        run = await WrapRun.with(kind.protocol, (request): ReplyStep => {
          if (kind.isCompaction(request)) return { text: `<summary>${MODEL_SUMMARY}</summary>` };
          nth += 1;
          const usage = { input: nth === 2 ? kind.full : 900, output: 10 };
          if (nth === 2) return { text: "I look.", toolCalls: [kind.call], usage };
          return { text: `Answer ${nth}.`, usage };
        });
        mkdirSync(run.home, { recursive: true });
        const file = join(run.root, "asked.jsonl");
        const plugins = {
          load: { paths: [PLUGIN] },
          entries: { "compactions-plugin": { config: { how, file } } },
        };
        const agents = { defaults: { compaction: { timeoutSeconds: 1 } } };
        writeFileSync(join(run.home, "pagurus.json"), JSON.stringify({ agents, plugins }));
        assert.deepEqual(await kind.say(["First?", "Second?", "Third?"]), [0, 0, 0]);
        assert.ok(existsSync(file), "the engine was asked");
        const lines = readFileSync(file, "utf8").trimEnd().split("\n");
        assert.deepEqual(
          lines.map((line) => requestOf(JSON.parse(line) as Asked)),
          [["threshold", kind.runtime, undefined, "user assistant user assistant toolResult"]],
        );
        assert.equal(run.server.requests.filter(kind.isCompaction).length, count);
        assert.equal(run.server.requests.length, 4 + count);
        const { name, id } = kind.call;
        const whole = [
          "user: First?",
          "assistant: Answer 1.",
          "user: Second?",
          "assistant: I look.",
          `call ${name} ${id}`,
          `result ${id}`,
          "assistant: Answer 3.",
          "user: Third?",
          "assistant: Answer 4.",
        ];
        assert.deepEqual(withoutLeft(kind.shows(run.server.requests.at(-1))), whole.slice(0, -1));
        assert.deepEqual(sessionLines(await sessionShown()), whole);
      });
});
