/** Jobs and tokens of servers that share one database. */
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { TokenStore } from "../../../packages/server/src/access/token-store.ts";
import { JobStore } from "../../../packages/inbox/src/schedule/job-store.ts";
import { eventsOf, type ServeProcess } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { command, hostPair } from "./host-pair.ts";
import { newTables } from "./hosts.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

function bearer(secret: string): Record<string, string> {
  return { authorization: `Bearer ${secret}` };
}

async function statusAt(host: ServeProcess, secret: string): Promise<number> {
  return (await host.call("GET", "/api/v1/sessions", undefined, bearer(secret))).status;
}

function newFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-jobs-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "runs");
  appendFileSync(file, "");
  return file;
}

test("a token that is made at one host is accepted at the other, until one of them revokes it", async (t) => {
  const { a, b } = await hostPair(t, await newTables(database.url));
  const { body } = await a.call("POST", "/api/v1/tokens", {
    name: "phone",
    scope: "read",
    sessions: "work*",
  });
  const secret = String(body["secret"]);
  assert.deepEqual([await statusAt(a, secret), await statusAt(b, secret)], [200, 200]);
  const posted = await b.call("POST", "/api/v1/sessions/work/turns", { prompt: "Hi." }, bearer(secret));
  assert.equal(posted.status, 403, "its scope holds at the other host");
  const listed = await b.call("GET", "/api/v1/tokens");
  const [known] = listed.body["tokens"] as { name: string; sessions: string; usedAt?: number }[];
  assert.deepEqual([known?.name, known?.sessions, typeof known?.usedAt], ["phone", "work*", "number"]);

  const made = (await command(b, "token", "create", "--name", "laptop")).trim();
  assert.equal(await statusAt(a, made), 200, "so is one of the command line");

  const stream = await fetch(`${a.url}/api/v1/sessions/work/events?after=0`, { headers: bearer(secret) });
  assert.ok(stream.ok && stream.body, "it is open before the token is revoked");
  const gone = await b.call("DELETE", "/api/v1/tokens/phone");
  assert.equal(gone.status, 200);
  const types: string[] = [];
  for await (const { type } of eventsOf(stream.body)) types.push(type);
  assert.deepEqual(types, ["token.ended"]);
  assert.deepEqual([await statusAt(a, secret), await statusAt(b, secret)], [401, 401]);
  assert.equal(await statusAt(a, `${made}x`), 401);
});

test("a job is fired by one of the hosts each time, its command too, and by the one that is left", async (t) => {
  const { a, b } = await hostPair(t, await newTables(database.url, 1));
  const runs = newFile(t);
  const check = { kind: "command", command: `echo run >> ${runs}` };
  const times = { kind: "every", everyMs: 1_000 };
  const made = await a.call("POST", "/api/v1/jobs", { prompt: "Look.", session: "work", times, check });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const id = String(made.body["id"]);
  const posted = async (): Promise<number> => {
    const { body } = await b.call("GET", "/api/v1/sessions/work/work?limit=100");
    return (body["work"] as { origin: string }[]).filter(({ origin }) => origin === `job:${id}`).length;
  };
  while ((await posted()) < 5) await pause(50);
  await a.kill();
  const before = await posted();
  while ((await posted()) < before + 3) await pause(50);
  assert.equal((await b.call("POST", `/api/v1/jobs/${id}/pause`)).status, 200);
  while ((await posted()) < readFileSync(runs, "utf8").trim().split("\n").length - 1) await pause(50);
  const count = readFileSync(runs, "utf8").trim().split("\n").length;
  // The killed host may have run the command without having posted.
  assert.ok([0, 1].includes(count - (await posted())), `${count} runs, ${await posted()} posted`);
});

test("jobs are added, listed and run at any host, and by the command line of any", async (t) => {
  const { a, b } = await hostPair(t, await newTables(database.url));
  const out = await command(a, "jobs", "add", "--every", "1d", "--session", "work", "--json", "Look around.");
  const { id } = JSON.parse(out) as { id: string };
  const { body } = await b.call("GET", "/api/v1/jobs");
  assert.deepEqual(
    (body["jobs"] as { id: string }[]).map((job) => job.id),
    [id],
  );
  await command(b, "jobs", "run", id);
  for (;;) {
    const seen = await a.call("GET", `/api/v1/jobs/${id}`);
    if (seen.body["lastOutcome"] === "posted") break;
    await pause(50);
  }
  assert.equal((await b.call("DELETE", `/api/v1/jobs/${id}`)).status, 200);
  assert.equal((await a.call("GET", `/api/v1/jobs/${id}`)).status, 404);
});

test("jobs and tokens that a host had for itself become those of all hosts, once", async (t) => {
  const secrets: string[] = [];
  const { a, b } = await hostPair(t, await newTables(database.url), {
    before: ({ home }) => {
      const db = openServerDatabase(home);
      secrets.push(new TokenStore(db).create({ name: "own", scope: "read" }).secret);
      const times = { kind: "every", everyMs: 86_400_000, from: Date.now() } as const;
      const request = { prompt: "Look." };
      new JobStore(db).add({ agentId: "main", sessionKey: "work", times, missed: "skip", request });
      db.close();
    },
  });
  for (const secret of secrets)
    assert.deepEqual([await statusAt(a, secret), await statusAt(b, secret)], [200, 200]);
  const { body } = await b.call("GET", "/api/v1/jobs");
  assert.equal((body["jobs"] as unknown[]).length, 2);
  await b.call("DELETE", "/api/v1/tokens/own");
  const db = openServerDatabase(a.setting.home);
  t.after(() => db.close());
  assert.deepEqual([new TokenStore(db).list(), new JobStore(db).list()], [[], []]);
});

test("the same heartbeat in the configurations of two hosts is one", async (t) => {
  const agents = { defaults: { heartbeat: { every: "1h" } } };
  const { a, b } = await hostPair(t, await newTables(database.url), { more: { agents } });
  for (const host of [a, b]) {
    const { body } = await host.call("GET", "/api/v1/jobs");
    assert.deepEqual(
      (body["jobs"] as { id: string }[]).map((job) => job.id),
      ["heartbeat-main"],
    );
  }
});
