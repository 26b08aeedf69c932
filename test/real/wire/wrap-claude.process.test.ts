/** `pagurus wire -- claude …` with the real Claude Code: the user's own program, with an engine and a session of ours. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { conversation } from "../claude/claude-bench.ts";
import { claudeBinary } from "../programs.ts";
import { WrapRun } from "./wrap-bench.ts";

/** Claude Code's reminders of its surroundings within a conversation. */
const REMINDER = /^(?:user: <system-reminder>|system: |user: <local-command|user: <command-)/;
const SUMMARY = "CRITICAL: Respond with TEXT ONLY";

let run: WrapRun;
let script: (request: RecordedRequest, nth: number) => ReplyStep;
let from = 0;

const settings = (name = "settings.json"): string => join(run.root, "claude", name);

before(async () => {
  run = await WrapRun.with("anthropic-messages", (request, index) => script(request, index - from));
});
after(() => run.end());
beforeEach(() => {
  from = run.server.requests.length;
  script = (_request, nth) => ({ text: `Answer ${nth}.` });
  for (const name of ["settings.json", ".credentials.json"]) rmSync(settings(name), { force: true });
});

const mains = (): RecordedRequest[] =>
  run.server.requests
    .slice(from)
    .filter(({ body, text }) => body["tools"] !== undefined && !text.includes(SUMMARY));

const asked = (index = -1): string[] => {
  const request = mains().at(index);
  assert.ok(request, `request ${index}`);
  return conversation(request).filter((line) => !REMINDER.test(line));
};

/** Claude Code without Pagurus. */
function alone(...args: string[]): Promise<number | null> {
  const env = run.env({
    ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, ""),
    ANTHROPIC_API_KEY: "key-of-test",
  });
  const child = spawn(claudeBinary(), args, { cwd: run.cwd, env, stdio: "ignore" });
  return new Promise((resolve) => child.on("close", (code) => resolve(code)));
}

describe("Claude Code under pagurus wire", () => {
  it("has each run continue the session, and its own key reaches the provider, no token of ours", async () => {
    script = (_request, nth) =>
      nth === 0
        ? {
            text: "I look.",
            toolCalls: [
              { id: "toolu_1", name: "Bash", arguments: { command: "echo one", description: "one" } },
              { id: "toolu_2", name: "Bash", arguments: { command: "echo two", description: "two" } },
            ],
          }
        : { text: `Answer ${nth}.` };
    const first = await run.claude({ session: "two" }, "-p", "The word is heron.", "--allowedTools", "Bash");
    assert.deepEqual(first, { code: 0, stdout: "Answer 1.\n", stderr: "" });
    const second = await run.claude({ session: "two" }, "-p", "Which word?");
    assert.equal(second.code, 0);
    assert.deepEqual(asked(), [
      "user: The word is heron.",
      "assistant: I look.",
      "call Bash toolu_1",
      "call Bash toolu_2",
      "result toolu_1 one",
      "result toolu_2 two",
      "assistant: Answer 1.",
      "user: Which word?",
    ]);
    for (const { headers, text } of run.server.requests.slice(from)) {
      assert.equal(headers["x-api-key"], "key-of-test");
      assert.equal(headers["x-pagurus-token"], undefined);
      assert.ok(!text.includes("pagurus-token"));
    }
    const [receipt] = await run.receipts("two");
    assert.deepEqual([receipt?.seam, receipt?.runtime, receipt?.engine], ["wire", "wire-claude", "lossless"]);
    assert.match(receipt?.model ?? "", /^anthropic\/claude-/);
  });

  it("takes over a conversation that Claude Code had before, and messages added to it without Pagurus", async () => {
    assert.equal(await alone("-p", "My name is Ada."), 0);
    assert.equal((await run.claude({ session: "taken" }, "-c", "-p", "Who am I?")).code, 0);
    assert.deepEqual(asked(), ["user: My name is Ada.", "assistant: Answer 0.", "user: Who am I?"]);
    assert.equal(await alone("-c", "-p", "I live in Turin."), 0);
    assert.equal((await run.claude({ session: "taken" }, "-c", "-p", "Where?")).code, 0);
    assert.deepEqual(asked().slice(3), [
      "assistant: Answer 1.",
      "user: I live in Turin.",
      "assistant: Answer 2.",
      "user: Where?",
    ]);
    assert.equal((await run.transcript("taken")).length, 8);
  });

  it("has its compaction answered by the engine, and the session stays whole", async () => {
    mkdirSync(run.home, { recursive: true });
    const config = join(run.home, "pagurus.json");
    const lossless = { config: { trigger: 60_000 } };
    writeFileSync(
      config,
      JSON.stringify({ plugins: { slots: { contextEngine: "lossless" }, entries: { lossless } } }),
    );
    script = (request) => ({
      text: request.text.includes("<transcript>") ? "A summary." : `Long. ${"word ".repeat(6_000)}`,
    });
    for (let turn = 0; turn < 4; turn += 1) {
      const words = `Question ${turn}. ${"stuff ".repeat(3_000)}`;
      assert.equal((await run.claude({ session: "long" }, ...(turn > 0 ? ["-c"] : []), "-p", words)).code, 0);
    }
    assert.equal((await run.claude({ session: "long" }, "-c", "-p", "/compact the questions")).code, 0);
    assert.ok(
      !run.server.requests.slice(from).some(({ text }) => text.includes(SUMMARY)),
      "no model was asked by Claude Code",
    );
    assert.equal((await run.claude({ session: "long" }, "-c", "-p", "And now?")).code, 0);
    rmSync(config);
    const lines = asked();
    assert.equal(lines.at(-1), "user: And now?");
    assert.ok(!lines.some((line) => line.startsWith("user: Question 0.")), "the oldest is in a summary");
    const roles = await run.look(async (pagurus) => {
      const reader = pagurus.sessions().openReader("long");
      const found: string[] = [];
      for await (const entry of reader.cursor.forward())
        if (entry.type === "message") found.push(entry.message.role);
      reader.close();
      return found;
    });
    assert.equal(roles.length, 10);
  });

  it("is pointed to the gateway also where its settings name its endpoint, and keeps its own headers", async () => {
    const env = {
      ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, ""),
      ANTHROPIC_CUSTOM_HEADERS: "x-team: blue",
    };
    writeFileSync(settings(), JSON.stringify({ env }));
    const ended = await run.run(
      { session: "set" },
      { ANTHROPIC_API_KEY: "key-of-test" },
      claudeBinary(),
      "-p",
      "Hello.",
    );
    assert.equal(ended.code, 0);
    assert.equal(run.server.requests.at(-1)?.headers["x-team"], "blue");
    assert.equal((await run.transcript("set")).length, 2);
    assert.deepEqual(readdirSync(join(run.home, "runtimes", "claude")), [], "no files are left");
  });

  it("ends with Claude Code's exit code, also where the model fails", async () => {
    script = () => ({
      status: 400,
      errorBody: { type: "error", error: { type: "invalid_request_error", message: "no" } },
    });
    const ended = await run.claude({ session: "fails" }, "-p", "Hello.");
    assert.equal(ended.code, 1);
    assert.match(ended.stdout, /no/);
  });

  it("ends with the signal that ends Pagurus, and keeps the conversation so far", async () => {
    script = () => ({ text: "It begins and does not end.", chunkSize: 5, hangAfterChunks: 6 });
    const env = { ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, ""), ANTHROPIC_API_KEY: "key-of-test" };
    const { child, ended } = run.start({ session: "killed" }, env, claudeBinary(), "-p", "Hello.");
    while (run.server.requests.length === from && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill("SIGTERM");
    assert.equal((await ended).code, 143);
    const messages = await run.transcript("killed");
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant"],
    );
  });

  it("is refused where it is logged in by subscription, before it starts, and passes with --observe", async () => {
    const claudeAiOauth = {
      accessToken: "sk-ant-oat01-none",
      refreshToken: "none",
      expiresAt: 4e12,
      scopes: ["user:inference"],
      subscriptionType: "pro",
    };
    writeFileSync(settings(".credentials.json"), JSON.stringify({ claudeAiOauth }));
    const env = { ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, "") };
    const ended = await run.run({}, env, claudeBinary(), "-p", "Hello.");
    assert.equal(ended.code, 2);
    assert.match(
      ended.stderr,
      /^pagurus: Claude Code is logged in by subscription, .* \[runtime_unsupported\]\n$/,
    );
    assert.equal(run.server.requests.length, from);
    await run.claude({ session: "seen" }, "-p", "Before.");
    const loginHosts = [new URL(run.server.url).host];
    writeFileSync(join(run.home, "pagurus.json"), JSON.stringify({ wire: { loginHosts } }));
    const observed = await run.run({ observe: true, session: "seen" }, env, claudeBinary(), "-p", "Hello.");
    assert.deepEqual([observed.code, asked()], [0, ["user: Hello."]]);
    assert.equal((await run.transcript("seen")).length, 2, "nothing is recorded");
  });

  it("is refused where it uses another cloud", async () => {
    const ended = await run.run({}, { CLAUDE_CODE_USE_BEDROCK: "1" }, claudeBinary(), "-p", "Hello.");
    assert.equal(ended.code, 2);
    assert.match(
      ended.stderr,
      /Amazon Bedrock \(CLAUDE_CODE_USE_BEDROCK\), whose requests are not governed yet/,
    );
  });
});
