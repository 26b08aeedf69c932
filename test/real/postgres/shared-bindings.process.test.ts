import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { after, before, test } from "node:test";
import type { HarnessBinding } from "../../../packages/contract/src/harness/harness.ts";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import {
  readBinding,
  threadElsewhere,
  writeBinding,
} from "../../../packages/host/src/stores/files/bindings.ts";
import { sayTurn } from "../../stores/files/fixtures.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { newHost, newTables } from "./hosts.ts";

const CWD = { cwd: "/work" };
const ONE: HarnessBinding = { nativeId: "one", state: { anchor: "e1" } };
const TWO: HarnessBinding = { nativeId: "two", state: { anchor: "e1" } };

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

/** A turn that ends with its runtime bound to a thread. */
function turn(store: SessionStore, turnId: string, binding?: HarnessBinding): void {
  const writer = store.openWriter("talk", CWD);
  sayTurn(writer, turnId, turnId);
  if (binding) writeBinding(writer.record, "codex", binding, store.shared);
  writer.close();
}

function bound(store: SessionStore, runtime = "codex"): string | undefined {
  return readBinding(store.openReader("talk").record, runtime, store.shared)?.nativeId;
}

test("a thread is continued on its own host only, and there until another host has the session", async (t) => {
  const settings = await newTables(server.pooledUrl);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  turn(a, "t1", ONE);
  turn(a, "t2");
  assert.deepEqual([bound(a), bound(b)], ["one", undefined]);
  const { record } = b.openReader("talk");
  assert.deepEqual(threadElsewhere(record, "codex", b.shared), {
    nativeId: "one",
    host: hostname(),
    isUsable: false,
  });
  // On the other host another runtime runs, which binds nothing.
  turn(b, "t3");
  assert.deepEqual([bound(a), bound(b)], [undefined, undefined]);
  turn(a, "t4");
  assert.equal(bound(a), undefined);
  turn(a, "t5", TWO);
  turn(a, "t6");
  assert.equal(bound(a), "two");
  assert.equal(threadElsewhere(a.openReader("talk").record, "codex", a.shared), undefined);
  turn(b, "t7", ONE);
  assert.deepEqual([bound(a), bound(b)], [undefined, "one"]);
});

test("what a host binds after it lost its lease binds nothing", async (t) => {
  const settings = await newTables(server.url, 30);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  turn(a, "t1", ONE);
  const lost = a.openWriter("talk", CWD);
  await server.query(`update ${settings.schema}.sessions set lease_until = now() - interval '1 second'`);
  const taken = b.openWriter("talk", CWD);
  writeBinding(taken.record, "codex", TWO, b.shared);
  // A stalled host that continues its turn: its thread has words that no transcript has.
  writeBinding(lost.record, "codex", ONE, a.shared);
  writeBinding(lost.record, "acp", ONE, a.shared);
  sayTurn(taken, "t2", "new");
  taken.close();
  lost.close();
  assert.deepEqual([bound(a), bound(a, "acp"), bound(b)], [undefined, undefined, "two"]);
  a.openWriter("talk", CWD).close();
  assert.deepEqual([bound(a), bound(a, "acp")], [undefined, undefined]);
});

test("a thread that is unbound is bound nowhere, one of an import is bound at once, and both go with the session", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const record = await a.import(
    { runtime: "codex", nativeId: "one", cwd: "/work", messages: [{ role: "user", content: "hi" }] },
    { sessionKey: "talk" },
  );
  writeBinding(record, "codex", ONE, a.shared);
  writeBinding(record, "acp", TWO, a.shared);
  assert.deepEqual([bound(a), bound(a, "acp")], ["one", "two"]);
  writeBinding(record, "codex", undefined, a.shared);
  assert.deepEqual([bound(a), threadElsewhere(record, "codex", b.shared)], [undefined, undefined]);
  const local = record.file.replace(/\.jsonl$/, ".bindings.json");
  assert.ok(existsSync(local));
  b.delete("talk");
  assert.deepEqual(a.list(), []);
  assert.ok(!existsSync(local));
  assert.deepEqual(await server.query(`select from ${settings.schema}.bindings`), []);
});

test("the names that a wrapped program gave its conversations stay, wherever the session was", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const writer = a.openWriter("talk", CWD);
  sayTurn(writer, "t1", "one");
  writeBinding(writer.record, "wire-codex", ONE, a.shared);
  writer.close();
  turn(b, "t2");
  assert.equal(bound(a, "wire-codex"), "one");
  assert.equal(threadElsewhere(writer.record, "wire-codex", a.shared), undefined);
});
