/** A database that is away for longer than a statement is tried again, and a server whose start fails. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { makeSetting, modelConfig } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { newTables } from "./hosts.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

interface Served {
  host: ServeProcess;
  model: ModelServer;
  schema: string;
}

/** A host of the database, whose model answers by its call's number. */
async function served(
  t: TestContext,
  script: (call: number) => ReplyStep | Promise<ReplyStep>,
): Promise<Served> {
  let calls = 0;
  const model = await startServer({
    protocol: "openai-completions",
    script: () => {
      calls += 1;
      return script(calls);
    },
  });
  const settings = await newTables(database.url);
  const config = modelConfig("openai-completions", model.url, { contextWindow: 100_000 });
  const agents = { defaults: { model: "test/model", permission: { mode: "auto", sandbox: "off" } } };
  const setting = makeSetting({ ...config, agents, store: { kind: "postgres", ...settings } });
  const host = await ServeProcess.start(setting);
  t.after(async () => {
    await host.kill();
    await model.close();
    setting.remove();
  });
  return { host, model, schema: settings.schema ?? "" };
}

async function posted({ host }: Served): Promise<string> {
  const { body } = await host.call("POST", "/api/v1/sessions/work/turns", { prompt: "the question" });
  return String(body["id"]);
}

function inputsOf(model: ModelServer): string[] {
  const request = model.requests.at(-1);
  assert.ok(request);
  return readBody("openai-completions", request)
    .messages.filter(({ role }) => role === "user")
    .map(({ text }) => text);
}

/** The work is tried again while the database is away: nothing else shows that, so the host's log is not looked at. */
const LONGER_MS = 15_000;

test("a turn that could not be stored is continued when the database is back, and its input is there once", async (t) => {
  const answer = Promise.withResolvers<void>();
  const made = await served(t, async (call) => {
    if (call === 1) await answer.promise;
    return { text: "the answer" };
  });
  const { host, model } = made;
  const id = await posted(made);
  while (model.requests.length === 0) await pause(10);
  await database.stop();
  answer.resolve();
  await pause(LONGER_MS);
  await database.start();
  const ended = await host.ended(id);
  assert.deepEqual([ended["outcome"], ended["error"]], ["completed", undefined]);
  assert.deepEqual(inputsOf(model), ["the question"]);
  assert.ok(model.requests.length <= 2, `${model.requests.length} model calls`);
  const { body } = await host.call("GET", "/api/v1/sessions/work/entries?limit=50");
  const texts = JSON.stringify(body);
  assert.equal(texts.split("the question").length - 1, 1);
});

test("a tool whose record could not be stored does not run before it is", async (t) => {
  const answer = Promise.withResolvers<void>();
  const command = "echo ran >> ran.txt";
  const made = await served(t, async (call) => {
    if (call === 1) await answer.promise;
    const calls = [{ id: `c${call}`, name: "shell", arguments: { command } }];
    return made.model.requests.at(-1)?.text.includes("ran.txt") === true
      ? { text: "the answer" }
      : { toolCalls: calls };
  });
  const { host, model } = made;
  const id = await posted(made);
  while (model.requests.length === 0) await pause(10);
  await database.stop();
  answer.resolve();
  await pause(LONGER_MS);
  const file = join(host.setting.workspace, "ran.txt");
  assert.equal(existsSync(file), false);
  await database.start();
  const ended = await host.ended(id);
  assert.deepEqual([ended["outcome"], ended["error"]], ["completed", undefined]);
  assert.equal(readFileSync(file, "utf8"), "ran\n");
});

test("a server whose start fails after it found work has not ended that work", async (t) => {
  const made = await served(t, async (call) => {
    await pause(call === 1 ? 60_000 : 5_000, undefined, { ref: false });
    return { text: "the answer" };
  });
  const { host, model, schema } = made;
  const id = await posted(made);
  while (model.requests.length === 0) await pause(10);
  await host.kill();
  // Its heartbeats wait for the table for some seconds, and then there is none.
  const rename = database.query(
    `begin; alter table ${schema}.jobs rename to jobs_away; select pg_sleep(4); commit`,
  );
  await assert.rejects(host.begin(), /serve ended with 1/);
  await rename;
  await database.query(`alter table ${schema}.jobs_away rename to jobs`);
  await host.begin();
  const ended = await host.ended(id);
  assert.deepEqual([ended["outcome"], ended["error"]], ["completed", undefined]);
  assert.deepEqual(inputsOf(model), ["the question"]);
});
