/** The client and the API's description of itself: routes, and types of what is sent and received. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type * as z from "zod";
import {
  createClient,
  type Approval,
  type Command,
  type NewToken,
  type ReceiptDiff,
  type ServerStatus,
  type Session,
  type Token,
  type Job,
} from "../../packages/client/src/index.ts";
import type {
  Claimed,
  InspectedCompaction,
  InspectedPart,
  InspectedRequest,
  LeftOutEntry,
  LeftOutSum,
  PagurusClient,
  RequestDetails,
  RequestDiff,
  SessionDetails,
  SessionUsage,
  TranscriptState,
  Turn,
  Work,
} from "../../packages/client/src/index.ts";
import type * as shapes from "../../packages/server/src/api/inspect-answers.ts";
import type * as answers from "../../packages/api/src/answers.ts";
import type { command } from "../../packages/server/src/api/command-routes.ts";
import { apiRoutes } from "../../packages/server/src/api/api-routes.ts";
import type { diff } from "../../packages/server/src/api/diff-routes.ts";
import type { newToken, serverStatus, token } from "../../packages/server/src/api/host-routes.ts";
import type { job } from "../../packages/server/src/api/job-routes.ts";
import type { sessionDetails } from "../../packages/server/src/api/session-routes.ts";
import type { claim, transcriptState } from "../../packages/server/src/api/terminal-routes.ts";
import type { turnBody } from "../../packages/server/src/api/turn-routes.ts";
import type { usage } from "../../packages/server/src/api/usage-routes.ts";

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

/** `true` where each type fits the other. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** The same where a member may be absent but not undefined in one of them. */
type Fits<A extends B, B> = Same<keyof A, keyof B>;

/** Does not compile where one of them differs. */
const COMPARED: {
  session: Same<Session, z.infer<typeof answers.session>>;
  details: Same<SessionDetails, z.infer<typeof sessionDetails>>;
  work: Same<Work, z.infer<typeof answers.work>>;
  command: Same<keyof Command, keyof z.infer<typeof command>>;
  approval: Same<Approval, z.infer<typeof answers.approval>>;
  status: Same<ServerStatus, z.infer<typeof serverStatus>>;
  diff: Fits<ReceiptDiff, z.infer<typeof diff>>;
  token: Same<Token, z.infer<typeof token>>;
  newToken: Same<NewToken, z.input<typeof newToken>>;
  turn: Fits<Turn, z.input<typeof turnBody>>;
  job: Same<Job, z.infer<typeof job>>;
  claim: Same<keyof Claimed, keyof z.infer<typeof claim>>;
  record: Fits<TranscriptState["record"], z.infer<typeof answers.record>>;
  state: Same<keyof TranscriptState, keyof z.infer<typeof transcriptState>>;
  usage: Same<SessionUsage, z.infer<typeof usage>>;
  request: Same<keyof InspectedRequest, keyof z.infer<typeof shapes.request>>;
  requestDetails: Fits<RequestDetails, z.infer<typeof shapes.requestDetails>>;
  part: Same<InspectedPart, z.infer<typeof shapes.part>>;
  requestDiff: Same<RequestDiff, z.infer<typeof shapes.requestDiff>>;
  leftOut: Same<LeftOutEntry, z.infer<typeof shapes.leftOutEntry>>;
  leftOutSum: Same<LeftOutSum, z.infer<typeof shapes.leftOutSum>>;
  compaction: Same<InspectedCompaction, z.infer<typeof shapes.compaction>>;
} = {
  session: true,
  details: true,
  work: true,
  command: true,
  approval: true,
  status: true,
  diff: true,
  token: true,
  newToken: true,
  turn: true,
  job: true,
  claim: true,
  record: true,
  state: true,
  usage: true,
  request: true,
  requestDetails: true,
  part: true,
  requestDiff: true,
  leftOut: true,
  leftOutSum: true,
  compaction: true,
};

test("the client's types are those of the API's schemas", () => {
  assert.ok(Object.values(COMPARED).every(Boolean));
});
