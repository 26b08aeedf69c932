import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import { SpendLedger } from "../../../packages/host/src/stores/files/spend/spend-ledger.ts";
import { sayTurn, seeded } from "../../stores/files/fixtures.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { finish, makeSetting, modelConfig } from "../../turn/setting.ts";
import { startServer } from "../../servers/server.ts";
import { newHost, newTables } from "./hosts.ts";

const CHILD = join(import.meta.dirname, "spend.child.ts");
const SECOND_MS = 1_000;

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

/** The ledger of a host, with a clock that `later` advances. */
function ledgerOf({ shared, folder }: SessionStore & { folder: string }): SpendLedger & { later(): void } {
  let now = Date.parse("2026-03-04T12:00:00");
  const ledger = new SpendLedger(folder, { now: () => now, shared: shared?.spend });
  return Object.assign(ledger, { later: () => void (now += SECOND_MS) });
}

/** Waits until a host sees a sum; nothing waits for a report. */
async function sees(ledger: SpendLedger & { later(): void }, wanted: number, what = "talk"): Promise<void> {
  for (;;) {
    ledger.later();
    const sum = what === "day" ? ledger.dayTotal() : ledger.sessionTotal(what);
    if (sum === wanted) return;
    assert.ok(sum < wanted, `${sum} instead of ${wanted}`);
    await pause(5);
  }
}

function paid(turnId: string, cost: number): { sessionId: string; turnId: string; cost: number } {
  return { sessionId: "talk", turnId, cost };
}

test("a limit sees what every host has spent, in the session and on the day, after a second at most", async (t) => {
  const settings = await newTables(server.pooledUrl);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const [one, other] = [ledgerOf(a), ledgerOf(b)];
  assert.equal(one.record(paid("t1", 0.5)), undefined);
  assert.equal(other.record(paid("t2", 2)), undefined);
  assert.equal(other.record({ sessionId: "else", turnId: "t3", cost: 4 }), undefined);
  for (const ledger of [one, other]) {
    await sees(ledger, 2.5);
    await sees(ledger, 6.5, "day");
  }
  // Its own costs count at once.
  one.record(paid("t4", 1));
  assert.deepEqual([one.sessionTotal("talk"), one.dayTotal()], [3.5, 7.5]);
  await sees(other, 3.5);
  // Another process of the host reads the same ledger.
  const again = ledgerOf(a);
  assert.deepEqual([again.sessionTotal("talk"), again.dayTotal()], [3.5, 7.5]);
});

test("what a session or a subagent's session has cost on any host is carried over once", async (t) => {
  const settings = await newTables(server.url);
  const [one, other] = [ledgerOf(newHost(t, settings)), ledgerOf(newHost(t, settings))];
  one.record({ sessionId: "child", turnId: "t1", cost: 1 });
  one.carry("child", "talk");
  other.record({ sessionId: "child", turnId: "t2", cost: 2 });
  await sees(other, 3, "child");
  other.carry("child", "talk");
  one.record(paid("t3", 4));
  await sees(one, 7);
  await sees(other, 7);
  other.carry("talk", "successor");
  await sees(one, 7, "successor");
  await sees(one, 7, "day");
});

test("after kill -9 of a host in any moment each of its costs counts once", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const random = seeded(1);
  for (let kill = 0; kill < 4; kill += 1) {
    const child = spawn(process.execPath, [CHILD, a.folder, JSON.stringify(settings)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    await once(child.stdout, "data");
    await pause(random() * 50);
    child.kill("SIGKILL");
    await ended;
  }
  const lines = readFileSync(join(a.folder, "sessions", "talk.spend.jsonl"), "utf8").split("\n").length - 1;
  assert.ok(lines >= 4, String(lines));
  // What the last one had not reported is reported by the next look of its host.
  assert.equal(ledgerOf(a).sessionTotal("talk"), lines * 0.25);
  await sees(ledgerOf(b), lines * 0.25);
});

test("a host that cannot reach the database keeps to what it knows, reports that once, and catches up", async (t) => {
  const settings = await newTables(server.url);
  const [one, other] = [ledgerOf(newHost(t, settings)), ledgerOf(newHost(t, settings))];
  one.record(paid("t1", 1));
  other.record(paid("t2", 2));
  await sees(other, 3);
  await server.stop();
  other.later();
  assert.equal(other.sessionTotal("talk"), 3);
  const degraded = other.record(paid("t3", 4));
  assert.match(
    degraded ?? "",
    /^The costs of other hosts are as they were last read, .*Cannot read from the database/,
  );
  assert.equal(other.record(paid("t4", 8)), undefined);
  assert.equal(other.sessionTotal("talk"), 15);
  await server.start();
  for (let second = 0; second < 11; second += 1) other.later();
  assert.equal(other.sessionTotal("talk"), 15);
  await sees(one, 15);
});

test("costs of a deleted session are gone everywhere, those of its day stay", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const writer = a.openWriter("talk", { cwd: "/work" });
  const { sessionId } = writer.record;
  sayTurn(writer, "t1", "one");
  writer.close();
  for (const host of [a, b]) ledgerOf(host).record({ sessionId, turnId: "t1", cost: 1 });
  await sees(ledgerOf(a), 2, "day");
  await sees(ledgerOf(b), 2, sessionId);
  a.list();
  b.delete("talk");
  assert.deepEqual(a.list(), []);
  for (const { folder } of [a, b])
    assert.ok(!existsSync(join(folder, "sessions", `${sessionId}.spend.jsonl`)));
  for (const host of [a, b]) {
    assert.equal(ledgerOf(host).sessionTotal(sessionId), 0);
    assert.equal(ledgerOf(host).dayTotal(), 2);
  }
});

test("the limit of a day stops a request on one host after turns on another", async (t) => {
  const { schema } = await newTables(server.url);
  const usage = { input: 7_000, output: 10 };
  const model = await startServer({
    protocol: "openai-completions",
    script: () => ({ text: "Yes.", usage }),
  });
  t.after(() => model.close());
  const config = modelConfig(
    "openai-completions",
    model.url,
    { cost: { input: 500, output: 500 } },
    {
      agents: { defaults: { maxCost: { day: 4 } } },
      store: { kind: "postgres", url: server.url, schema },
    },
  );
  const hosts = [makeSetting(config), makeSetting(config)];
  t.after(() => hosts.forEach((host) => host.remove()));
  const [one, other] = hosts;
  assert.ok(one && other);
  const first = await finish(one, ["run", "one", "--json"]);
  assert.equal(first.code, 0, first.stderr);
  const refused = await finish(other, ["run", "two", "--session", "other", "--json"]);
  assert.equal(refused.code, 1, refused.stdout);
  assert.match(refused.stdout + refused.stderr, /cost_limit/);
  assert.equal(model.requests.length, 1);
});
