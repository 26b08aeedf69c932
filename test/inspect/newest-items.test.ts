/** The end of a long session's line of time is the end of the whole one, without reading the rest. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { captureFolder } from "../../packages/core/src/config/captures.ts";
import type { Receipt } from "../../packages/contract/src/session/receipt.ts";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import { captureRecordFile } from "../../packages/gateway/src/capture/capture-record.ts";
import {
  InspectedSessions,
  type InspectedPlace,
} from "../../packages/server/src/inspect/inspected-sessions.ts";
import { openReceiptLog, receiptFile } from "../../packages/host/src/stores/files/receipt-log.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";

const USER = "the harbour of Triest has many quays. ".repeat(30);

describe("the newest items of a line of time", () => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-newest-"));
  let store: SessionStore;
  const place = (sessionKey: string): InspectedPlace => ({ home, agentId: "main", sessionKey, store });

  function make(key: string, turns: number): void {
    const writer = store.openWriter(key, { cwd: home, create: true });
    const record = store.find(key);
    assert.ok(record);
    const log = openReceiptLog({ file: receiptFile(record) });
    const folder = captureFolder(home, "main", key);
    mkdirSync(folder, { recursive: true });
    for (let turn = 0; turn < turns; turn++) {
      const turnId = `t-${turn}`;
      const input = writer.append({ type: "message", turnId, message: { role: "user", content: USER } });
      const timestamp = new Date().toISOString();
      log.append(receiptOf(turnId, timestamp));
      writeFileSync(captureRecordFile(folder, turn + 1), JSON.stringify(captureOf(turn, timestamp)));
      const content = [{ type: "text" as const, text: "Yes." }];
      writer.append({ type: "message", turnId, message: { role: "assistant", content, stopReason: "stop" } });
      log.setUsage(turnId, 0, { input: 10 + turn, output: 1, cacheRead: 90, totalTokens: 101 + turn });
      writer.commitTurn({ turnId, outcome: "completed" });
      if (turn % 50 === 49) writer.append({ type: "rewind", targetId: input.parentId });
    }
    writer.close();
  }

  before(() => {
    store = openSessionStore({ agentDir: join(home, "agents", "main"), agentId: "main" });
    make("long", 600);
    make("short", 3);
  });
  after(() => {
    store.close();
    rmSync(home, { recursive: true, force: true });
  });

  it("are the end of all items, each of them equal", async () => {
    const session = new InspectedSessions().open(place("long"));
    const newest = await session.newestItems(60);
    assert.ok(newest);
    const all = await session.timeline();
    assert.ok(newest.length >= 60 && newest.length < all.length);
    assert.ok(newest.some((item) => item.kind === "request" && item.request.captured !== undefined));
    assert.ok(newest.some((item) => item.kind === "request" && item.request.usage !== undefined));
    assert.ok(newest.some((item) => item.kind === "turn" && !item.onPath));
    assert.deepEqual(newest, all.slice(-newest.length));
  });

  it("are not read again once all items are known", async () => {
    const session = new InspectedSessions().open(place("long"));
    await session.timeline();
    assert.equal(await session.newestItems(60), undefined);
  });

  it("are no shorter way for a short session", async () => {
    const session = new InspectedSessions().open(place("short"));
    assert.equal(await session.newestItems(60), undefined);
    assert.equal((await session.timeline()).length, 6);
  });
});

function receiptOf(turnId: string, timestamp: string): Receipt {
  return {
    turnId,
    request: 0,
    timestamp,
    seam: "embedded",
    runtime: "embedded",
    engine: "legacy",
    model: "test/model",
    parts: [{ source: "live", role: "user", tokens: 100, bytes: 400, hash: "0123456789abcdef" }],
    liveFrom: 0,
    sharedParts: 0,
    sharedTokens: 0,
    tokens: 100,
    tokenBudget: 1_000,
  };
}

/** What the list reads of a capture. */
function captureOf(turn: number, time: string): object {
  return {
    version: 1,
    number: turn + 1,
    kind: "main",
    runtime: "embedded",
    model: "test/model",
    turnId: `t-${turn}`,
    time,
    harness: { bytes: 500 },
    sent: [{ afterMs: 1, body: "same" }],
    outcome: { answeredBy: "upstream", totalMs: 5 },
  };
}
