/** A thread that began in Codex alone becomes a session: nothing of it is lost, nothing is sent twice. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { promisify } from "node:util";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { ListedThread } from "../../../packages/contract/src/harness/native.ts";
import { AppServers, type AppServer } from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import { CODEX_VERSION } from "../../../packages/runtimes/src/codex/codex-version.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { MAIN } from "../../runner/program.ts";
import { codexBinary } from "../codex-binary.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

/** Texts of the thread, each of which occurs once. */
const TEXTS = [
  "Where is the whelk?",
  "I look.",
  "looked behind the pier",
  "It is behind the pier.",
  "And the crab?",
];
const SET = {
  task: { value: "The rerun is in progress.", kind: "application" },
  tab: { value: "The tab shows the harbour.", kind: "untrusted" },
};

async function turn(
  server: AppServer,
  threadId: string,
  text: string,
  additionalContext: unknown,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const unlisten = server.listen(threadId, {
      notification: (method) => {
        if (method !== "turn/completed") return;
        unlisten();
        resolve();
      },
      request: () =>
        Promise.resolve({
          contentItems: [{ type: "inputText", text: "looked behind the pier" }],
          success: true,
        }),
      closed: reject,
    });
    const input = [{ type: "text", text, text_elements: [] }];
    server.request("turn/start", { threadId, input, additionalContext }).catch(reject);
  });
}

describe("a thread of Codex's own", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  /** Two turns by Codex alone: a tool call, additional context in both forms, no host. */
  async function bareThread(): Promise<string> {
    bench = await CodexBench.with((_request, index) => {
      if (index === 0)
        return { text: "I look.", toolCalls: [{ id: "call_1", name: "look", arguments: { at: "pier" } }] };
      return { text: index === 1 ? "It is behind the pier." : `Answer ${index}.` };
    });
    // The user's own configuration of Codex, which is never written to.
    const provider = `name = "bare"\nbase_url = "${bench.server.url}"\nwire_api = "responses"\n`;
    writeFileSync(
      join(bench.root, "codex/config.toml"),
      `model_provider = "bare"\n[model_providers.bare]\n${provider}`,
    );
    const servers = new AppServers({ env: bench.env, command: codexBinary(), clientVersion: "test" });
    try {
      const server = await servers.get();
      const { thread } = await server.request<{ thread: { id: string } }>("thread/start", {
        model: "unknown-model",
        modelProvider: "bare",
        cwd: bench.cwd,
        approvalPolicy: "never",
        sandbox: "danger-full-access",
        dynamicTools: [
          { type: "function", name: "look", description: "Looks.", inputSchema: { type: "object" } },
        ],
      });
      await turn(server, thread.id, "Where is the whelk?", SET);
      await turn(server, thread.id, "And the crab?", SET);
      return thread.id;
    } finally {
      await servers.dispose();
    }
  }

  function times({ text }: RecordedRequest, words: string): number {
    return text.split(words).length - 1;
  }

  function seenOnce(request: RecordedRequest, words: readonly string[]): void {
    for (const each of words)
      assert.equal(times(request, each), 1, `${each} in ${request.text.slice(-3000)}`);
  }

  async function shown(pagurus: Pagurus, sessionKey: string): Promise<string[]> {
    const reader = pagurus.sessions().openReader(sessionKey);
    try {
      const lines: string[] = [];
      for await (const entry of reader.cursor.forward()) {
        if (entry.type === "message") lines.push(entry.message.role);
        if (entry.type === "custom" && entry.customType === "pagurus.fragment") lines.push("fragment");
      }
      return lines;
    } finally {
      reader.close();
    }
  }

  it("is listed, adopted whole, and sent once to a thread of the engine's, then to the other runtime", async () => {
    const nativeId = await bareThread();
    const pagurus = await bench.host();
    const [listed, ...more] = await pagurus.native.threads({ runtime: "codex", cwd: bench.cwd });
    assert.deepEqual(more, []);
    assert.deepEqual(
      [listed?.nativeId, listed?.preview, listed?.cwd],
      [nativeId, "Where is the whelk?", bench.cwd],
    );
    const report = await pagurus.native.bind({
      runtime: "codex",
      nativeId: nativeId.slice(0, 24),
      sessionKey: "main",
    });
    assert.equal(report.goesOn, "context");
    const lines = await shown(pagurus, "main");
    assert.equal(lines.join(" "), "fragment fragment user assistant toolResult assistant user assistant");
    await bench.ask(pagurus, "What else?");
    const onCodex = bench.request(-1);
    seenOnce(onCodex, [...TEXTS, "Answer 2.", "What else?"]);
    assert.notEqual(onCodex.body["prompt_cache_key"], nativeId);
    await bench.ask(pagurus, "And here?", { runtime: "embedded" });
    seenOnce(bench.request(-1), [...TEXTS, "Answer 2.", "What else?", "Answer 3.", "And here?"]);
    const [again] = await pagurus.native.threads({ runtime: "codex" });
    assert.ok((again satisfies ListedThread | undefined)?.nativeId);
    const status = await pagurus.native.status({ runtime: "codex" });
    assert.deepEqual(
      [status.program?.version, status.program?.login, status.adoptedFrom],
      [CODEX_VERSION, "not logged in", nativeId],
    );
    await assert.rejects(
      pagurus.native.bind({ runtime: "codex", nativeId: "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5" }),
      { code: "thread_unknown" },
    );
  });

  it("is listed, adopted and continued at the command line", async () => {
    const nativeId = await bareThread();
    mkdirSync(join(bench.root, "home"), { mode: 0o700 });
    writeFileSync(join(bench.root, "home/pagurus.json"), JSON.stringify(bench.config()));
    const env = { ...bench.env, PAGURUS_HOME: join(bench.root, "home") };
    const pagurus = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)(process.execPath, [MAIN, "codex", ...args], { cwd: bench.cwd, env })).stdout;
    const [listed] = JSON.parse(await pagurus("threads", "--json")) as ListedThread[];
    assert.equal(listed?.nativeId, nativeId);
    assert.match(
      await pagurus("bind", nativeId, "--session", "work"),
      /^Imported the Codex session .* as session "work": /,
    );
    assert.equal(await pagurus("resume", "last", "What else?"), "Answer 3.\n");
    seenOnce(bench.request(-1), [...TEXTS, "Answer 2.", "What else?"]);
  });

  it("continues itself under `legacy` where Codex uses its own login", async () => {
    const nativeId = await bareThread();
    const pagurus = await bench.host({ slot: "legacy" });
    await pagurus.native.bind({ runtime: "codex", nativeId });
    const sessionKey = `codex:${nativeId}`;
    const own = { sessionKey, model: "openai/gpt-5.5", runtime: "codex" };
    for (const [prompt, answer] of [
      ["What else?", "Answer 3."],
      ["And here?", "Answer 4."],
    ] as const) {
      const events = await bench.ask(pagurus, prompt, own);
      assert.match(JSON.stringify(events), new RegExp(answer));
      assert.equal(bench.request(-1).body["prompt_cache_key"], nativeId);
    }
    seenOnce(bench.request(-1), [
      ...TEXTS,
      SET.task.value,
      SET.tab.value,
      "What else?",
      "Answer 3.",
      "And here?",
    ]);
    const { boundTo } = await pagurus.native.status({ runtime: "codex", sessionKey });
    assert.equal(boundTo, nativeId);
  });

  it("continues natively under `legacy`, and gets messages from elsewhere", async () => {
    const nativeId = await bareThread();
    const pagurus = await bench.host({ slot: "legacy" });
    const { goesOn } = await pagurus.native.bind({ runtime: "codex", nativeId, sessionKey: "main" });
    assert.equal(goesOn, "thread");
    await bench.ask(pagurus, "What else?");
    const third = bench.request(-1);
    const thread = third.body["prompt_cache_key"];
    assert.notEqual(thread, nativeId, "a fork: no thread can change its provider");
    seenOnce(third, [...TEXTS, SET.task.value, SET.tab.value, "What else?"]);
    assert.deepEqual(
      conversation(third).filter((line) => line.startsWith("user:")),
      ["user: Where is the whelk?", "user: And the crab?", "user: What else?"],
    );
    await bench.ask(pagurus, "And here?", { runtime: "embedded" });
    seenOnce(bench.request(-1), [...TEXTS, "What else?", "Answer 3.", "And here?"]);
    await bench.ask(pagurus, "Back again?");
    const last = bench.request(-1);
    assert.equal(last.body["prompt_cache_key"], thread);
    seenOnce(last, [...TEXTS, "What else?", "Answer 3.", "And here?", "Answer 4.", "Back again?"]);
  });
});
