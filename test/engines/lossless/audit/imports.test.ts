import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pagurus } from "../../../../packages/contract/src/host/host.ts";
import { ClaudeLines } from "../../../importers/sessions/claude-lines.ts";
import { LcmFixture } from "../../../importers/sessions/lcm-fixture.ts";
import { jsonLines } from "../../../importers/sessions/support.ts";
import { Bench } from "../../../turn/in-process.ts";
import { modelConfig } from "../../../turn/setting.ts";

async function withHost(work: (bench: Bench, host: Pagurus) => Promise<void>): Promise<void> {
  const bench = await Bench.with(() => ({ text: "done", chunkSize: 1_000 }));
  try {
    const more = { logging: { level: "silent" }, plugins: { slots: { contextEngine: "lossless" } } };
    await work(
      bench,
      await bench.host({ more: { config: modelConfig("openai-completions", bench.server.url, {}, more) } }),
    );
  } finally {
    await bench.end();
  }
}

/** The newest request, one line per message. */
function lastRequest(bench: Bench): string[] {
  return bench.body(-1).messages.map(({ role, text }) => `${role}: ${text}`);
}

function compacted(lines: ClaudeLines, summary: string): void {
  const compactMetadata = { trigger: "auto", preTokens: 100_000 };
  lines.line("system", { subtype: "compact_boundary", logicalParentUuid: lines.last, compactMetadata }, null);
  lines.user(summary, { isCompactSummary: true });
}

const head = (summary: string): string => `<conversation_summary>\n${summary}\n</conversation_summary>`;

test("an imported session that fits is shown whole, whatever its compactions left out, turn after turn", async () => {
  await withHost(async (bench, host) => {
    const lines = new ClaudeLines();
    lines.user("the first words");
    lines.part("msg_1", { type: "text", text: "the first answer" });
    compacted(lines, "First summary.");
    lines.user("the second words");
    lines.part("msg_2", { type: "text", text: "the second answer" });
    compacted(lines, "Second summary.");
    lines.part("msg_3", { type: "text", text: "the third answer" });
    await host.sessions().import(jsonLines(bench.root, "a.jsonl", lines.rows), { sessionKey: "imported" });
    const events = await bench.ask(host, "go on", { sessionKey: "imported" });
    assert.ok(events.every(({ type }) => type !== "context.degraded"));
    const first = lastRequest(bench);
    assert.deepEqual(first, [
      "user: the first words",
      "assistant: the first answer",
      "user: the second words",
      "assistant: the second answer",
      "assistant: the third answer",
      "user: go on",
    ]);
    await bench.ask(host, "and on", { sessionKey: "imported" });
    assert.deepEqual(lastRequest(bench), [...first, "assistant: done", "user: and on"]);
  });
});

test("what lossless-claw had summarized is shown verbatim where it fits", async () => {
  await withHost(async (bench, host) => {
    const db = new LcmFixture(bench.root);
    const id = db.conversation({ session_id: "s", session_key: "agent:main:main" });
    const messages = [
      db.message(id, 0, "user", "the oldest words"),
      db.message(id, 1, "assistant", "the oldest answer"),
      db.message(id, 2, "user", "the newest words"),
      db.message(id, 3, "assistant", "the newest answer"),
    ];
    db.summary(id, "sum_1", "They greeted each other.", messages.slice(0, 2));
    const items = [{ summary_id: "sum_1" }, { message_id: messages[2] }, { message_id: messages[3] }];
    items.forEach((item, ordinal) =>
      db.insert("context_items", {
        conversation_id: id,
        ordinal,
        item_type: "summary_id" in item ? "summary" : "message",
        message_id: null,
        summary_id: null,
        ...item,
      }),
    );
    await host.sessions().import(db.file, { sessionKey: "claw" });
    await bench.ask(host, "go on", { sessionKey: "claw" });
    assert.deepEqual(lastRequest(bench), [
      "user: the oldest words",
      "assistant: the oldest answer",
      "user: the newest words",
      "assistant: the newest answer",
      "user: go on",
    ]);
  });
});

test("an imported session that begins with a summary is shown that summary", async () => {
  await withHost(async (bench, host) => {
    const lines = new ClaudeLines();
    compacted(lines, "Earlier work.");
    lines.part("msg_1", { type: "text", text: "the answer" });
    await host.sessions().import(jsonLines(bench.root, "a.jsonl", lines.rows), { sessionKey: "imported" });
    await bench.ask(host, "go on", { sessionKey: "imported" });
    assert.deepEqual(lastRequest(bench), [
      `user: ${head("Earlier work.")}`,
      "assistant: the answer",
      "user: go on",
    ]);
  });
});
