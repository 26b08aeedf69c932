/** Seam `wire` with the real Codex and a small window: what Codex adds to each request is not available to the engine. */
import { turnMetadata } from "./turn-metadata.ts";
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ContextPreview } from "../../../packages/contract/src/host/host.ts";
import type { Receipt } from "../../../packages/contract/src/session/receipt.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
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

function isMain(request: RecordedRequest): boolean {
  return turnMetadata(request) !== "";
}

/** Size of the body without the conversation's messages. */
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
      const receiptsNow = await pagurus.context.receipts({});
      receipts.push(...receiptsNow.filter(({ seam }) => seam === "wire"));
    }
  });
  after(() => bench.end());

  const main = (): RecordedRequest[] => bench.server.requests.filter(isMain);

  it("leave the reserve for the answer free in every request", () => {
    const sizes = main().map(({ text }) => estimateTokens(text));
    assert.equal(sizes.length, TURNS);
    assert.ok(Math.max(...sizes) < WINDOW - RESERVE, sizes.join(" "));
    assert.ok(Math.max(...sizes) > (WINDOW - RESERVE) / 2, "and there was something to keep within");
  });

  it("count Codex's own additions from the first request on, by their bytes", () => {
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
