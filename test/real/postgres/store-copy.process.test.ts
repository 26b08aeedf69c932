import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { Launcher, type Ended } from "../../cli/launch.ts";
import { FULL } from "../../runner/short-form.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { SpendLedger } from "../../../packages/host/src/stores/files/spend/spend-ledger.ts";
import { openStore, sayTurn, seeded } from "../../stores/files/fixtures.ts";
import { fillHome, listed, transcriptsOf } from "./filled-home.ts";

const CWD = { cwd: "/project" };

let server: PostgresServer;
let source: Launcher;
let expected: Map<string, string>;
let target: Launcher;

before(async () => {
  server = await startPostgres();
  source = new Launcher();
  await fillHome(source);
  expected = transcriptsOf(source.env.PAGURUS_HOME);
  assert.ok(expected.size > 12, [...expected.keys()].join("\n"));
});
after(async () => {
  source.remove();
  await server.end();
});
beforeEach(async () => {
  await server.query("drop schema if exists pagurus cascade");
  target = new Launcher();
  for (const launcher of [source, target])
    Object.assign(launcher.env, { PAGURUS_STORE_URL: server.pooledUrl });
  assert.equal((await source.run(["store", "init"])).code, 0);
});
afterEach(() => target.remove());

async function copy(user: Launcher, direction: "--to" | "--from"): Promise<Ended> {
  const ended = await user.run(["store", "copy", direction]);
  assert.equal(ended.code, 0, ended.out + ended.err);
  return ended;
}

interface Conversation {
  agent: string;
  key: string;
  status: string;
  detail?: string;
}

async function outcomes(user: Launcher, direction: "--to" | "--from"): Promise<Conversation[]> {
  const { out, err } = await user.run(["store", "copy", direction, "--json"]);
  assert.equal(err, "");
  return (JSON.parse(out) as { conversations: Conversation[] }).conversations;
}

/** Whole sessions in the database: agent/id with its bytes. */
async function stored(): Promise<Map<string, string>> {
  const rows = await server.query<{ name: string; size: string; bytes: Buffer }>(
    `select agent || '/sessions/' || session_id || '.jsonl' as name, s.bytes as size,
            coalesce((select string_agg(c.bytes, ''::bytea order by at) from pagurus.chunks c
               where (c.agent, c.session_id) = (s.agent, s.session_id)), '') as bytes
       from pagurus.sessions s`,
  );
  for (const { name, size, bytes } of rows) assert.equal(bytes.length, Number(size), name);
  return new Map(rows.map(({ name, bytes }) => [name, bytes.toString("base64")]));
}

test("a home that is copied into PostgreSQL and back is the same byte for byte, and lists the same sessions", async () => {
  const { out } = await copy(source, "--to");
  assert.match(out, /Sessions by key: \d+ copied\.\n$/);
  assert.match(out, /other\/torn {2}copied: 1 sessions, \d+ bytes; A torn last line of 6 bytes stays here/);
  const wrong = await server.query(
    `select key from pagurus.sessions one where is_current <> not exists (select from pagurus.sessions two
      where (two.agent, two.key) = (one.agent, one.key) and two.precedence > one.precedence)`,
  );
  assert.deepEqual(wrong, [], "the current generation has the greatest precedence");
  await copy(target, "--from");
  assert.deepEqual(transcriptsOf(target.env.PAGURUS_HOME), expected);
  const sessions = listed(target.env.PAGURUS_HOME);
  assert.equal(sessions.length, [...expected.keys()].filter((name) => name.endsWith(".jsonl")).length);
  assert.deepEqual(sessions, listed(source.env.PAGURUS_HOME));
  // Again there is nothing to do, in either direction.
  for (const [user, direction] of [
    [source, "--to"],
    [target, "--from"],
    [target, "--to"],
  ] as const)
    assert.match((await copy(user, direction)).out, /^Sessions by key: \d+ there already\.\n$/);
  const { out: shown } = await target.run(["sessions", "show", "work"]);
  assert.match(shown, /and again/);
});

/** Kills in the short form; in the full form each run but the last one is killed. */
const MOST_KILLS = FULL ? Infinity : 3;

/** Kills the copy until one run ends by itself; `isWhole` runs after each kill. Returns how many were killed. */
async function killed(
  user: Launcher,
  direction: "--to" | "--from",
  isWhole: () => Promise<void>,
): Promise<number> {
  const random = seeded(FULL ? Date.now() : 1);
  let kills = 0;
  for (;;) {
    const { child, ended } = user.start(["store", "copy", direction]);
    // The first line reports a key as copied; the next one is being copied then.
    if (kills < MOST_KILLS)
      child.stdout?.once("data", () => setTimeout(() => child.kill("SIGKILL"), random() * (FULL ? 40 : 4)));
    const { code, out, err } = await ended;
    if (code === 0) return kills;
    assert.equal(code, null, out + err);
    kills += 1;
    await isWhole();
  }
}

test("kill -9 in the middle of a copy leaves whole sessions, and the next copy continues", async () => {
  const up = await killed(source, "--to", async () => {
    for (const [name, bytes] of await stored()) assert.equal(bytes, expected.get(name), name);
  });
  assert.deepEqual(await stored(), new Map([...expected].filter(([name]) => name.endsWith(".jsonl"))));
  const down = await killed(target, "--from", async () => {
    for (const [name, bytes] of transcriptsOf(target.env.PAGURUS_HOME))
      assert.equal(bytes, expected.get(name), name);
  });
  assert.ok(up > 1 && down > 1, `${up} and ${down} copies were killed`);
  assert.deepEqual(transcriptsOf(target.env.PAGURUS_HOME), expected);
  assert.deepEqual(listed(target.env.PAGURUS_HOME), listed(source.env.PAGURUS_HOME));
});

test("kill -9 of PostgreSQL in the middle of a copy is reported without the password, and the next copy continues", async () => {
  const { child, ended } = source.start(["store", "copy", "--to", server.url]);
  const stopped = new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => void server.stop("kill").then(resolve, reject));
  });
  const { code, err } = await ended;
  await stopped;
  await server.start();
  if (code !== 0)
    assert.match(
      err,
      /^pagurus: Cannot write to the database 127\.0\.0\.1:\d+\/pagurus: .*\[store_unreachable\]\n$/,
    );
  for (const secret of [server.password, encodeURIComponent(server.password)])
    assert.ok(!err.includes(secret));
  for (const [name, bytes] of await stored()) assert.equal(bytes, expected.get(name), name);
  await copy(source, "--to");
  await copy(target, "--from");
  assert.deepEqual(transcriptsOf(target.env.PAGURUS_HOME), expected);
});

test("what has grown since the last copy is appended, in either direction", async () => {
  await copy(source, "--to");
  await copy(target, "--from");
  const grow = (user: Launcher, key: string): void => {
    const store = openStore(join(user.env.PAGURUS_HOME, "agents", "other"));
    const writer = store.openWriter(key, CWD);
    sayTurn(writer, `turn of ${key}`, "later");
    writer.close();
    store.close();
  };
  grow(target, "forked");
  const renewing = openStore(join(target.env.PAGURUS_HOME, "agents", "other"));
  renewing.renew("ships", CWD);
  renewing.close();
  const up = (await outcomes(target, "--to")).filter(({ status }) => status !== "present");
  assert.deepEqual(
    up.map(({ key, status }) => [key, status]),
    [
      ["forked", "copied"],
      ["ships", "copied"],
    ],
  );
  // The other home has none of that yet, and everything of its own is there.
  assert.match((await copy(source, "--to")).out, /^Sessions by key: \d+ there already\.\n$/);
  const third = new Launcher();
  Object.assign(third.env, { PAGURUS_STORE_URL: server.url });
  await copy(third, "--from");
  assert.deepEqual(transcriptsOf(third.env.PAGURUS_HOME), transcriptsOf(target.env.PAGURUS_HOME));
  grow(third, "forked");
  await copy(third, "--to");
  await copy(target, "--from");
  assert.deepEqual(transcriptsOf(target.env.PAGURUS_HOME), transcriptsOf(third.env.PAGURUS_HOME));
  third.remove();
});

test("receipts and costs are copied with their sessions, and count once however often they are copied", async () => {
  const inAgents = (user: Launcher, ...path: string[]): string =>
    join(user.env.PAGURUS_HOME, "agents", ...path);
  const receiptsOf = (user: Launcher): Map<string, string> => {
    const names = readdirSync(inAgents(user), { recursive: true, encoding: "utf8" });
    const receipts = names.filter((name) => name.endsWith(".receipts.jsonl")).toSorted();
    return new Map(receipts.map((name) => [name, readFileSync(inAgents(user, name), "utf8")]));
  };
  const ledgerOf = (user: Launcher): SpendLedger => new SpendLedger(inAgents(user, "other"));
  const store = openStore(inAgents(source, "other"));
  const { sessionId = "" } = store.find("forked") ?? {};
  store.close();
  const day = "2026-03-04";
  ledgerOf(source).record({ sessionId, turnId: "t1", cost: 1 }, day);
  await copy(source, "--to");
  await copy(target, "--from");
  assert.ok(receiptsOf(source).size > 0);
  assert.deepEqual(receiptsOf(target), receiptsOf(source));
  ledgerOf(target).record({ sessionId, turnId: "t2", cost: 2 }, day);
  await target.run(["run", "later", "--session", "work"]);
  for (const [user, direction] of [
    [target, "--to"],
    [target, "--from"],
    [source, "--to"],
    [source, "--from"],
    [target, "--from"],
  ] as const)
    await copy(user, direction);
  assert.deepEqual(receiptsOf(target), receiptsOf(source));
  for (const user of [source, target])
    assert.deepEqual([ledgerOf(user).sessionTotal(sessionId), ledgerOf(user).dayTotal(day)], [3, 3]);
  const [name = ""] = receiptsOf(target).keys();
  appendFileSync(inAgents(target, name), '{"turnId":"x"}\n');
  appendFileSync(inAgents(source, name), '{"turnId":"y"}\n');
  await copy(source, "--to");
  const [differs] = (await outcomes(target, "--to")).filter(({ detail }) => detail?.includes("Receipts"));
  assert.deepEqual([differs?.key, differs?.status], ["work", "present"]);
  assert.ok(receiptsOf(target).get(name)?.endsWith('{"turnId":"x"}\n'));
});

test("different content on either side is reported and never replaced", async () => {
  await copy(source, "--to");
  await copy(target, "--from");
  for (const [user, words] of [
    [source, "here"],
    [target, "there"],
  ] as const) {
    const store = openStore(join(user.env.PAGURUS_HOME, "agents", "other"));
    const record = store.find("empty");
    store.close();
    appendFileSync(
      record?.file ?? "",
      `{"type":"custom","id":"x","parentId":null,"timestamp":"","data":"${words}"}\n`,
    );
  }
  const [before, present] = [await stored(), transcriptsOf(target.env.PAGURUS_HOME)];
  await copy(source, "--to");
  const after = await stored();
  assert.notDeepEqual(after, before);
  const ended = await target.run(["store", "copy", "--to"]);
  assert.equal(ended.code, 1);
  assert.match(
    ended.out,
    /other\/empty {2}not copied, different; The session \w+ of empty has other content in the database\./,
  );
  const back = await outcomes(target, "--from");
  assert.deepEqual(
    back.filter(({ status }) => status !== "present").map(({ key, status }) => [key, status]),
    [["empty", "different"]],
  );
  assert.deepEqual([await stored(), transcriptsOf(target.env.PAGURUS_HOME)], [after, present]);
  const store = openStore(join(source.env.PAGURUS_HOME, "agents", "other"));
  const { file = "" } = store.find("empty") ?? {};
  store.close();
  // The following tests compare with the home as it was.
  writeFileSync(file, `${readFileSync(file, "utf8").split("\n")[0]}\n`);
  rmSync(join(source.env.PAGURUS_HOME, "agents", "other", "sessions.db"), { force: true });
});

test("a session that a program or a host has is reported and not copied, the others are", async () => {
  const store = openStore(join(source.env.PAGURUS_HOME, "agents", "other"));
  const hold = store.hold("renewed");
  const result = await source.runProgram(["store", "copy", "--to", "--json"]);
  hold.release();
  store.close();
  assert.equal(result.code, 1);
  const { conversations } = JSON.parse(result.out) as { conversations: Conversation[] };
  const others = conversations.filter(({ status }) => status !== "copied");
  assert.deepEqual(
    others.map(({ key, status }) => [key, status]),
    [["renewed", "in_use"]],
  );
  assert.match(others[0]?.detail ?? "", /^The session renewed is in use by process \d+/);
  await copy(source, "--to");
  await server.query(
    "update pagurus.sessions set holder = 'host b', lease_until = now() + interval '1 hour' where key = 'forked'",
  );
  const back = (await outcomes(target, "--from")).filter(({ status }) => status !== "copied");
  assert.deepEqual(
    back.map(({ key, status }) => [key, status]),
    [["forked", "in_use"]],
  );
});
