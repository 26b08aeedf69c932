/** Seam `wire` with the real Codex and a small window: what Codex adds to each request by itself is no room of the engine's. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ContextPreview } from "../../../src/contract/host.ts";
import type { Receipt } from "../../../src/contract/receipt.ts";
import { estimateTokens } from "../../../src/tokens/estimate.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { CodexBench } from "./codex-bench.ts";

const WINDOW = 48_000;
const RESERVE = WINDOW / 4;
const TURNS = 20;
const RESTARTED_BEFORE = 10;
/** About 1,500 tokens. */
const LONG = "The keeper of the quay wrote down which ships had come, and when they were to leave. ".repeat(
  80,
);

function isMain({ headers }: RecordedRequest): boolean {
  return headers["x-codex-turn-metadata"] !== undefined;
}

/** What no message of the host says: all of the body but what was said. */
function ownTokens({ body }: RecordedRequest): number {
  const items = body["input"] as Record<string, unknown>[];
  const own = items.filter(
    (item) =>
      item["role"] === "developer" || JSON.stringify(item["content"]).includes("<environment_context>"),
  );
  return estimateTokens(JSON.stringify({ ...body, input: own }));
}

describe(`${TURNS} turns of Codex in a window of ${WINDOW} tokens`, { timeout: 180_000 }, () => {
  let bench: CodexBench;
  let looked: ContextPreview;
  const receipts: Receipt[] = [];
  before(async () => {
    bench = await CodexBench.with((request, index) =>
      isMain(request)
        ? { text: `Answer ${index}. ${LONG}` }
        : { text: "## Goal\n- The berths are looked after." },
    );
    const plugins = { lossless: { config: { trigger: WINDOW } } };
    const settings = { seam: "wire", contextWindow: WINDOW, plugins } as const;
    let pagurus = await bench.host(settings);
    for (let turn = 0; turn < TURNS; turn += 1) {
      if (turn === RESTARTED_BEFORE) {
        await pagurus.close();
        pagurus = await bench.host(settings);
        looked = await pagurus.context.preview({ prompt: "Go on.", cwd: bench.cwd });
      }
      await bench.ask(pagurus, `Request ${turn}: look after berth ${turn}. ${LONG}`);
      const told = await pagurus.context.receipts({});
      receipts.push(...told.filter(({ seam }) => seam === "wire"));
    }
  });
  after(() => bench.end());

  const main = (): RecordedRequest[] => bench.server.requests.filter(isMain);

  it("leave free at every request what is kept for the answer", () => {
    const sizes = main().map(({ text }) => estimateTokens(text));
    assert.equal(sizes.length, TURNS);
    assert.ok(Math.max(...sizes) < WINDOW - RESERVE, sizes.join(" "));
    assert.ok(Math.max(...sizes) > (WINDOW - RESERVE) / 2, "and there was something to keep within");
  });

  it("count what Codex adds from the first request on, and what its bytes are", () => {
    assert.equal(receipts.length, TURNS);
    for (const [turn, { fixedTokens = 0, tokenBudget }] of receipts.entries()) {
      const request = main()[turn] ?? assert.fail();
      const own = ownTokens(request);
      assert.ok(own > 5_000, `turn ${turn}: ${own}`);
      assert.ok(Math.abs(fixedTokens - own) < 400, `turn ${turn}: ${fixedTokens} and ${own}`);
      assert.equal(tokenBudget, WINDOW - RESERVE - fixedTokens);
    }
  });

  it("are known to another host before its first request", () => {
    assert.equal(looked.receipt.tokenBudget, receipts[RESTARTED_BEFORE - 1]?.tokenBudget);
  });
});
