/** The system text of turns on Codex: what hooks see of it, and that a changed one starts no new thread. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { PluginRegister } from "../../../packages/contract/src/host/plugin.ts";
import { CodexBench, conversation, developerTexts } from "./codex-bench.ts";

/** Adds another line each turn. `epoch`: undefined for an engine whose context goes into the prompt as text. */
function adding(epoch: string | undefined): ContextEngine {
  let turns = 0;
  return {
    info: { id: "adding", name: "Adding" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages,
      estimatedTokens: 10,
      systemPromptAddition: `Addition ${(turns += 1)}.`,
      ...(epoch === undefined ? {} : { contextProjection: { mode: "thread_bootstrap" as const, epoch } }),
    }),
    compact: async () => ({ ok: true, compacted: false, reason: "none" }),
  };
}

describe("a system text that changes, on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  const threads = (): number =>
    new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"])).size;

  it("stays on its thread for an engine's addition, and the newest one comes last (finding B5)", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const engine = adding("e1");
    let pagurus = await bench.host({ engine });
    await bench.ask(pagurus, "First?");
    await bench.ask(pagurus, "Second?");
    await bench.ask(pagurus, "Third?");
    const texts = developerTexts(bench.request(2)).filter((text) => /Addition \d/.test(text));
    assert.equal(texts.length, 3, texts.join("\n---\n"));
    assert.match(texts[0] ?? "", /Addition 1\./);
    assert.match(texts.at(-1) ?? "", /takes the place of all that was added[^]*Addition 3\./);
    const input = bench.request(2).body["input"] as unknown[];
    const before = bench.request(1).body["input"] as unknown[];
    assert.deepEqual(input.slice(0, before.length), before, "the request before is a prefix");
    assert.match(JSON.stringify(input.at(-2)), /Addition 3\./);
    await pagurus.close();
    // Another process of Codex, which resumes the thread.
    pagurus = await bench.host({ engine });
    await bench.ask(pagurus, "Fourth?");
    const last = developerTexts(bench.request(-1)).filter((text) => /Addition \d/.test(text));
    assert.match(last.at(-1) ?? "", /Addition 4\./);
    assert.equal(threads(), 1);
    assert.deepEqual(
      conversation(bench.request(-1)).filter((line) => line.startsWith("user:")),
      ["user: First?", "user: Second?", "user: Third?", "user: Fourth?"],
    );
  });

  it("stays on its thread for a line of a hook where Codex keeps the context, also after its own compaction (finding B5)", async () => {
    bench = await CodexBench.with(({ headers }, index) =>
      String(headers["x-codex-turn-metadata"]).includes('"request_kind":"compaction"')
        ? { text: "SUMMARY." }
        : { text: `Answer ${index}.` },
    );
    let line: string | undefined = "Mode is red.";
    const hook: PluginRegister = (api) =>
      api.on("before_prompt_build", () => (line === undefined ? undefined : { appendSystemContext: line }));
    const pagurus = await bench.host({ slot: "legacy", more: { plugins: { hook } } });
    await bench.ask(pagurus, "First?");
    line = "Mode is blue.";
    await bench.ask(pagurus, "Second?");
    const second = developerTexts(bench.request(-1)).filter((text) => text.includes("Mode is"));
    assert.match(second.at(-1) ?? "", /Mode is blue\./);
    await bench.ask(pagurus, "Third?");
    const same = developerTexts(bench.request(-1)).filter((text) => text.includes("Mode is blue."));
    assert.equal(same.length, 1, "sent once where it is the same");
    const report = await pagurus.compact({ cwd: bench.cwd });
    assert.equal(report.compacted, true, report.reason);
    await bench.ask(pagurus, "Fourth?");
    const compacted = developerTexts(bench.request(-1)).filter((text) => text.includes("Mode is"));
    assert.match(compacted.at(-1) ?? "", /Mode is blue\./);
    line = undefined;
    await bench.ask(pagurus, "Fifth?");
    assert.match(developerTexts(bench.request(-1)).at(-1) ?? "", /Nothing of what was added/);
    assert.equal(threads(), 1);
  });
});

describe("a hook before the prompt, on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("runs after the engine and sees what Codex receives (finding B4)", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const seen: { prompt: string; system: string }[] = [];
    const hook: PluginRegister = (api) =>
      api.on("before_prompt_build", ({ prompt, system }) => {
        seen.push({ prompt, system });
        return { prependSystemContext: "Hook first.", appendSystemContext: "Hook last." };
      });
    const pagurus = await bench.host({ engine: adding(undefined), more: { plugins: { hook } } });
    await bench.ask(pagurus, "First?");
    await bench.ask(pagurus, "Second?");
    const [first, second] = seen;
    assert.equal(first?.prompt, "First?");
    assert.match(
      second?.prompt ?? "",
      /^Pagurus assembled context[^]*\[user\]\nFirst\?[^]*request:\nSecond\?$/,
    );
    assert.deepEqual(conversation(bench.request(1)), [`user: ${second?.prompt}`]);
    assert.match(second?.system ?? "", /^Addition 2\.\n\nYou are an agent/);
    const texts = developerTexts(bench.request(1)).find((text) => text.includes("Addition 2.")) ?? "";
    assert.ok(texts.startsWith(`Hook first.\n\n${second?.system}\n\nHook last.`), texts.slice(0, 200));
  });

  it("sees the user's message and the addition where the context is the thread's own history (finding B4)", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const seen: { prompt: string; system: string }[] = [];
    const hook: PluginRegister = (api) =>
      api.on("before_prompt_build", ({ prompt, system }) => void seen.push({ prompt, system }));
    const pagurus = await bench.host({ engine: adding("e1"), more: { plugins: { hook } } });
    await bench.ask(pagurus, "First?");
    assert.equal(seen[0]?.prompt, "First?");
    const texts = developerTexts(bench.request(0)).find((text) => text.includes("Addition 1.")) ?? "";
    assert.ok(texts.startsWith(seen[0]?.system ?? "?"), texts.slice(0, 200));
  });
});
