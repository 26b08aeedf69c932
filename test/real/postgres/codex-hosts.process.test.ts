/** A session of the real Codex on two hosts: a thread of one host is never continued after the other has had the session. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { CodexBench, conversation } from "../codex/codex-bench.ts";
import { newTables } from "./hosts.ts";

let server: PostgresServer;
let bench: CodexBench;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());
afterEach(() => bench.end());

/** A host with a home and threads of its own. */
async function hostOf(name: string, schema: string | undefined): Promise<Pagurus> {
  const home = join(bench.root, name);
  const codex = join(home, "codex");
  mkdirSync(codex, { recursive: true });
  const store = { kind: "postgres", url: server.url, schema };
  const config = { ...bench.config({ slot: "legacy" }), store };
  return bench.host({ more: { home, env: { ...bench.env, CODEX_HOME: codex }, config } });
}

function noticesOf(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "notice" && event.kind === "thread_elsewhere" ? [event.detail] : [],
  );
}

test("Codex continues from the transcript on the other host, and in no old thread back on the first one", async () => {
  bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
  const { schema } = await newTables(server.url);
  const [a, b] = [await hostOf("a", schema), await hostOf("b", schema)];
  const threadOf = async (host: Pagurus): Promise<string | undefined> =>
    (await host.native.status({ runtime: "codex", cwd: bench.cwd })).boundTo;
  const first = await bench.ask(a, "One?");
  await bench.ask(a, "Two?");
  const threads = [await threadOf(a)];
  assert.equal(await threadOf(b), undefined);
  const moved = await bench.ask(b, "Three?");
  threads.push(await threadOf(b));
  assert.equal(await threadOf(a), undefined);
  const back = await bench.ask(a, "Four?");
  await bench.ask(a, "Five?");
  threads.push(await threadOf(a));
  assert.equal(new Set(threads).size, 3, String(threads));
  assert.ok(threads.every((thread) => thread !== undefined));
  const keys = bench.server.requests.map(({ body }) => body["prompt_cache_key"]);
  assert.deepEqual(
    keys.map((key) => keys.indexOf(key)),
    [0, 0, 2, 3, 3],
  );
  const lines = ["One?", "Two?", "Three?", "Four?", "Five?"].flatMap((words, at) => [
    `user: ${words}`,
    `assistant: Answer ${at}.`,
  ]);
  for (const [at, request] of bench.server.requests.entries())
    assert.deepEqual(conversation(request), lines.slice(0, at * 2 + 1));
  assert.deepEqual([noticesOf(first), noticesOf(moved).length, noticesOf(back).length], [[], 1, 1]);
  assert.match(noticesOf(moved)[0] ?? "", new RegExp(`^The thread ${threads[0]} of codex is of the host `));
});
