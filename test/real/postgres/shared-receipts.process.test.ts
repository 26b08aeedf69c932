import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Receipt } from "../../../packages/contract/src/session/receipt.ts";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { SessionRecord } from "../../../packages/contract/src/session/writer.ts";
import {
  openReceiptLog,
  receiptFile,
  type ReceiptLog,
} from "../../../packages/host/src/stores/files/receipt-log.ts";
import { sayTurn } from "../../stores/files/fixtures.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { newHost, newTables } from "./hosts.ts";

const CWD = { cwd: "/work" };

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

function receipt({ turnId, request }: Pick<Receipt, "turnId" | "request">): Receipt {
  const parts: Receipt["parts"] = [
    { source: "system", role: "system", tokens: 3, bytes: 9, hash: "00" },
    { source: "live", role: "user", tokens: 1, bytes: 4, hash: `${turnId} ${request}` },
  ];
  return {
    turnId,
    request,
    timestamp: "2026-01-02T03:04:05.000Z",
    seam: "embedded",
    runtime: "embedded",
    engine: "legacy",
    model: "test/model",
    parts,
    liveFrom: 1,
    sharedParts: request === 0 ? 0 : 1,
    sharedTokens: 0,
    tokens: 4,
    tokenBudget: 1_000,
    contextTokens: 4,
  };
}

/** The receipts of a session as a turn on this host writes them. */
function logOf({ shared }: SessionStore, record: SessionRecord): ReceiptLog {
  const { sessionId } = record;
  return openReceiptLog({
    file: receiptFile(record),
    written: (offset, bytes) => shared?.receipts(sessionId, offset, bytes),
  });
}

/** The receipts that a host shows. */
function shown(store: SessionStore): Receipt[] {
  const { record } = store.openReader("talk");
  return openReceiptLog({ file: receiptFile(record) }).read();
}

test("receipts of a turn on one host are shown on the other, which continues them in its own turn", async (t) => {
  const settings = await newTables(server.pooledUrl);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const first = a.openWriter("talk", CWD);
  sayTurn(first, "t1", "a crab");
  const written = Array.from({ length: 70 }, (_, request) => receipt({ turnId: "t1", request }));
  for (const each of written) logOf(a, first.record).append(each);
  first.close();
  assert.deepEqual(shown(b), written);
  const second = b.openWriter("talk", CWD);
  const log = logOf(b, second.record);
  assert.equal(log.next("t1"), 70);
  const next = receipt({ turnId: "t2", request: 0 });
  log.append(next);
  log.setUsage("t2", 0, { input: 5, output: 6, totalTokens: 11 });
  sayTurn(second, "t2", "a shell");
  second.close();
  assert.deepEqual(shown(a), [...written, { ...next, usage: { input: 5, output: 6, totalTokens: 11 } }]);
  const files = [a, b].map((host) => readFileSync(receiptFile(host.openReader("talk").record)));
  assert.ok(files[0]?.equals(files[1] ?? Buffer.of()));
});

test("a host that lost its lease adds no receipt to those of the next one, and reports that once", async (t) => {
  const settings = await newTables(server.url, 30);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const lost = a.openWriter("talk", CWD);
  const stale = logOf(a, lost.record);
  const kept = receipt({ turnId: "t1", request: 0 });
  stale.append(kept);
  sayTurn(lost, "t1", "kept");
  await server.query(`update ${settings.schema}.sessions set lease_until = now() - interval '1 second'`);
  const taken = b.openWriter("talk", CWD);
  const next = receipt({ turnId: "t2", request: 0 });
  logOf(b, taken.record).append(next);
  stale.append(receipt({ turnId: "t1", request: 1 }));
  // Nothing waits for the answer, so one of the next receipts reports it.
  const appended = async (): Promise<void> => {
    for (let request = 2; ; request += 1) {
      stale.append(receipt({ turnId: "t1", request }));
      await pause(5);
    }
  };
  await assert.rejects(appended, { code: "lock_lost", message: /Another host took over the session/ });
  stale.append(receipt({ turnId: "t1", request: 1_000 }));
  lost.close();
  sayTurn(taken, "t2", "new");
  taken.close();
  assert.deepEqual(shown(b), [kept, next]);
  assert.deepEqual(shown(a), [kept, next]);
});

test("receipts that a host could not send before it ended are sent with its next turn", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const first = a.openWriter("talk", CWD);
  const sent = receipt({ turnId: "t1", request: 0 });
  logOf(a, first.record).append(sent);
  sayTurn(first, "t1", "one");
  first.close();
  // As after kill -9 between the file and the database, in the middle of a second line.
  const unsent = receipt({ turnId: "t1", request: 1 });
  openReceiptLog({ file: receiptFile(first.record) }).append(unsent);
  appendFileSync(receiptFile(first.record), '{"sequence":2,"ke');
  assert.deepEqual(shown(b), [sent]);
  assert.deepEqual(shown(a), [sent, unsent]);
  const second = a.openWriter("talk", CWD);
  const last = receipt({ turnId: "t2", request: 0 });
  logOf(a, second.record).append(last);
  sayTurn(second, "t2", "two");
  second.close();
  assert.deepEqual(shown(b), [sent, unsent, last]);
});

test("a host whose receipts differ from those of the database takes the database's", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const first = a.openWriter("talk", CWD);
  const sent = receipt({ turnId: "t1", request: 0 });
  logOf(a, first.record).append(sent);
  sayTurn(first, "t1", "one");
  first.close();
  const file = receiptFile(b.openReader("talk").record);
  writeFileSync(file, `${readFileSync(file, "utf8").replace("t1", "tx")}`);
  const second = a.openWriter("talk", CWD);
  const next = receipt({ turnId: "t2", request: 0 });
  logOf(a, second.record).append(next);
  second.close();
  assert.deepEqual(shown(b), [sent, next]);
});

test("receipts of a deleted session are gone in the database and on every host", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const writer = a.openWriter("talk", CWD);
  logOf(a, writer.record).append(receipt({ turnId: "t1", request: 0 }));
  sayTurn(writer, "t1", "one");
  writer.close();
  const mirrored = receiptFile(b.openReader("talk").record);
  assert.ok(readFileSync(mirrored).length > 0);
  a.delete("talk");
  assert.deepEqual(b.list(), []);
  for (const file of [mirrored, receiptFile(writer.record)])
    assert.throws(() => readFileSync(file), { code: "ENOENT" });
  assert.deepEqual(await server.query(`select from ${settings.schema}.receipts`), []);
});
