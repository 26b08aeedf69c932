/** Seam `wire` with the real Codex: one thread for the session, and its model sees the engine's context. */
import { turnMetadata } from "./turn-metadata.ts";
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CodexBench, conversation, developerTexts } from "./codex-bench.ts";

function keysOf(requests: readonly RecordedRequest[]): unknown[] {
  return [...new Set(requests.map(({ body }) => body["prompt_cache_key"]))];
}

/** Codex's own instructions are not compared; the output of a tool has its times in it. */
function linesOf(request: RecordedRequest): string[] {
  return conversation(request).map((line) => line.replace(/^(result \S+)[\s\S]*/, "$1"));
}

const MORE =
  "The keeper of the quay wrote down which ships had come, and when they were to leave again. ".repeat(6);

describe("a session of Codex on the wire", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  const requests = (): RecordedRequest[] => bench.server.requests;

  it("reports each request, including a tool's round, and shows its model the conversation", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 1
        ? {
            text: "I look.",
            toolCalls: [{ id: "c1", name: "exec_command", arguments: { cmd: "echo quay" } }],
          }
        : { text: `Answer ${index}.` },
    );
    const pagurus = await bench.host({ seam: "wire" });
    await bench.ask(pagurus, "First?");
    const events = await bench.ask(pagurus, "Second?");
    assert.equal(keysOf(requests()).length, 1);
    assert.deepEqual(linesOf(bench.request(-1)), [
      "user: First?",
      "assistant: Answer 0.",
      "user: Second?",
      "assistant: I look.",
      "call exec_command c1",
      "result c1",
    ]);
    const reported = events.filter(({ type }) => type === "model.request");
    assert.equal(reported.length, 2);
    const receipts = await pagurus.context.receipts({});
    assert.deepEqual(
      receipts.map(({ seam, usage, parts }) => [seam, usage !== undefined, parts.length > 1]),
      [
        ["wire", true, true],
        ["wire", true, true],
      ],
    );
    const started = events.find((event) => event.type === "turn.started");
    assert.equal(started?.type === "turn.started" && started.seam, "wire");
    for (const { headers, path } of requests()) {
      assert.equal(headers["authorization"], "Bearer test-key");
      assert.equal(path, "/v1/responses");
    }
    const [instructions, ...others] = developerTexts(bench.request(-1)).filter((instruction) =>
      instruction.includes("Working folder:"),
    );
    assert.ok(instructions);
    assert.deepEqual(others, []);
  });

  it("continues in its thread after a restart of the host, whose gateway is another one", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 2
        ? {
            text: "I look.",
            toolCalls: [{ id: "c2", name: "exec_command", arguments: { cmd: "echo quay" } }],
          }
        : { text: `Answer ${index}.` },
    );
    for (const prompt of ["First?", "Second?"]) {
      const pagurus = await bench.host({ seam: "wire" });
      await bench.ask(pagurus, prompt);
      await pagurus.close();
    }
    const pagurus = await bench.host({ seam: "wire" });
    const events = await bench.ask(pagurus, "Third?");
    await bench.ask(pagurus, "Fourth?");
    assert.equal(keysOf(requests()).length, 1, "one thread");
    assert.deepEqual(linesOf(bench.request(-1)), [
      "user: First?",
      "assistant: Answer 0.",
      "user: Second?",
      "assistant: Answer 1.",
      "user: Third?",
      "assistant: I look.",
      "call exec_command c2",
      "result c2",
      "assistant: Answer 3.",
      "user: Fourth?",
    ]);
    assert.deepEqual(
      events.filter(({ type }) => type === "notice" || type === "context.degraded"),
      [],
    );
  });

  it("sees the turn of another runtime, though nothing of it is sent to the thread", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const pagurus = await bench.host({ seam: "wire" });
    await bench.ask(pagurus, "First?");
    await bench.ask(pagurus, "Second?", { runtime: "embedded" });
    await bench.ask(pagurus, "Third?");
    assert.deepEqual(linesOf(bench.request(-1)), [
      "user: First?",
      "assistant: Answer 0.",
      "user: Second?",
      "assistant: Answer 1.",
      "user: Third?",
    ]);
    assert.equal(bench.request(0).body["prompt_cache_key"], bench.request(2).body["prompt_cache_key"]);
  });

  it("keeps its thread through the engine's compactions, and continues after an aborted turn", async () => {
    let turn = 0;
    const stop = new AbortController();
    bench = await CodexBench.with((request) => {
      if (turnMetadata(request) === "") return { text: "## Goal\n- The berths are looked after." };
      if (turn === 7) stop.abort();
      return turn === 7 ? { text: MORE, delayMs: 500 } : { text: `Answer of ${turn}. ${MORE}` };
    });
    // A background compaction may ask for its summary at any time: only Codex's own requests are compared.
    const ofCodex = (): RecordedRequest[] => requests().filter((request) => turnMetadata(request) !== "");
    const shown = (): string[] => linesOf(ofCodex().at(-1) as RecordedRequest);
    const pagurus = await bench.host({
      seam: "wire",
      contextWindow: 40_000,
      plugins: { lossless: { config: { trigger: 2_500, headTokens: 800, tailTokens: 1_000 } } },
    });
    const epochs = new Set<string | undefined>();
    for (turn = 0; turn < 18; turn += 1) {
      const prompt = `Request ${turn}: look after berth ${turn}. ${MORE}`;
      if (turn === 7) {
        const run = pagurus.run({ prompt, cwd: bench.cwd, signal: stop.signal });
        for await (const event of run)
          if (event.type === "turn.completed") assert.equal(event.stopReason, "aborted");
        continue;
      }
      await bench.ask(pagurus, prompt);
      const [receipt] = await pagurus.context.receipts({});
      epochs.add(receipt?.epoch);
      assert.equal(shown().at(-1), `user: ${prompt}`);
    }
    assert.ok(epochs.size >= 2, `${epochs.size} epochs`);
    // Other instructions, of the engine's recall tools, start a new thread once: after the first compaction.
    assert.ok(keysOf(ofCodex()).length <= 2, `${keysOf(ofCodex()).length} threads`);
    assert.match(shown().join("\n"), /conversation_summary/);
    const { recentCompactions } = await pagurus.status({ cwd: bench.cwd });
    assert.ok(recentCompactions.every(({ lane }) => lane !== "harness"));
  });

  it("shows additional context once, where the engine has it", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const pagurus = await bench.host({ seam: "wire" });
    const additionalContext = { page: { value: "The page shows a harbour.", kind: "untrusted" as const } };
    await bench.ask(pagurus, "First?", { additionalContext });
    await bench.ask(pagurus, "Second?", { additionalContext });
    for (const { text } of requests()) assert.equal(text.split("The page shows a harbour.").length, 2);
  });

  it("takes input that joins the turn", async () => {
    bench = await CodexBench.with((_request, index): ReplyStep => {
      return index === 0
        ? {
            text: "I look.",
            toolCalls: [{ id: "c1", name: "exec_command", arguments: { cmd: "sleep 0.3; echo quay" } }],
          }
        : { text: `Answer ${index}.` };
    });
    const pagurus = await bench.host({ seam: "wire" });
    const run = pagurus.run({ prompt: "First?", cwd: bench.cwd });
    const events: TurnEvent[] = [];
    for await (const event of run) {
      events.push(event);
      if (event.type === "tool.started") run.steer("And the crab?");
    }
    assert.equal(events.at(-1)?.type, "turn.completed", JSON.stringify(events.at(-1)));
    await bench.ask(pagurus, "Second?");
    const lines = linesOf(bench.request(-1));
    for (const line of ["user: First?", "user: And the crab?", "user: Second?", "call exec_command c1"])
      assert.equal(lines.filter((each) => each === line).length, 1, line);
    assert.equal(lines.at(-1), "user: Second?");
  });

  it("reports in the host's sentence why a turn cannot be sent", async () => {
    bench = await CodexBench.with(() => ({ text: "An answer." }));
    const pagurus: Pagurus = await bench.host({ seam: "wire", contextWindow: 24_000 });
    const events: TurnEvent[] = [];
    const prompt = "The keeper writes. ".repeat(12_000);
    for await (const event of pagurus.run({ prompt, cwd: bench.cwd })) events.push(event);
    const last = events.at(-1);
    assert.equal(last?.type === "turn.failed" && last.error.code, "live_turn_too_large");
    await bench.ask(pagurus, "And now?");
  });
});
