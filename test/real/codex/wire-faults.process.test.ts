/** Faults of Codex, its endpoint and its model with `wire`: session and thread stay whole. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import {
  contextOverflowReply,
  startServer,
  type ModelServer,
  type RecordedRequest,
} from "../../servers/server.ts";
import { conversation } from "./codex-bench.ts";
import { FaultBench } from "./fault-bench.ts";

const OUTPUT = { id: "c1", name: "exec_command", arguments: { cmd: "echo quay" } };

function keysOf(requests: readonly RecordedRequest[]): number {
  return new Set(requests.map(({ body }) => body["prompt_cache_key"])).size;
}

async function played(pagurus: Pagurus, cwd: string, prompt: string): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of pagurus.run({ prompt, cwd })) events.push(event);
  return events;
}

/** Returns all messages, and after a compaction none from before the turn. */
function shortening(): { engine: ContextEngine; compactions: number } {
  const made = { compactions: 0 } as { engine: ContextEngine; compactions: number };
  made.engine = {
    info: { id: "shortening", name: "Shortening", ownsCompaction: true, assembleScope: "call" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages: made.compactions === 0 ? messages : [],
      estimatedTokens: 0,
    }),
    compact: async () => {
      made.compactions += 1;
      return { ok: true, compacted: true, result: { tokensBefore: 100, tokensAfter: 10 } };
    },
  };
  return made;
}

describe("a fault on the wire of Codex", () => {
  let bench: FaultBench;
  let other: ModelServer | undefined;
  afterEach(async () => {
    await bench.end();
    await other?.close();
    other = undefined;
  });

  it("that ends Codex in a turn leaves the thread, in which the next turn continues", async () => {
    bench = await FaultBench.with((_request, index) => {
      if (index === 2) bench.killCodex();
      return index === 1 ? { text: "I look.", toolCalls: [OUTPUT] } : { text: `Answer ${index}.` };
    });
    const pagurus = await bench.host({ seam: "wire" });
    await bench.ask(pagurus, "First?");
    const last = (await played(pagurus, bench.cwd, "Second?")).at(-1);
    assert.equal(last?.type === "turn.failed" && last.error.code, "runtime_failed");
    await bench.ask(pagurus, "Third?");
    assert.equal(keysOf(bench.server.requests), 1, "one thread");
    const lines = conversation(bench.request(-1)).map((line) => line.replace(/^(result \S+)[\s\S]*/, "$1"));
    for (const line of ["user: First?", "user: Second?", "call exec_command c1", "result c1", "user: Third?"])
      assert.equal(lines.filter((each) => each === line).length, 1, lines.join("\n"));
  });

  it("that is a context too long for the provider is repaired without Codex noticing", async () => {
    bench = await FaultBench.with((_request, index) =>
      index === 1 ? contextOverflowReply("openai-responses") : { text: `Answer ${index}.` },
    );
    const made = shortening();
    const pagurus = await bench.host({ seam: "wire", engine: made.engine });
    await bench.ask(pagurus, "First?");
    const events = await bench.ask(pagurus, "Second?");
    assert.equal(made.compactions, 1);
    assert.deepEqual(conversation(bench.request(1)), [
      "user: First?",
      "assistant: Answer 0.",
      "user: Second?",
    ]);
    assert.deepEqual(conversation(bench.request(2)), ["user: Second?"]);
    assert.equal(events.filter(({ type }) => type === "model.request").length, 2);
    assert.deepEqual(
      events.filter(({ type }) => type === "model.retry"),
      [],
    );
    assert.equal(keysOf(bench.server.requests), 1, "one thread");
  });

  it("that stays too long is reported as such, and Codex gets no more requests", async () => {
    bench = await FaultBench.with((_request, index) =>
      index === 0 ? { text: "Answer." } : contextOverflowReply("openai-responses"),
    );
    const pagurus = await bench.host({ seam: "wire", engine: shortening().engine });
    await bench.ask(pagurus, "First?");
    const last = (await played(pagurus, bench.cwd, "Second?")).at(-1);
    assert.equal(last?.type === "turn.failed" && last.error.code, "context_overflow", JSON.stringify(last));
    assert.ok(bench.server.requests.length <= 3, `${bench.server.requests.length} requests`);
  });

  for (const slot of ["lossless", "legacy"])
    it(`that is a model of another protocol is no fault: requests are translated (${slot})`, async () => {
      bench = await FaultBench.with(() => ({ text: "unasked" }));
      other = await startServer({
        protocol: "openai-completions",
        script: (_request, index) =>
          index === 1 ? { text: "I look.", toolCalls: [OUTPUT] } : { text: `Answer ${index}.` },
      });
      const config = bench.config({ seam: "wire", slot }) as {
        models: { providers: { local: { api: string; baseUrl: string } } };
      };
      config.models.providers.local.api = "openai-completions";
      config.models.providers.local.baseUrl = other.url;
      const pagurus = await bench.host({ more: { config } });
      await bench.ask(pagurus, "First?");
      const events = await bench.ask(pagurus, "Second?");
      assert.equal(other.requests.length, 3);
      const { messages } = (other.requests.at(-1) ?? assert.fail()).body;
      const roles = (messages as { role: string }[]).map(({ role }) => role);
      assert.deepEqual(roles.slice(-5), ["user", "assistant", "user", "assistant", "tool"]);
      const done = events.find((event) => event.type === "tool.completed");
      assert.match(JSON.stringify(done), /quay/);
      assert.deepEqual(
        events.filter(({ type }) => type === "context.degraded"),
        [],
      );
    });
});
