/** Why a provider's cache missed, in the receipt and in `context show`: the host's own finding beside the provider's. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Receipt } from "../../packages/contract/src/session/receipt.ts";
import { changeSince, missReported, pricedMiss } from "../../packages/host/src/turn/receipts/cache-miss.ts";
import { part, receipt } from "../cli/fake-pagurus.ts";
import { startServer, type Protocol, type ReplyStep } from "../servers/server.ts";
import { finish, makeSetting, modelConfig } from "./setting.ts";

interface Turn {
  step: ReplyStep;
  /** Options of `pagurus run`. */
  options?: string[];
  /** What happens in the workspace before the turn. */
  before?(workspace: string): void;
}

interface Played {
  receipts: Receipt[];
  /** `context show` after each turn. */
  shown: string[];
  bodies: Record<string, unknown>[];
}

/** Each turn is a command of its own. */
async function play(
  protocol: Protocol,
  turns: readonly Turn[],
  { engine = "legacy", asks = true }: { engine?: string; asks?: boolean } = {},
): Promise<Played> {
  const server = await startServer({ protocol, script: turns.map(({ step }) => step) });
  const config = modelConfig(protocol, server.url, {}, { plugins: { slots: { contextEngine: engine } } });
  const { providers } = config["models"] as { providers: Record<string, Record<string, unknown>> };
  providers["test"] = {
    ...providers["test"],
    ...(asks ? { cacheDiagnostics: true } : {}),
    models: ["model", "other"].map((id) => ({ id, contextWindow: 100_000, maxTokens: 4_000 })),
  };
  const setting = makeSetting(config);
  const played: Played = { receipts: [], shown: [], bodies: [] };
  try {
    for (const [at, { options = [], before }] of turns.entries()) {
      before?.(setting.workspace);
      const ran = await finish(setting, ["run", ...options, `Question ${at}`]);
      assert.equal(ran.code, 0, ran.stderr);
      const { stdout } = await finish(setting, ["context", "show", "--json"]);
      const [newest] = JSON.parse(stdout) as Receipt[];
      assert.ok(newest);
      played.receipts.push(newest);
      played.shown.push((await finish(setting, ["context", "show"])).stdout);
    }
    played.bodies.push(...server.requests.map(({ body }) => body));
  } finally {
    setting.remove();
    await server.close();
  }
  return played;
}

describe("a cache miss", () => {
  it("has the first part that changed, and what the provider says of the same requests", async () => {
    const changed = { cache_miss_reason: { type: "system_changed", cache_missed_input_tokens: 1_234 } };
    const { receipts, shown, bodies } = await play("anthropic-messages", [
      { step: { text: "One." } },
      { step: { text: "Two.", cacheDiagnostics: null } },
      {
        step: { text: "Three.", cacheDiagnostics: changed },
        before: (workspace) => writeFileSync(join(workspace, "AGENTS.md"), "Count the quays.\n"),
      },
      { step: { text: "Four." }, options: ["--model", "test/other"] },
    ]);
    assert.deepEqual(
      bodies.map((body) => body["diagnostics"]),
      [null, "msg_0", "msg_1", "msg_2"].map((id) => ({ previous_message_id: id })),
      "each request names the answer before it, over processes too",
    );
    assert.deepEqual(
      receipts.map(({ cache }) => [cache?.miss?.cause, cache?.diagnosis?.reason]),
      [
        [undefined, undefined],
        [undefined, "none"],
        ["system", "system_changed"],
        ["model", "none"],
      ],
    );
    assert.match(shown[2] ?? "", /cache miss: the system prompt changed, [\d,]+ tokens\n/);
    assert.match(shown[2] ?? "", /cache miss, as the provider says: system_changed, 1,234 tokens/);
    assert.match(shown[3] ?? "", /cache miss: another model/);
    assert.doesNotMatch(shown[1] ?? "", /cache miss:/);
  });

  it("is found without the provider's help, and without a new member in the request", async () => {
    const { receipts, bodies } = await play(
      "anthropic-messages",
      [{ step: { text: "One." } }, { step: { text: "Two." }, options: ["--model", "test/other"] }],
      { asks: false },
    );
    assert.deepEqual(receipts[1]?.cache?.miss?.cause, "model");
    assert.ok(bodies.every((body) => !("diagnostics" in body)));
  });
});

describe("the host's finding", () => {
  const system = part({ source: "system", role: "system", hash: "s", tokens: 300 });
  const tools = part({ source: "tools", role: "system", hash: "t", tokens: 700 });
  const message = (hash: string, tokens = 5_000) => part({ source: "history", hash, tokens });
  const compared = (parts: Receipt["parts"], sharedParts: number, more: Partial<Receipt> = {}): Receipt =>
    receipt({
      parts,
      sharedParts,
      tokens: parts.reduce((sum, each) => sum + each.tokens, 0),
      sharedTokens: parts.slice(0, sharedParts).reduce((sum, each) => sum + each.tokens, 0),
      ...more,
    });
  const before = compared([system, tools, message("a"), message("b")], 0);

  it("is none for a request that begins with the one before", () => {
    assert.equal(changeSince(before, compared([...before.parts, message("c")], 4)), undefined);
  });

  it("names tools and messages, and the tokens after the change", () => {
    const otherTools = { ...tools, hash: "t2" };
    assert.deepEqual(changeSince(before, compared([system, otherTools, message("a")], 1)), {
      cause: "tools",
      missedTokens: 10_700,
    });
    assert.deepEqual(changeSince(before, compared([system, tools, message("summary")], 2)), {
      cause: "messages",
      missedTokens: 10_000,
    });
  });

  it("names the parts of a harness that only its own request shows", () => {
    const own = { system: "1", tools: "2" };
    const first = { ...before, own };
    const next = (changed: Partial<typeof own>): Receipt =>
      compared([...before.parts, message("c")], 4, { own: { ...own, ...changed } });
    assert.equal(changeSince(first, next({})), undefined);
    assert.equal(changeSince(first, next({ system: "x" }))?.cause, "system");
    assert.equal(changeSince(first, next({ tools: "x" }))?.cause, "tools");
  });

  it("costs what the tokens cost more than from the cache, where both prices are known", () => {
    const miss = { cause: "tools", missedTokens: 1_000_000 } as const;
    assert.equal(pricedMiss(miss, { input: 3, output: 15, cacheRead: 0.5 }).cost, 2.5);
    assert.equal(pricedMiss(miss, { input: 3, output: 15, cacheRead: 0.5, cacheWrite: 3.75 }).cost, 3.25);
    assert.deepEqual(pricedMiss(miss, { input: 3, output: 15 }), miss);
    assert.deepEqual(pricedMiss(miss, undefined), miss);
  });

  it("is the time, or unknown, where an unchanged beginning was not read from the cache", () => {
    const at = (timestamp: string): Receipt => compared([...before.parts, message("c")], 4, { timestamp });
    const first = { ...before, timestamp: "2026-01-01T00:00:00.000Z" };
    const usage = { input: 11_000, output: 1, totalTokens: 11_001, cacheRead: 0 };
    const later = at("2026-01-01T00:05:01.000Z");
    assert.deepEqual(missReported(first, later, usage), { cause: "time", missedTokens: 11_000 });
    assert.equal(missReported(first, at("2026-01-01T00:01:00.000Z"), usage)?.cause, "unknown");
    assert.equal(missReported(first, later, { ...usage, cacheRead: 10_000 }), undefined);
    const { cacheRead: _none, ...unreported } = usage;
    assert.equal(missReported(first, later, unreported), undefined);
  });
});
