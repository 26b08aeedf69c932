/** `pagurus wire -- codex …` with the real Codex: the user's own program, with an engine and a session of ours. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { conversation } from "../codex/codex-bench.ts";
import { codexBinary } from "../codex-binary.ts";
import { WrapRun } from "./wrap-bench.ts";

const EXEC = ["exec", "--skip-git-repo-check"];

let run: WrapRun;
let script: (request: RecordedRequest, nth: number) => ReplyStep;
let from = 0;

before(async () => {
  run = await WrapRun.with("openai-responses", (request, index) => script(request, index - from));
  run.setCodex();
});
after(() => run.end());
beforeEach(() => {
  from = run.server.requests.length;
  script = (_request, nth) => ({ text: `Answer ${nth}.` });
  rmSync(join(run.root, "codex", "auth.json"), { force: true });
});

const asked = (index = -1): string[] => {
  const request = run.server.requests.slice(from).at(index);
  assert.ok(request, `request ${index}`);
  return conversation(request).map((line) => line.replace(/^(result \S+) [^]*$/, "$1"));
};

/** Codex without Pagurus. */
function alone(...args: string[]): Promise<number | null> {
  const env = run.env({ MOCK_KEY: "key-of-mock" });
  const child = spawn(codexBinary(), args, { cwd: run.cwd, env, stdio: "ignore" });
  return new Promise((resolve) => child.on("close", (code) => resolve(code)));
}

describe("Codex under pagurus wire", () => {
  it("has each run continue the session, and its own key and headers reach the provider, no token of ours", async () => {
    script = (_request, nth) =>
      nth === 0
        ? { toolCalls: [{ id: "call_1", name: "exec_command", arguments: { cmd: "echo seen" } }] }
        : { text: `Answer ${nth}.` };
    const first = await run.codex({ session: "two" }, ...EXEC, "The word is heron.");
    assert.deepEqual([first.code, first.stdout], [0, "Answer 1.\n"]);
    const second = await run.codex({ session: "two" }, ...EXEC, "Which word?");
    assert.equal(second.code, 0);
    assert.deepEqual(asked(), [
      "user: The word is heron.",
      "call exec_command call_1",
      "result call_1",
      "assistant: Answer 1.",
      "user: Which word?",
    ]);
    for (const { headers, text } of run.server.requests.slice(from)) {
      assert.equal(headers["authorization"], "Bearer key-of-mock");
      assert.equal(headers["x-team"], "blue");
      assert.equal(headers["x-pagurus-token"], undefined);
      assert.ok(!text.includes("pagurus-token"));
    }
    const receipts = await run.receipts("two");
    assert.deepEqual(
      receipts.map(({ seam, runtime, model, engine }) => [seam, runtime, model, engine]),
      [["wire", "wire-codex", "mock/test-model", "lossless"]],
    );
  });

  it("shows no secret on a command line", async () => {
    let commandLines = "";
    script = () => {
      for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
        try {
          const environ = readFileSync(`/proc/${name}/environ`, "utf8");
          if (environ.includes(run.root))
            commandLines += `${readFileSync(`/proc/${name}/cmdline`, "utf8")}\n`;
        } catch {
          // It has ended, or belongs to another user.
        }
      }
      return { text: "Fine." };
    };
    run.setCodex('model_reasoning_summary = "none"');
    assert.equal((await run.codex({ session: "secret" }, ...EXEC, "Hello.")).code, 0);
    assert.match(commandLines, /model_providers\.mock=/);
    assert.ok(!commandLines.includes("key-of-mock") && !commandLines.includes("blue"));
    const token = /PAGURUS_WIRE_SECRET_\d/.exec(commandLines);
    assert.ok(token, "headers are named by variables");
  });

  it("takes over a thread that Codex had before, and messages added to it without Pagurus", async () => {
    assert.equal(await alone(...EXEC, "My name is Ada."), 0);
    assert.equal((await run.codex({ session: "taken" }, ...EXEC, "resume", "--last", "Who am I?")).code, 0);
    assert.deepEqual(asked(), ["user: My name is Ada.", "assistant: Answer 0.", "user: Who am I?"]);
    assert.equal(await alone(...EXEC, "resume", "--last", "I live in Turin."), 0);
    assert.equal((await run.codex({ session: "taken" }, ...EXEC, "resume", "--last", "Where?")).code, 0);
    assert.deepEqual(asked(), [
      "user: My name is Ada.",
      "assistant: Answer 0.",
      "user: Who am I?",
      "assistant: Answer 1.",
      "user: I live in Turin.",
      "assistant: Answer 2.",
      "user: Where?",
    ]);
    assert.equal((await run.transcript("taken")).length, 8);
  });

  it("leaves out a thread that the session does not know, and reports it after its end", async () => {
    await run.codex({ session: "other" }, ...EXEC, "Hello.");
    assert.equal(await alone(...EXEC, "My name is Ada."), 0);
    const ended = await run.codex({ session: "other" }, ...EXEC, "resume", "--last", "Who am I?");
    assert.deepEqual(asked(), ["user: Hello.", "assistant: Answer 0.", "user: Who am I?"]);
    assert.match(ended.stderr, /pagurus: The program's earlier conversation is not in the session other/);
  });

  it("continues through compactions of the engine, and Codex makes none", async () => {
    mkdirSync(run.home, { recursive: true });
    const config = join(run.home, "pagurus.json");
    writeFileSync(
      config,
      JSON.stringify({
        plugins: {
          slots: { contextEngine: "lossless" },
          entries: { lossless: { config: { trigger: 8_000 } } },
        },
      }),
    );
    script = (request) => ({
      text: request.text.includes("<transcript>") ? "A summary." : `Long. ${"word ".repeat(3_000)}`,
    });
    for (let turn = 0; turn < 5; turn += 1)
      assert.equal((await run.codex({ session: "long" }, ...EXEC, `Question ${turn}.`)).code, 0);
    rmSync(config);
    const main = run.server.requests
      .slice(from)
      .filter(({ text }) => text.includes("Question 4.") && !text.includes("<transcript>"));
    const last = main.at(-1);
    assert.ok(last);
    const lines = conversation(last);
    assert.equal(lines.at(-1), "user: Question 4.");
    assert.ok(!lines.some((line) => line === "user: Question 0."), "the oldest is in a summary");
    assert.ok(!run.server.requests.some(({ text }) => text.includes("CONTEXT CHECKPOINT COMPACTION")));
    const kept = await run.look(async (pagurus) => {
      const reader = pagurus.sessions().openReader("long");
      const types: string[] = [];
      for await (const entry of reader.cursor.forward())
        if (entry.type === "message") types.push(entry.message.role);
      reader.close();
      return types;
    });
    assert.equal(kept.length, 10, "the transcript has all of it");
  });

  it("ends with Codex's exit code, also where the model fails", async () => {
    script = () => ({ status: 400, errorBody: { error: { message: "no", type: "invalid_request_error" } } });
    const ended = await run.codex({ session: "fails" }, ...EXEC, "Hello.");
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /no/);
    assert.equal((await run.codex({ session: "fails" }, "exec", "--no-such-option")).code, 2);
  });

  it("ends with the signal that ends Pagurus, and keeps the conversation so far", async () => {
    script = () => ({ text: "It begins and does not end.", chunkSize: 5, hangAfterChunks: 7 });
    const { child, ended } = run.start(
      { session: "killed" },
      { MOCK_KEY: "key-of-mock" },
      codexBinary(),
      ...EXEC,
      "Hello.",
    );
    while (run.server.requests.length === from && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill("SIGTERM");
    const { code } = await ended;
    assert.equal(code, 143);
    const messages = await run.transcript("killed");
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant"],
    );
  });

  it("uses the built-in provider of OpenAI with the key of its own file, and is found again by resume --last", async () => {
    writeFileSync(
      join(run.root, "codex", "auth.json"),
      JSON.stringify({ auth_mode: "apikey", OPENAI_API_KEY: "key-of-file" }),
    );
    const openai = ["-c", "model_provider=openai", "-c", `openai_base_url="${run.server.url}"`];
    const options = { session: "openai" };
    assert.equal((await run.run(options, {}, codexBinary(), ...EXEC, ...openai, "Hello.")).code, 0);
    assert.equal(run.server.requests.at(-1)?.headers["authorization"], "Bearer key-of-file");
    const again = await run.run(options, {}, codexBinary(), ...EXEC, ...openai, "resume", "--last", "Again.");
    assert.equal(again.code, 0);
    assert.deepEqual(asked(), ["user: Hello.", "assistant: Answer 0.", "user: Again."]);
  });

  it("is refused where it is logged in by subscription, before it starts", async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const token = `${part({ alg: "none" })}.${part({ exp: 4_000_000_000 })}.none`;
    writeFileSync(
      join(run.root, "codex", "auth.json"),
      JSON.stringify({
        auth_mode: "chatgpt",
        tokens: { id_token: token, access_token: token, refresh_token: "none" },
      }),
    );
    const ended = await run.run({}, {}, codexBinary(), ...EXEC, "-c", "model_provider=openai", "Hello.");
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /^pagurus: Codex is logged in by subscription .* \[runtime_unsupported\]\n$/);
    assert.equal(run.server.requests.length, from);
    // A provider that does not ask for the login is not affected.
    assert.equal((await run.codex({ session: "mock" }, ...EXEC, "Hello.")).code, 0);
  });

  it("passes unchanged with --observe, and is captured", async () => {
    await run.codex({ session: "seen" }, ...EXEC, "Before.");
    const ended = await run.codex({ session: "seen", observe: true }, ...EXEC, "Hello.");
    assert.equal(ended.code, 0);
    assert.deepEqual(asked(), ["user: Hello."]);
    assert.equal((await run.transcript("seen")).length, 2, "nothing is recorded");
    const [folder = ""] = readdirSync(join(run.home, "captures")).filter((name) => name.startsWith("seen"));
    const kept = readdirSync(join(run.home, "captures", folder));
    assert.ok(kept.some((name) => name.endsWith(".harness.bin")));
  });

  it("runs on a model of ours that speaks another protocol, without a login", async () => {
    const other = await WrapRun.with("anthropic-messages", (_request, nth) =>
      nth === 0
        ? { toolCalls: [{ id: "toolu_1", name: "exec_command", arguments: { cmd: "echo seen" } }] }
        : { text: "Fine." },
    );
    try {
      mkdirSync(other.home);
      const models = [{ id: "model-1", contextWindow: 200_000 }];
      const local = { api: "anthropic-messages", baseUrl: other.server.url, apiKey: "key-of-ours", models };
      writeFileSync(join(other.home, "pagurus.json"), JSON.stringify({ models: { providers: { local } } }));
      const settings = [
        "-c",
        "approval_policy=never",
        "-c",
        "sandbox_mode=danger-full-access",
        "-c",
        "features.plugins=false",
        "-c",
        "features.apps=false",
      ];
      const ended = await other.run(
        { model: "local/model-1", session: "ours" },
        {},
        codexBinary(),
        ...EXEC,
        ...settings,
        "Hello.",
      );
      assert.deepEqual([ended.code, ended.stdout], [0, "Fine.\n"]);
      assert.equal(other.server.requests[0]?.headers["x-api-key"], "key-of-ours");
      assert.deepEqual(
        (await other.transcript("ours")).map(({ role }) => role),
        ["user", "assistant", "toolResult", "assistant"],
      );
    } finally {
      await other.end();
    }
  });
});
