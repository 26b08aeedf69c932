/** The engine's context in the requests of two real agents, and their own compactions. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { AcpBench, count, userTexts } from "./acp-bench.ts";

/** Names the epoch in `state`, and prepends its head. */
function epochs(state: { epoch: string }): ContextEngine {
  return {
    info: { id: "epochs", name: "Epochs" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages: [{ role: "user", content: `The head of ${state.epoch}.` }, ...messages],
      estimatedTokens: 10,
      systemPromptAddition: "An addition of the engine.",
      contextProjection: { mode: "thread_bootstrap", epoch: state.epoch },
    }),
    compact: async () => ({ ok: true, compacted: false }),
  };
}

/** Text of the system prompt, of both protocols. */
function systemText({ body }: RecordedRequest): string {
  const input = Array.isArray(body["input"]) ? (body["input"] as Record<string, unknown>[]) : [];
  const developer = input.filter(({ role }) => role === "developer");
  return JSON.stringify([body["system"], body["instructions"], developer]);
}

for (const agent of ["claude", "codex"] as const) {
  describe(`the context of the agent ${agent}`, () => {
    let bench: AcpBench;
    before(async () => {
      bench = await AcpBench.with(agent, (_request, main) => ({ text: `Answer number ${main}.` }));
    });
    after(() => bench.end());

    const boundTo = async (pagurus: Pagurus): Promise<string | undefined> =>
      (await pagurus.native.status({ runtime: "acp" })).boundTo;

    it("is sent as text when its session begins, grows within an epoch, and is sent again in the next", async () => {
      const state = { epoch: "one" };
      const pagurus = await bench.host({ engine: epochs(state) });
      await bench.ask(pagurus, "The first question?");
      const session = await boundTo(pagurus);
      await bench.ask(pagurus, "The second question?");
      assert.equal(await boundTo(pagurus), session);
      const grown = bench.main(-1);
      for (const expected of [
        "The head of one.",
        "The first question?",
        "Answer number 0.",
        "The second question?",
      ])
        assert.equal(count(grown, expected), 1, expected);
      assert.equal(
        systemText(grown).split("An addition of the engine.").length,
        2,
        "in the system prompt, once",
      );
      assert.ok(!userTexts(grown).some((words) => words.includes("An addition of the engine.")));

      state.epoch = "two";
      await bench.ask(pagurus, "The third question?");
      assert.notEqual(await boundTo(pagurus), session);
      const renewed = bench.main(-1);
      for (const expected of [
        "The head of two.",
        "The first question?",
        "Answer number 0.",
        "The second question?",
        "Answer number 1.",
        "The third question?",
      ])
        assert.equal(count(renewed, expected), 1, expected);
      assert.equal(count(renewed, "The head of one."), 0);
      await pagurus.close();
    });

    it("is compacted by the agent where no engine governs, which is reported; additional context is sent again", async () => {
      const pagurus = await bench.host({ slot: "legacy" });
      const tab = { tab: { value: "the harbour page", kind: "untrusted" as const } };
      const more = { sessionKey: "kept", additionalContext: tab };
      await bench.ask(pagurus, "How is the harbour?", more);
      await bench.ask(pagurus, "And the quay?", more);
      assert.equal(count(bench.main(-1), "the harbour page"), 1);
      const before = (await pagurus.native.status({ runtime: "acp", sessionKey: "kept" })).boundTo;
      const report = await pagurus.compact({ sessionKey: "kept", cwd: bench.cwd });
      assert.equal(report.compacted, true, JSON.stringify(report));
      await bench.ask(pagurus, "And now?", more);
      const request = bench.main(-1);
      assert.equal(count(request, "How is the harbour?"), 0, "the agent has summed it up");
      assert.equal(count(request, "the harbour page"), 1);
      assert.equal((await pagurus.native.status({ runtime: "acp", sessionKey: "kept" })).boundTo, before);
      await pagurus.close();
    });
  });
}
