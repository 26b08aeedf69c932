/** Seam "wire" on Claude Code and a small window: what the program adds to each request is not available to the engine. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Receipt } from "../../../packages/contract/src/session/receipt.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { messagesTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { ClaudeBench } from "./claude-bench.ts";
import { isMain } from "./wire-words.ts";

const WINDOW = 16_000;
const RESERVE = WINDOW / 4;
const TURNS = 24;
/** About 300 tokens. */
const LONG = "The keeper of the quay wrote down which ships had come, and when they were to leave. ".repeat(
  16,
);

/** As many of the newest turns as fit: it fills its budget, unlike our engines. */
const FILLING: ContextEngine = {
  info: { id: "filling", name: "Filling", ownsCompaction: true, assembleScope: "call" },
  ingest: async () => ({ ingested: true }),
  assemble: async ({ messages, prompt, tokenBudget = 0 }) => {
    const available = tokenBudget - estimateTokens(prompt ?? "");
    let from = 0;
    while (from < messages.length && messagesTokens(messages.slice(from)) > available)
      from = messages.findIndex(({ role }, index) => index > from && role === "user");
    return { messages: messages.slice(from), estimatedTokens: messagesTokens(messages.slice(from)) };
  },
  compact: async () => ({ ok: true, compacted: false, reason: "It has its own ways." }),
};

/** Size of the body without the conversation's messages. */
function ownTokens({ body }: RecordedRequest): number {
  return estimateTokens(JSON.stringify({ ...body, messages: [] }));
}

/** The engine's context. */
function conversationTokens(receipt: Receipt | undefined): number {
  assert.ok(receipt);
  return receipt.parts.reduce((sum, { role, tokens }) => sum + (role === "system" ? 0 : tokens), 0);
}

describe(`${TURNS} turns of Claude Code in a window of ${WINDOW} tokens`, { timeout: 180_000 }, () => {
  let bench: ClaudeBench;
  let hasLooked = false;
  const receipts: Receipt[] = [];

  before(async () => {
    bench = await ClaudeBench.with((_request, index) => {
      hasLooked = !hasLooked;
      if (!hasLooked) return { text: `Answer ${index}. ${LONG}` };
      const call = { id: `toolu_${index}`, name: "Bash", arguments: { command: `echo berth ${index}` } };
      return { text: `I look. ${LONG}`, toolCalls: [call] };
    });
    const pagurus = await bench.host({ context: "wire", contextWindow: WINDOW, engine: FILLING });
    for (let turn = 0; turn < TURNS; turn += 1) {
      const events = await bench.ask(pagurus, `Request ${turn}: look after berth ${turn}. ${LONG}`);
      assert.deepEqual(
        events.filter(({ type }) => type === "context.degraded"),
        [],
      );
      receipts.push(...(await pagurus.context.receipts({})));
    }
  });
  after(async () => {
    await bench.end();
    await bench.nothingLeft();
  });

  const main = (): RecordedRequest[] => bench.server.requests.filter(isMain);

  it("leave the reserve for the answer free in every request", () => {
    const sizes = main().map((request, index) => ownTokens(request) + conversationTokens(receipts[index]));
    assert.equal(sizes.length, 2 * TURNS);
    assert.ok(Math.max(...sizes) <= WINDOW - RESERVE, sizes.join(" "));
    assert.ok(Math.max(...sizes) > WINDOW - RESERVE - 1_000, `and fill the rest: ${sizes.join(" ")}`);
  });

  it("count the program's own additions from the first request on, by their bytes", () => {
    assert.equal(receipts.length, 2 * TURNS);
    for (const [index, { fixedTokens = 0, tokenBudget }] of receipts.entries()) {
      const own = ownTokens(main()[index] ?? assert.fail());
      assert.ok(own > 1_000, `request ${index}: ${own}`);
      assert.ok(Math.abs(fixedTokens - own) < 400, `request ${index}: ${fixedTokens} and ${own}`);
      assert.equal(tokenBudget, WINDOW - RESERVE - fixedTokens);
    }
  });
});
