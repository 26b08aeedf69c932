/** Answers of ended work: each is queued by itself, whatever happens to the others. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { ChannelEvents } from "../../packages/channels/src/channel-events.ts";
import { ChannelHost } from "../../packages/channels/src/channel-host.ts";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import { WebhookRoutes } from "../../packages/channels/src/webhook/webhook-routes.ts";
import type { ChannelKind } from "../../packages/contract/src/channel/channel-kind.ts";
import type { ChannelPort } from "../../packages/contract/src/channel/channel.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { Dispatcher } from "../../packages/inbox/src/dispatcher.ts";
import type { Alongside } from "../../packages/inbox/src/inbox.ts";
import { localWork } from "../../packages/server/src/open-work.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { NewWork, Work, WorkEnd } from "../../packages/inbox/src/work.ts";
import { TestClock } from "../runner/test-clock.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";
import type { PagurusHost } from "../../packages/contract/src/host/pagurus-host.ts";

const GONE = 'No agent "helper" is configured (there are: main); add it to agents.list or name one of these.';
const STOPPED: WorkEnd = { outcome: "aborted" };

describe("answers of ended work", () => {
  let home: string;
  let db: Database;
  let clock: TestClock;
  let work: ReturnType<typeof localWork>;
  let store: ChannelStore;
  let channels: ChannelHost | undefined;
  let ports: Map<string, ChannelPort>;
  let sent: string[];
  /** Sessions whose transcript cannot be read. */
  let damaged: Set<string>;
  let reads: number;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-answers-"));
    db = openServerDatabase(home);
    work = localWork(db);
    clock = new TestClock();
    store = new ChannelStore(db);
    ports = new Map();
    sent = [];
    damaged = new Set();
    reads = 0;
  });
  afterEach(async () => {
    await channels?.stop();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  const openReader = (sessionKey: string): never => {
    reads += 1;
    if (damaged.has(sessionKey))
      throw new PagurusError("store_read_failed", `The session ${sessionKey} cannot be read.`);
    throw new PagurusError("session_not_found", `There is no session ${sessionKey}.`);
  };

  const kind: ChannelKind = {
    kind: "memory",
    create: ({ id }) => ({
      id,
      kind: "memory",
      connect: async (port, signal) => {
        ports.set(id, port);
        return {
          capabilities: { inbound: "exactly-once", outbound: "at-least-once", maxChars: 4_000 },
          ended: new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("stop"))),
          send: async ({ to, text }) => void sent.push(`${to}: ${text}`),
          close: async () => undefined,
        };
      },
    }),
  };

  async function start(): Promise<void> {
    const pagurus = {
      sessions: (agentId: string) => {
        if (agentId === "helper") throw new PagurusError("config_invalid", GONE);
        return { openReader } as unknown as SessionStore;
      },
      plugins: { channels: () => [kind], isDeliveryWatched: () => false },
    } as unknown as Pagurus;
    const dispatcher = new Dispatcher({
      ...work,
      host: { ...pagurus, as: () => pagurus } as unknown as PagurusHost,
      logger: silentLogger,
      maxTurns: 0,
    });
    channels = await ChannelHost.start({
      ...work,
      config: { channels: { home: { kind: "memory", allow: ["ann"] }, deck: { kind: "memory" } } },
      db,
      dispatcher,
      pagurus,
      logger: silentLogger,
      env: {},
      webhooks: new WebhookRoutes(),
      cwd: home,
      clock,
    });
    await settle();
  }

  async function settle(): Promise<void> {
    for (let turns = 0; turns < 30; turns += 1) await turnOfLoop();
  }

  /** A message of the channel, whose work has not ended. */
  async function accepted(channel: string, address: string, agentId = "main"): Promise<Work> {
    const origin = `channel:${channel}`;
    const posted = work.inbox.post(
      {
        agentId,
        sessionKey: `${channel}:${address}`,
        kind: "turn",
        request: { prompt: "hello" },
        policy: "queue",
        origin,
        authority: { ...OWNER, tokenId: origin },
      },
      ({ workId }) => store.addWork(workId, { channel, address, isGroup: false }),
    );
    return (await posted).work;
  }

  function noted(channel: string): string[] {
    const events = new ChannelEvents(db).last(100, channel);
    return events.flatMap(({ what, detail, times }) => (what === "lost" ? `${times} ${detail}` : []));
  }

  it("are queued also where another one cannot be read, which is in the channel's log once and is read again", async () => {
    damaged.add("home:ann");
    const first = await accepted("home", "ann");
    const others = [await accepted("home", "bob"), await accepted("deck", "eve")];
    await start();
    for (const each of [first, ...others]) {
      await work.inbox.ended(each, STOPPED);
      await settle();
    }
    assert.deepEqual(sent, ["bob: Stopped.", "eve: Stopped."]);
    for (let tries = 1; tries <= 3; tries += 1) {
      const before = reads;
      await clock.pass(2_000);
      await settle();
      assert.equal(reads, before + 1, "one chain of tries, however much work has ended");
    }
    assert.deepEqual(noted("home"), [
      `1 the answer of the work ${first.id} cannot be read: The session home:ann cannot be read.`,
    ]);
    damaged.clear();
    await clock.pass(2_000);
    await settle();
    assert.deepEqual(sent.slice(2), ["ann: Stopped."]);
    assert.equal(store.unanswered().length, 0);
  });

  it("of an agent that is not configured any more are the reason of the failure", async () => {
    const failed = await accepted("home", "ann", "helper");
    const completed = await accepted("home", "bob", "helper");
    await work.inbox.ended(failed, {
      outcome: "failed",
      error: { code: "turn_failed", message: "It broke." },
    });
    await work.inbox.ended(completed, { outcome: "completed" });
    await start();
    assert.deepEqual(sent, ["ann: That failed: It broke.", `bob: That failed: ${GONE}`]);
    assert.deepEqual(
      noted("home").map((line) => line.replace(/work \S+/, "work X")),
      [
        `1 the answer of the work X cannot be read: ${GONE}`,
        `1 the answer of the work X cannot be read: ${GONE}`,
      ],
    );
    assert.equal(store.unanswered().length, 0);
  });

  it("come after a question that was asked between a message and its late record", async () => {
    const post = work.inbox.post.bind(work.inbox);
    // As a shared inbox whose host ends before the record: another host runs the work.
    work.inbox.post = async (asked: NewWork) => {
      await post(asked);
      throw new PagurusError("store_write_failed", "The process ended here.");
    };
    await start();
    const message = { id: "m-1", from: "ann", text: "deploy" };
    await assert.rejects(ports.get("home")?.receive(message, "1") ?? Promise.resolve());
    const [open] = await work.inbox.open();
    assert.ok(open);
    const { signal } = new AbortController();
    void work.approvals.ask(open, { toolName: "shell", summary: "Run deploy.sh", cwd: "/", signal });
    await settle();
    assert.deepEqual(sent, []);
    work.inbox.post = post;
    await ports.get("home")?.receive(message, "1");
    await settle();
    const [question = ""] = sent;
    assert.match(
      question,
      /^ann: May I do this\? Run deploy\.sh\n\nThis is question \d{3}: [^]*Answer yes or no\.$/,
    );
    assert.equal(sent.length, 1);
    await ports.get("home")?.receive({ id: "m-2", from: "ann", text: "yes" }, "2");
    assert.deepEqual(await work.approvals.open(), []);
    await work.inbox.ended(open, STOPPED);
    await settle();
    assert.deepEqual(sent, [question, "ann: Stopped."]);
  });

  for (const text of ["hello", "hello, changed"])
    it(`are queued when a crash came between a message and its record, and its work ended before it came again${text === "hello" ? "" : " in another form"}`, async () => {
      const post = work.inbox.post.bind(work.inbox);
      let crashes = true;
      // As a shared inbox: what is written alongside follows the work.
      work.inbox.post = async (asked: NewWork, alongside?: Alongside) => {
        const answer = await post(asked);
        if (crashes) throw new PagurusError("store_write_failed", "The process ended here.");
        alongside?.({ workId: answer.work.id, isNew: answer.isNew });
        return answer;
      };
      await start();
      const message = { id: "m-1", from: "ann", text: "hello" };
      await assert.rejects(ports.get("home")?.receive(message, "1") ?? Promise.resolve());
      crashes = false;
      const [open] = await work.inbox.open();
      assert.ok(open);
      await work.inbox.ended(open, STOPPED);
      await settle();
      await ports.get("home")?.receive({ ...message, text }, "1");
      await settle();
      assert.deepEqual(sent, ["ann: Stopped."]);
      assert.equal(store.cursor("home"), "1");
      await ports.get("home")?.receive({ ...message, text }, "2");
      await settle();
      assert.equal(sent.length, 1, "one answer");
    });
});
