/** Who may raise a cost limit: the owner who waits for the turn, and no holder of a token that may not save rules. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { askInEditor } from "../../../packages/acp-server/src/permission-request.ts";
import { OWNER, type Authority } from "../../../packages/contract/src/host/authority.ts";
import type { PagurusHost } from "../../../packages/contract/src/host/pagurus-host.ts";
import type { PermissionAnswer, PermissionQuestion } from "../../../packages/contract/src/host/run.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import type { Database } from "../../../packages/core/src/data/sqlite.ts";
import { Dispatcher } from "../../../packages/inbox/src/dispatcher.ts";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { callerApprovals } from "../../../packages/server/src/caller/caller-work.ts";
import { localWork } from "../../../packages/server/src/open-work.ts";
import { until } from "../../runner/until.ts";

const PLACE = { agentId: "main", sessionKey: "s" };
const YES = { content: { dollars: 2 } };
const QUESTION: Omit<PermissionQuestion, "signal"> = {
  toolName: "cost limit",
  summary: "Allow $2.00 more?",
  form: { type: "object", properties: { dollars: { type: "number", default: 2 } } },
  accept: { label: "Allow $2.00 more", ...YES },
  sessionKey: "s",
  cwd: "/",
};
const CHAT: Authority = { ...OWNER, tokenId: "t1", scope: "chat", mayRemember: false };

describe("the question at a cost limit of a turn of the server", () => {
  let home: string;
  let db: Database;
  let store: ReturnType<typeof localWork>;
  let dispatcher: Dispatcher;
  const answers: PermissionAnswer[] = [];

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-raise-"));
    db = openServerDatabase(home);
    store = localWork(db);
    answers.length = 0;
    const run = async function* (): AsyncGenerator<object> {
      const { signal } = new AbortController();
      answers.push(await dispatcher.askPermission({ ...QUESTION, signal }));
      yield { type: "turn.completed", stopReason: "stop" };
    };
    const host = { as: () => ({ run }), mode: () => "ask", sessions: () => ({}) };
    const logger = silentLogger;
    dispatcher = new Dispatcher({ ...store, host: host as unknown as PagurusHost, logger, maxTurns: 1 });
  });
  afterEach(async () => {
    await dispatcher.stop(0);
    await store.close();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  const post = (origin: string, authority: Authority) =>
    dispatcher.post({
      ...PLACE,
      kind: "turn",
      request: { prompt: "Go" },
      policy: "queue",
      origin,
      authority,
    });

  for (const [who, origin, authority] of [
    ["of a job", "job:1", OWNER],
    ["of a channel", "channel:c", OWNER],
    ["of a token that may not save rules", "api", CHAT],
  ] as const)
    it(`is not asked in a turn ${who}`, async () => {
      await post(origin, authority);
      await until(() => answers.length === 1);
      assert.deepEqual(answers, ["unasked"]);
    });

  it("waits for an answer that a token may give which may save rules", async () => {
    await post("api", OWNER);
    await until(async () => (await store.approvals.open()).length === 1);
    const [open] = await store.approvals.open();
    const id = open?.id ?? "";
    const as = (caller: Authority) =>
      callerApprovals({
        caller,
        host: { mode: () => "auto" },
        parts: { approvals: store.approvals },
      } as unknown as Parameters<typeof callerApprovals>[0]);
    await assert.rejects(as(CHAT).answer(id, YES), /scope admin; answer deny/);
    assert.deepEqual(answers, []);
    assert.equal(await as(OWNER).answer(id, YES), true);
    await until(() => answers.length === 1);
    assert.deepEqual(answers, [YES]);
  });
});

it("the yes of an editor raises a limit only where its caller may save rules", async () => {
  const offered: string[][] = [];
  const client = {
    ask: ({ options }: { options: { optionId: string; name: string }[] }) => {
      offered.push(options.map(({ name }) => name));
      return Promise.resolve({ outcome: { outcome: "selected", optionId: "once" } });
    },
  } as unknown as Parameters<typeof askInEditor>[0];
  const question = { ...QUESTION, toolCallId: "q", signal: new AbortController().signal };
  const ask = (authority: Authority) => askInEditor(client, "s", question, { call: undefined, authority });
  assert.deepEqual(await ask(OWNER), YES);
  assert.equal(await ask(CHAT), "deny");
  assert.deepEqual(offered, [["Allow $2.00 more", "Reject"], ["Reject"]]);
});
