/** Agents whose context goes through a gateway: one native session for all turns, which gets the input alone. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { FakeGateway } from "../claude/fake-gateway.ts";
import { answer, failure, hostOf, noted, prompts, setUp, started, tearDown, turn } from "./agent-bench.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";
import { processIsAlive } from "../../../packages/core/src/platform/process-group.ts";

let gateway: FakeGateway;
const state = { epoch: "one", addition: "Ask the harbour master." };

function engine(): ContextEngine {
  return {
    info: { id: "epochs", name: "Epochs" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages: [{ role: "user", content: `Head of ${state.epoch}.` }, ...messages],
      estimatedTokens: 10,
      contextProjection: { mode: "thread_bootstrap", epoch: state.epoch },
      systemPromptAddition: state.addition,
    }),
    compact: async () => ({ ok: true, compacted: false }),
  };
}

function wired(way = "routed", more: object = {}): Promise<Pagurus> {
  return hostOf({ way, engine: engine(), gateway, entry: { context: "wire" }, ...more });
}

function degradations(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "context.degraded" && event.stage === "projection" ? [event.reason] : [],
  );
}

function sessions(): unknown[] {
  return noted().flatMap((each) => (each["new"] === undefined ? [] : [each["new"]]));
}

describe("an agent at the gateway", { timeout: 60_000 }, () => {
  beforeEach(async () => {
    setUp();
    gateway = await FakeGateway.start();
    Object.assign(state, { epoch: "one", addition: "Ask the harbour master." });
  });
  afterEach(async () => {
    assert.ok(
      gateway.routes.every(({ turn: served, isClosed }) => isClosed || served === undefined),
      "no turn is served between turns",
    );
    await tearDown();
    assert.deepEqual(gateway.openRoutes, [], "no route is left open");
    await gateway.close();
  });
  it("has one session for all turns, through epochs, fragments and additions, and gets the input alone", async () => {
    const host = await wired();
    await turn(host, "First.");
    Object.assign(state, { epoch: "two", addition: "Ask nobody." });
    const more = { additionalContext: { tab: { value: "Open.", kind: "untrusted" as const } } };
    const events = await turn(host, "Second.", more);
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.seam, "wire");
    assert.deepEqual(degradations(events), []);
    assert.deepEqual(prompts(), [["First."], ["Second."]]);
    assert.equal(sessions().length, 1);
    assert.deepEqual(
      gateway.asked.map(({ shown, addition }) => ({ shown, addition })),
      [
        { shown: ["user Head of one.", "user First."], addition: "Ask the harbour master." },
        {
          shown: [
            "user Head of two.",
            "user First.",
            "assistant Heard 1.",
            "user <external_tab>Open.</external_tab>",
            "user Second.",
          ],
          addition: "Ask nobody.",
        },
      ],
    );
    const prompt = JSON.stringify(noted().find((each) => "new" in each)?.["systemPrompt"]);
    assert.ok(prompt.includes("Working folder:") && !prompt.includes("harbour master"));
    const receipts = await host.context.receipts({});
    assert.deepEqual(
      receipts.map(({ seam, usage }) => [seam, usage?.totalTokens]),
      [["wire", 24]],
    );
  });

  longTest("is set to it by providers/set, and has a process of its own for each session", async () => {
    const host = await wired();
    await turn(host, "First.", { sessionKey: "a" });
    await turn(host, "First.", { sessionKey: "b" });
    const set = noted().flatMap(({ provider }) => (provider === undefined ? [] : [provider]));
    assert.deepEqual(
      (set as { providerId: string; apiType: string; headers: Record<string, string> }[]).map(
        ({ providerId, apiType, headers }) => [providerId, apiType, headers["x-fake-token"]],
      ),
      [
        ["main", "openai", "secret-0"],
        ["main", "openai", "secret-1"],
      ],
    );
    assert.ok(!JSON.stringify(set).includes("Bearer k"), "and not with the host's key");
    assert.deepEqual(
      gateway.routes.map(({ request }) => [request.api, request.runtime, request.sessionKey]),
      [
        ["openai-responses", "acp", "a"],
        ["openai-responses", "acp", "b"],
      ],
    );
  });

  longTest(
    "begins an empty session after its process was killed, and after an abort; the gateway sends the rest",
    async () => {
      const host = await wired();
      await turn(host, "First.");
      const [pid = 0] = started();
      process.kill(pid, "SIGKILL");
      await until(() => !processIsAlive(pid));
      assert.equal(answer(await turn(host, "Second.")), "Heard 1.");
      assert.deepEqual(prompts(), [["First."], ["Second."]]);
      assert.equal(started().length, 2);
      assert.equal(gateway.asked.at(-1)?.shown.length, 4);
      await turn(host, "Now !hang", {}, (event, abort) => event.type === "text.delta" && abort());
      await turn(host, "Fourth.");
      assert.equal(sessions().length, 3);
      assert.deepEqual(prompts().at(-1), ["Fourth."]);
      assert.deepEqual(gateway.asked.at(-1)?.shown.slice(-3), [
        "user Now !hang",
        "assistant I wait.",
        "user Fourth.",
      ]);
    },
  );

  it("ends its turn with our error when the engine's context fails", async () => {
    const { code } = failure(await turn(await wired(), "What a long story. ".repeat(40_000)));
    assert.equal(code, "live_turn_too_large");
  });

  longTest(
    "falls back to the prompt when it cannot be set to the gateway, without a gateway, and without a key",
    async () => {
      const by = "The context of this turn is sent in the prompt and not through the model gateway:";
      for (const [way, reason] of [
        ["", 'The ACP agent "mine" does not support endpoints for openai-responses.'],
        ["routed elsewhere", 'The ACP agent "mine" does not support endpoints for openai-responses.'],
      ] as const) {
        const events = await turn(await wired(way), "First.", { sessionKey: `of-${way.length}` });
        assert.deepEqual(degradations(events), [`${by} ${reason}`]);
        const last = events.at(-1);
        assert.equal(last?.type === "turn.completed" && last.seam, "projection", JSON.stringify(last));
      }
      gateway.failure = new PagurusError("gateway_failed", "No port is free.");
      const events = await turn(await wired(), "First.", { sessionKey: "failed" });
      assert.deepEqual(degradations(events), [`${by} No port is free.`]);
      const own = await wired("routed", { entry: { context: "wire", login: "own" } });
      assert.deepEqual(degradations(await turn(own, "First.", { sessionKey: "own" })), [
        `${by} The ACP agent "mine" uses its own login, and the model gateway serves API keys only.`,
      ]);
    },
  );
});
