/** A row of the list of requests has each member of its receipt, or a reason for each that it leaves out. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Receipt } from "../../packages/contract/src/session/receipt.ts";
import { InspectedSessions } from "../../packages/server/src/inspect/inspected-sessions.ts";
import { requestFacts } from "../../packages/api/src/request-facts.ts";
import { NOT_SAME } from "../../packages/server/src/inspect/requests/request-row.ts";
import { request } from "../../packages/api/src/inspect-answers.ts";
import { openReceiptLog, receiptFile } from "../../packages/host/src/stores/files/receipt-log.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";

const RECEIPT: Required<Omit<Receipt, "usage">> = {
  turnId: "t",
  request: 0,
  timestamp: new Date(1_000).toISOString(),
  purpose: "compaction",
  seam: "wire",
  runtime: "codex",
  engine: "lossless",
  model: "test/small",
  fallback: { from: "test/large", reason: "overloaded" },
  epoch: "e",
  fingerprint: "f",
  parts: [{ source: "live", role: "user", tokens: 3, bytes: 9, hash: "0".repeat(16) }],
  liveFrom: 0,
  sharedParts: 0,
  sharedTokens: 0,
  tokens: 3,
  tokenBudget: 900,
  contextTokens: 4,
  fixedTokens: 20,
  degraded: "the engine failed",
  own: { system: "s", tools: "t" },
  cache: { miss: { cause: "model", missedTokens: 2 } },
};

describe("a row of the list of requests", () => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-row-"));
  const store = openSessionStore({ agentDir: join(home, "agents", "main"), agentId: "main" });
  after(() => {
    store.close();
    rmSync(home, { recursive: true, force: true });
  });

  it("has each member of the receipt but those with a reason, as the API's schema and the report have them", async () => {
    store.openWriter("a", { cwd: home, create: true }).close();
    const record = store.find("a");
    assert.ok(record);
    const log = openReceiptLog({ file: receiptFile(record) });
    log.append(RECEIPT);
    log.setUsage("t", 0, { input: 12, output: 1, cacheRead: 88, cacheWrite: 20_000, totalTokens: 20_101 });
    const session = new InspectedSessions().open({ home, agentId: "main", sessionKey: "a", store });
    const [row, ...others] = await session.requests();
    assert.ok(row);
    assert.deepEqual(others, []);
    const same = Object.entries(RECEIPT).filter(([member]) => !Object.hasOwn(NOT_SAME, member));
    for (const [member, value] of same) assert.deepEqual(row[member as keyof typeof row], value, member);
    assert.deepEqual([row.parts, row.inputTokens, row.cacheShare], [1, 20_100, 88 / 20_100]);
    assert.deepEqual(request.parse(row), row);
    const facts = requestFacts(row);
    assert.ok(facts.includes("20,100 tokens in"), String(facts));
    assert.ok(facts.includes("for test/large (overloaded)"), String(facts));
  });
});
