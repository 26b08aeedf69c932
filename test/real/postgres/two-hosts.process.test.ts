import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionReader } from "../../../packages/contract/src/session/writer.ts";
import { assistant, sayTurn, textOf, user } from "../../stores/files/fixtures.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { newHost, newTables } from "./hosts.ts";

const CWD = "/work";
const HOST = join(import.meta.dirname, "host.child.ts");

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

function words(reader: SessionReader): string[] {
  return reader.contextMessages().messages.map(textOf);
}

test("what one host writes the other reads, finds and continues", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const writer = a.openWriter("talk", { cwd: CWD });
  sayTurn(writer, "t1", "a crab");
  assert.deepEqual(words(b.openReader("talk")), ["a crab", "answer to a crab"]);
  sayTurn(writer, "t2", "a shell");
  writer.close();
  assert.equal(b.find("talk")?.entryCount, 6);
  const [hit] = b.search("shell");
  assert.equal(hit?.sessionKey, "talk");
  const next = b.openWriter("talk", { cwd: CWD });
  assert.deepEqual(next.notices, []);
  sayTurn(next, "t3", "a wave");
  next.close();
  assert.deepEqual(words(a.openReader("talk")).slice(-2), ["a wave", "answer to a wave"]);
  assert.deepEqual(
    a.list().map(({ sessionKey, entryCount }) => [sessionKey, entryCount]),
    [["talk", 9]],
  );
});

test("a session that a host writes is locked for the others, and free once it is closed", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const writer = a.openWriter("talk", { cwd: CWD });
  writer.append({ type: "message", turnId: "t1", message: user("one") });
  assert.throws(() => b.openWriter("talk", { cwd: CWD }), {
    code: "session_locked",
    message: /is being written by process \d+ on /,
  });
  assert.throws(() => b.hold("talk"), { code: "session_locked" });
  assert.throws(() => b.delete("talk"), { code: "session_locked" });
  const reader = b.openReader("talk");
  assert.equal(reader.runningIn?.pid, process.pid);
  assert.deepEqual(reader.interruptedTurns(), []);
  writer.close();
  b.openWriter("talk", { cwd: CWD }).close();
});

test("the database refuses a host whose lease another one took, and the host reports it", async (t) => {
  const settings = await newTables(server.url, 30);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const writer = a.openWriter("talk", { cwd: CWD });
  sayTurn(writer, "t1", "kept");
  // As after a stall that was longer than the lease.
  await server.query(`update ${settings.schema}.sessions set lease_until = now() - interval '1 second'`);
  const taken = b.openWriter("talk", { cwd: CWD });
  assert.deepEqual(
    taken.notices.map(({ kind }) => kind),
    ["stale_lock_taken"],
  );
  sayTurn(taken, "t2", "new");
  // Sent without waiting: it is refused later, and nothing after it is accepted.
  writer.append({ type: "message", turnId: "t3", message: user("stale") });
  const refused = { code: "lock_lost", message: /Another host took over the session/ };
  assert.throws(() => writer.commitTurn({ turnId: "t3", outcome: "completed" }), refused);
  assert.throws(() => writer.append({ type: "message", turnId: "t3", message: user("again") }), refused);
  writer.close();
  taken.close();
  const expected = ["kept", "answer to kept", "new", "answer to new"];
  assert.deepEqual(words(b.openReader("talk")), expected);
  const reopened = a.openWriter("talk", { cwd: CWD });
  assert.match(reopened.notices[0]?.detail ?? "", /had not reached the database .* were moved to/);
  reopened.close();
  assert.deepEqual(words(a.openReader("talk")), expected);
});

test("a record that a tool runs is in the database before the tool runs", async (t) => {
  const settings = await newTables(server.url, 30);
  const writer = newHost(t, settings).openWriter("talk", { cwd: CWD });
  writer.append({ type: "message", turnId: "t1", message: user("one") });
  const slow = server.query(
    `select session_id from ${settings.schema}.sessions for update; select pg_sleep(0.5)`,
  );
  const asleep = "select pid from pg_stat_activity where wait_event = 'PgSleep'";
  while ((await server.query(asleep)).length === 0) await pause(10);
  writer.append({ type: "custom", turnId: "t1", customType: "pagurus.tool_run", data: { toolCallId: "c1" } });
  const stored = `select at from ${settings.schema}.chunks where position('pagurus.tool_run'::bytea in bytes) > 0`;
  assert.equal((await server.query(stored)).length, 1);
  await slow;
  writer.close();
});

test("a lease that ran out, and that no host took, is its writer's still", async (t) => {
  const settings = await newTables(server.url, 30);
  const a = newHost(t, settings);
  const writer = a.openWriter("talk", { cwd: CWD });
  await server.query(`update ${settings.schema}.sessions set lease_until = now() - interval '1 second'`);
  sayTurn(writer, "t1", "late");
  writer.close();
  assert.deepEqual(words(newHost(t, settings).openReader("talk")), ["late", "answer to late"]);
});

test("after kill -9 of a host in a turn another one continues, with the turn closed as interrupted", async (t) => {
  const settings = await newTables(server.url, 1);
  const b = newHost(t, settings);
  const home = newHost(t, settings).folder;
  const child = spawn(process.execPath, [HOST, home, JSON.stringify(settings)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  const writer = b.openWriter("talk", { cwd: CWD, deadlineMs: 20_000 });
  assert.deepEqual(
    writer.notices.map(({ kind, turnId }) => [kind, turnId]),
    [
      ["stale_lock_taken", undefined],
      ["interrupted_turn", "t2"],
    ],
  );
  sayTurn(writer, "t3", "after");
  writer.close();
  const messages = words(b.openReader("talk"));
  assert.deepEqual(messages.slice(0, 3), ["before", "answer to before", "asked"]);
  assert.match(messages.at(-3) ?? "", /interrupted before this tool call finished/);
});

test("a connection that is cut is opened again, and no entry is lost or doubled", async (t) => {
  const settings = await newTables(server.url);
  const a = newHost(t, settings);
  const writer = a.openWriter("talk", { cwd: CWD });
  for (let turn = 1; turn <= 20; turn += 1) {
    writer.append({ type: "message", turnId: `t${turn}`, message: user(`${turn}`) });
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()",
    );
    writer.append({ type: "message", turnId: `t${turn}`, message: assistant(`re ${turn}`) });
    writer.commitTurn({ turnId: `t${turn}`, outcome: "completed" });
  }
  writer.close();
  const wanted = Array.from({ length: 20 }, (_, at) => [`${at + 1}`, `re ${at + 1}`]).flat();
  assert.deepEqual(words(newHost(t, settings).openReader("talk")), wanted);
});

test("a database that is away is reported with its place and without the password", async (t) => {
  const settings = { url: server.url.replace(/:\d+\//, ":1/"), schema: "none" };
  const a = newHost(t, settings);
  assert.throws(
    () => a.find("talk"),
    (error: { code: string; message: string }) => {
      assert.equal(error.code, "store_unreachable");
      assert.match(error.message, /Cannot read from the database 127\.0\.0\.1:1\/pagurus/);
      assert.ok(!error.message.includes(encodeURIComponent(server.password)));
      assert.ok(!error.message.includes(server.password));
      return true;
    },
  );
});

test("through a pooler in transaction mode two hosts take turns", async (t) => {
  const settings = await newTables(server.pooledUrl);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  for (let turn = 1; turn <= 6; turn += 1) {
    const writer = (turn % 2 === 0 ? a : b).openWriter("talk", { cwd: CWD });
    sayTurn(writer, `t${turn}`, `word ${turn}`);
    writer.close();
  }
  assert.equal(words(a.openReader("talk")).length, 12);
});

test("new generations, forks, rotations, imports and deletions reach the other host", async (t) => {
  const settings = await newTables(server.url);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  const writer = a.openWriter("talk", { cwd: CWD });
  sayTurn(writer, "t1", "first");
  const entries: Uint8Array[] = [];
  for await (const part of a.export("talk", "jsonl")) entries.push(part);
  const exported = join(a.folder, "exported.jsonl");
  writeFileSync(exported, Buffer.concat(entries));
  const successor = join(a.folder, "successor.jsonl");
  const lines = Buffer.concat(entries).toString("utf8").split("\n");
  const header = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
  writeFileSync(successor, [JSON.stringify({ ...header, id: "engine-made" }), ...lines.slice(1)].join("\n"));
  const rotated = a.rotate(writer, { sessionId: "engine-made", file: successor }, []);
  sayTurn(rotated, "t2", "second");
  rotated.close();
  assert.deepEqual(b.find("talk")?.sessionId, "engine-made");
  assert.deepEqual(words(b.openReader("talk")).slice(-2), ["second", "answer to second"]);
  assert.equal(b.list().length, 2);
  await b.fork("talk", "copy");
  assert.deepEqual(words(a.openReader("copy")), words(b.openReader("talk")));
  a.renew("talk", { cwd: CWD });
  assert.deepEqual(words(b.openReader("talk")), []);
  a.delete("talk");
  assert.equal(b.find("talk"), undefined);
  assert.deepEqual(
    b.list().map(({ sessionKey }) => sessionKey),
    ["copy"],
  );
  await b.import(exported, { sessionKey: "taken" });
  assert.deepEqual(words(a.openReader("taken")), ["first", "answer to first"]);
  assert.throws(() => a.create("taken", { cwd: CWD }), { code: "session_exists" });
});
