/** Ageing of old tool results in whole turns, whatever engine is in the slot. Source: context-engine page, "Relationship to compaction and memory". */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { statusText } from "../../packages/host/src/command/status-text.ts";
import { turnGauge } from "../../packages/host/src/command/context-gauge.ts";
import { receiptText } from "../../packages/host/src/command/receipt-table.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { TurnSummary } from "../../packages/contract/src/host/events.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { AgentHarness } from "../../packages/contract/src/harness/harness.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { HARNESS_CONTRACT } from "../../packages/contract/src/version.ts";
import { Bench, words } from "./in-process.ts";
import { modelConfig } from "./setting.ts";
import { startWith } from "./start-with.ts";
import type { WireBody } from "./wire-bodies.ts";

let bench: Bench | undefined;

const ROUNDS = 8;
const CHARS = 9_000;
/** Each result is about a tenth of it. */
const WINDOW = 40_000;

/** An engine of a plugin, which passes copies of the history on. */
function another(): ContextEngine {
  return {
    info: { id: "another", name: "Another" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages: structuredClone(messages), estimatedTokens: 0 }),
    compact: async () => ({ ok: true, compacted: false }),
  };
}

/** A host whose model reads a file in each turn but the last ones; the results fill a part of the window. */
async function conversation(
  slot: string,
  contextPruning: object = { ttl: "0m" },
  harnesses: AgentHarness[] = [],
  defaults: object = {},
): Promise<{ at: Bench; host: Pagurus }> {
  const at = (bench = await Bench.with(({ body }) => {
    // Requests for summaries have other last messages.
    const last = JSON.stringify((body["messages"] as unknown[]).at(-1));
    const [, note] = /"Read note (\d+)"/.exec(last) ?? [];
    return note === undefined
      ? { text: "Answer." }
      : { toolCalls: [{ id: `c${note}`, name: "read", arguments: { path: `note-${note}.txt` } }] };
  }));
  for (let round = 0; round < ROUNDS; round += 1) {
    const line = `fact ${round} of the quay, `;
    writeFileSync(
      join(at.root, `note-${round}.txt`),
      `${line.repeat(CHARS / line.length / 30)}\n`.repeat(30),
    );
  }
  const config = modelConfig(
    "openai-completions",
    at.server.url,
    { contextWindow: WINDOW },
    {
      agents: { defaults: { contextPruning, permission: { mode: "auto" }, ...defaults } },
      plugins: { slots: { contextEngine: slot } },
      logging: { level: "silent" },
    },
  );
  const host = await at.host({ more: { config, engines: { another }, harnesses } });
  for (let round = 0; round < ROUNDS; round += 1) await at.ask(host, `Read note ${round}`);
  return { at, host };
}

function results(body: WireBody): string[] {
  return body.messages.flatMap((message) => message.results.map(({ text }) => text));
}

/** Texts of the results in the transcript, compacted ones included. */
function stored(host: Pagurus): string[] {
  const { file } = host.sessions().find("main") ?? assert.fail("the session exists");
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { message?: AgentMessage })
    .flatMap(({ message }) => (message?.role === "toolResult" ? [words(message)] : []));
}

/** Number of results that are cut or cleared. */
function agedIn(body: WireBody): number {
  return results(body).filter((text) => /characters left out|result content cleared/.test(text)).length;
}

describe("old tool results", () => {
  afterEach(async () => {
    await bench?.end();
    bench = undefined;
  });
  for (const slot of ["legacy", "lossless", "another"])
    it(`age in what is sent under the engine ${slot}, and stay whole in the transcript`, async () => {
      const { at, host } = await conversation(slot);
      const summary = (await at.ask(host, "Now?")).at(-1) as unknown as TurnSummary;
      const body = at.body(-1);
      const count = agedIn(body);
      assert.ok(count > 0 && count < results(body).length, `${count} of ${results(body).length}`);
      const kept = stored(host);
      assert.equal(kept.length, ROUNDS);
      for (const text of kept) assert.ok(text.length > CHARS * 0.9 && !/left out|cleared/.test(text));
      assert.deepEqual(summary.degraded, []);
    });

  it("are counted in the receipt and in the gauge, which is the smaller for them", async () => {
    const { at, host } = await conversation("legacy");
    const summary = (await at.ask(host, "Now?")).at(-1) as unknown as TurnSummary;
    const count = agedIn(at.body(-1));
    const [receipt] = (await host.context.receipts({ sessionKey: "main" })).slice(-1);
    assert.ok(receipt);
    const aged = receipt.parts.filter(({ trimmed }) => trimmed?.aged !== undefined);
    assert.equal(aged.length, count);
    assert.match(receiptText(receipt), /^ {2}old, shortened: \w+, [\d.]+ KB → [\d.]+ KB$/m);
    assert.equal(summary.context?.agedResults, count);
    assert.match(turnGauge(summary) ?? "", new RegExp(`, ${count} old tool results? shortened`));
    const status = await host.status({ cwd: at.root });
    assert.equal(status.context.agedResults, count);
    assert.match(statusText(status), /old tool results? shortened/);

    const whole = await conversation("legacy", { mode: "off" });
    const without = (await whole.at.ask(whole.host, "Now?")).at(-1) as unknown as TurnSummary;
    assert.equal(agedIn(whole.at.body(-1)), 0);
    assert.equal(without.context?.agedResults, undefined);
    assert.ok((summary.context?.tokens ?? Infinity) < (without.context?.tokens ?? 0));
    await at.end();
  });

  for (const [seam, ages] of [
    ["wire", true],
    ["thread", false],
    ["projection", false],
  ] as const)
    it(`${ages ? "age" : "stay as they were sent"} in a runtime with the seam ${seam}`, async () => {
      let shown: readonly AgentMessage[] = [];
      const runtime: AgentHarness = {
        id: "other",
        label: "Other",
        contract: HARNESS_CONTRACT,
        execution: { kind: "in-process" },
        seam,
        capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
        supports: () => ({ supported: true }),
        start: startWith(async (turn) => {
          shown = (await turn.context.assemble()).messages;
          return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
        }),
      };
      const { at, host } = await conversation("legacy", { ttl: "0m" }, [runtime]);
      await at.ask(host, "Now?", { runtime: "other" });
      const found = shown.filter(({ role }) => role === "toolResult").map(words);
      assert.equal(found.length, ROUNDS);
      assert.equal(
        found.some((text) => text.includes("characters left out")),
        ages,
      );
    });

  it("that are cut to a small limit have that size in a context that continues after a pause", async () => {
    const { at, host } = await conversation("legacy", { ttl: "0m" }, [], { toolResultMaxChars: 1_000 });
    const summary = (await at.ask(host, "Now?")).at(-1) as unknown as TurnSummary;
    const sent = results(at.body(-1));
    assert.equal(sent.length, ROUNDS);
    for (const text of sent) assert.ok(text.length <= 1_000, `${text.length} characters`);
    assert.equal(summary.context?.agedResults, undefined);
  });

  it("stay whole by default in turns that follow each other", async () => {
    const { at, host } = await conversation("legacy", {});
    await at.ask(host, "Now?");
    assert.equal(agedIn(at.body(-1)), 0);
  });
});
