/** The client and the API's description of itself: its routes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, type PagurusClient } from "../../packages/client/src/index.ts";
import { apiRoutes } from "../../packages/server/src/api/api-routes.ts";

/** One call of each method; the answer does not matter. */
const CALLS: readonly ((client: PagurusClient) => unknown)[] = [
  (client) => client.status(),
  (client) => client.agents(),
  (client) => client.listSessions({ limit: 3 }),
  (client) => client.search("words"),
  (client) => client.createSession({ key: "a" }),
  (client) => client.session("a b/c"),
  (client) => client.entries("a"),
  (client) => client.fork("a", { key: "b" }),
  (client) => client.rewind("a", null),
  (client) => client.renew("a", { reason: "new" }),
  (client) => client.export("a").next(),
  (client) => client.deleteSession("a"),
  (client) => client.postTurn("a", { prompt: "hello" }),
  (client) => client.compact("a", { focus: "names" }),
  (client) => client.commands(),
  (client) => client.runCommand("a", { name: "say", args: "hello" }),
  (client) => client.rename("a", "Ships"),
  (client) => client.choices({ session: "a" }),
  (client) => client.slashCommands(),
  (client) => client.slash("a", "/cost"),
  (client) => client.files("src", { limit: 5 }),
  (client) => client.listWork("a"),
  (client) => client.work("1"),
  (client) => client.withdraw("1"),
  (client) => client.stopWork("1"),
  (client) => client.steer("a", "text"),
  (client) => client.stop("a"),
  (client) => client.events({ after: 1 }).next(),
  (client) => client.sessionEvents("a", { after: 1 }).next(),
  (client) => client.followWork("1").next(),
  (client) => client.approvals(),
  (client) => client.answer("1", "once"),
  (client) => client.sessionStatus("a"),
  (client) => client.receipts("a"),
  (client) => client.diff("a", { from: "t1:0" }),
  (client) => client.preview("a", { prompt: "hello" }),
  (client) => client.tokens(),
  (client) => client.openWork(),
  (client) => client.board.spend({ days: 3 }),
  (client) => client.board.health(),
  (client) => client.board.connections(),
  (client) => client.board.channels(),
  (client) => client.board.approve("CODE"),
  (client) => client.board.remove("a", "b@example.org"),
  (client) => client.createToken({ name: "phone" }),
  (client) => client.revokeToken("1"),
  (client) => client.browserCode(),
  (client) => client.terminal.sessionKey({ cwd: "/tmp" }),
  (client) => client.terminal.claim({ how: "new" }),
  (client) => client.terminal.records(),
  (client) => client.terminal.state("a"),
  (client) => client.terminal.commandFiles(),
  (client) => client.inspect.usage("a"),
  (client) => client.inspect.requests("a", { before: "t.0", limit: 5 }),
  (client) => client.inspect.request("a", "t.0"),
  (client) => client.inspect.parts("a", "t.0", { from: 5 }),
  (client) => client.inspect.body("a", "t.0", { from: 0, to: 9 }),
  (client) => client.inspect.diff("a", "t.1", { since: "t.0" }),
  (client) => client.inspect.leftOut("a", "t.0"),
  (client) => client.inspect.timeline("a"),
  (client) => client.inspect.branches("a"),
  (client) => client.inspect.curve("a", { points: 100 }),
  (client) => client.inspect.report("a", { request: "t.0", redact: ["user"] }),
  (client) => client.inspect.compactions("a"),
  (client) => client.inspect.summary("a", { entryId: "e", id: "n" }),
  (client) => client.inspect.entry("a", "e"),
  (client) => client.jobs.list(),
  (client) => client.jobs.get("1"),
  (client) => client.jobs.add({ prompt: "a", session: "b", times: { kind: "every", everyMs: 60_000 } }),
  (client) => client.jobs.remove("1"),
  (client) => client.jobs.pause("1"),
  (client) => client.jobs.resume("1"),
  (client) => client.jobs.run("1"),
  (client) => client.terminal.expandCommandFile({ name: "review" }),
];

test("the client has a method for each route, whose query and body the route's schemas accept", async () => {
  const called = new Set<string>();
  const problems: string[] = [];
  const client = createClient({
    url: "http://127.0.0.1:1",
    retryMs: 0,
    fetch: (input, init) => {
      const { pathname, searchParams } = new URL(input as string);
      const path = pathname.replace("/api/v1", "");
      const found = apiRoutes.find(
        ({ method, path: pattern }) =>
          method === init?.method?.toLowerCase() &&
          new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
      );
      called.add(found ? `${found.method} ${found.path}` : `unknown ${path}`);
      const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : undefined;
      const parsed = [found?.query.safeParse(Object.fromEntries(searchParams)), found?.body?.safeParse(body)];
      for (const each of parsed) if (each?.success === false) problems.push(`${path}: ${each.error.message}`);
      return Promise.reject(new TypeError("no server here"));
    },
  });
  await Promise.allSettled(CALLS.map((call) => Promise.resolve(call(client))));
  assert.deepEqual(problems, []);
  assert.deepEqual(
    [...called].toSorted(),
    apiRoutes.map(({ method, path }) => `${method} ${path}`).toSorted(),
  );
});
