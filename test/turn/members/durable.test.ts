import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type {
  CommitTurnParams,
  TranscriptEntryAnchor,
} from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { createDurableEngine } from "../../testkit/engines/durable.ts";
import { words } from "../in-process.ts";
import { outline } from "../wire-bodies.ts";
import { Calls, calls, engineOf, MembersBench, ofType, requestText } from "./members-bench.ts";

type Commit = NonNullable<ContextEngine["commitTurn"]>;
const committed: Commit = async () => ({ status: "committed" });

/** Place of an entry: its line in the file, and its position among the messages of the path that ends with it. */
function placeOf(entries: readonly TranscriptEntry[], id: string) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const before: string[] = [];
  for (let at = byId.get(id)?.parentId ?? null; at !== null; at = byId.get(at)?.parentId ?? null)
    if (byId.get(at)?.type === "message") before.push(at);
  const rawSeq = entries.findIndex((entry) => entry.id === id) + 1;
  return { rawSeq, activeMessagePosition: before.length, before: before[0] ?? null };
}

describe("commitTurn()", () => {
  let bench: MembersBench;
  let asked: Calls;
  beforeEach(() => {
    asked = new Calls();
  });
  afterEach(() => bench.end());

  async function opened(commitTurn: Commit, script?: Parameters<typeof MembersBench.open>[0]) {
    bench = await MembersBench.open(script);
    return bench.start({ engine: engineOf(asked, { commitTurn, afterTurn: async () => undefined }) });
  }

  /** Asserts that an anchor has the message's position in the transcript. */
  function assertAnchor(pagurus: Pagurus, anchor: TranscriptEntryAnchor, generation = "1"): void {
    const record = pagurus.sessions().find("main");
    const place = placeOf(bench.entries(pagurus), anchor.entryId);
    assert.deepEqual(
      {
        agentId: anchor.agentId,
        sessionId: anchor.sessionId,
        sessionKey: anchor.sessionKey,
        storePath: anchor.storePath,
        generation: anchor.generation,
        rawSeq: anchor.rawSeq,
        activeMessagePosition: anchor.activeMessagePosition,
        effectiveParentId: anchor.effectiveParentId,
      },
      {
        agentId: "main",
        sessionId: record?.sessionId,
        sessionKey: "main",
        storePath: join(bench.root, "home", "agents", "main"),
        generation,
        rawSeq: place.rawSeq,
        activeMessagePosition: place.activeMessagePosition,
        effectiveParentId: place.before,
      },
    );
  }

  it("receives the turn once, whole, with anchors of its first and last message", async () => {
    const pagurus = await opened(committed, [
      { text: "First." },
      calls("glob", { pattern: "*" }),
      { text: "Second." },
    ]);
    const turns: string[] = [];
    for (const prompt of ["One", "Two"]) {
      const events = await bench.ask(pagurus, prompt);
      turns.push(ofType(events, "turn.started")[0]?.turnId ?? "");
    }
    assert.ok(!asked.names.includes("afterTurn") && !asked.names.includes("ingest"), "it is preferred");
    const [first, second, ...more] = asked.of("commitTurn");
    assert.ok(first && second);
    assert.equal(more.length, 0);
    assert.deepEqual(first.messages.map(words), ["One", "First."]);
    assert.deepEqual(
      second.messages.map(({ role }) => role),
      ["user", "assistant", "toolResult", "assistant"],
    );
    for (const [index, commit] of [first, second].entries()) {
      const { admission, terminal, messages, advancementKey, sessionTarget } = commit;
      assertAnchor(pagurus, admission);
      assertAnchor(pagurus, terminal);
      assert.equal(admission.entryId, messages[0]?.entryId);
      assert.equal(terminal.entryId, messages.at(-1)?.entryId);
      const turnId = turns[index];
      assert.deepEqual(
        [advancementKey, admission.logicalTurnId, admission.idempotencyKey, terminal.idempotencyKey],
        [turnId, turnId, turnId, turnId],
      );
      assert.equal(admission.role, "user");
      const { agentId, sessionId, sessionKey, storePath } = admission;
      assert.deepEqual(sessionTarget, { agentId, sessionId, sessionKey, storePath });
      assert.deepEqual([commit.sessionId, commit.sessionKey], [sessionId, sessionKey]);
    }
    assert.equal(first.admission.effectiveParentId, null);
    assert.equal(second.admission.effectiveParentId, first.terminal.entryId);
    assert.equal(second.admission.activeMessagePosition, 2);
    assert.equal(second.terminal.activeMessagePosition, 5);
  });

  it("receives the next generation after /new, whose first message has nothing before it", async () => {
    const pagurus = await opened(committed);
    await bench.ask(pagurus, "One");
    await pagurus.renew({ reason: "new", cwd: bench.root });
    await bench.ask(pagurus, "Two");
    const { admission, terminal } = asked.last("commitTurn");
    assertAnchor(pagurus, admission, "2");
    assertAnchor(pagurus, terminal, "2");
    assert.equal(admission.effectiveParentId, null);
    assert.equal(admission.activeMessagePosition, 0);
    assert.notEqual(admission.sessionId, asked.of("commitTurn")[0]?.sessionId);
  });

  it("receives a new branch after a rewind: the message it follows, not the newest one", async () => {
    const pagurus = await opened(committed);
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    const [first] = asked.of("commitTurn");
    const writer = pagurus.sessions().openWriter("main", { cwd: bench.root });
    writer.rewind(first?.terminal.entryId ?? null);
    writer.close();
    await bench.ask(pagurus, "Three");
    const { admission, terminal } = asked.last("commitTurn");
    assertAnchor(pagurus, admission);
    assertAnchor(pagurus, terminal);
    assert.equal(admission.effectiveParentId, first?.terminal.entryId);
    assert.deepEqual([admission.activeMessagePosition, terminal.activeMessagePosition], [2, 3]);
  });

  it("that answers duplicate has taken the turn: it is not offered again and maintenance follows", async () => {
    let maintained = 0;
    bench = await MembersBench.open();
    const engine = engineOf(asked, {
      commitTurn: async () => ({ status: "duplicate" }),
      maintain: async () => (maintained++, { changed: false, bytesFreed: 0, rewrittenEntries: 0 }),
    });
    const pagurus = await bench.start({ engine });
    const events = [...(await bench.ask(pagurus, "One")), ...(await bench.ask(pagurus, "Two"))];
    assert.deepEqual(ofType(events, "context.degraded"), []);
    assert.equal(new Set(asked.of("commitTurn").map((commit) => commit.advancementKey)).size, 2);
    assert.equal(asked.of("commitTurn").length, 2);
    assert.equal(maintained, 2);
  });

  it("that returns an invalid result has not taken the turn, which is offered again with the same key", async () => {
    let answer = "accepted";
    const pagurus = await opened(async () => ({ status: answer }) as Awaited<ReturnType<Commit>>);
    const [degraded] = ofType(await bench.ask(pagurus, "One"), "context.degraded");
    assert.match(degraded?.reason ?? "", /neither committed nor duplicate/);
    answer = "committed";
    await bench.ask(pagurus, "Two");
    const [first, again, second, ...more] = asked.of("commitTurn");
    assert.equal(more.length, 0);
    assert.equal(again?.advancementKey, first?.advancementKey);
    assert.deepEqual(again?.admission, first?.admission);
    assert.deepEqual(again?.terminal, first?.terminal);
    assert.deepEqual(again?.messages, first?.messages);
    assert.notEqual(second?.advancementKey, first?.advancementKey);
  });

  it("receives which turn is a heartbeat, also when it is offered again", async () => {
    let fails = false;
    const pagurus = await opened(async () => {
      if (fails) throw new Error("not now");
      return { status: "committed" };
    });
    await bench.ask(pagurus, "One");
    fails = true;
    await bench.ask(pagurus, "Beat", { heartbeat: true });
    await bench.ask(pagurus, "Two");
    fails = false;
    // In another process too.
    await pagurus.close();
    const engine = engineOf(asked, { commitTurn: committed });
    await bench.ask(await bench.start({ engine }), "Three", { heartbeat: true });
    const heartbeats = asked
      .of("commitTurn")
      .map(({ isHeartbeat, messages }: CommitTurnParams) => [words(messages[0] ?? never()), isHeartbeat]);
    assert.deepEqual(heartbeats, [
      ["One", false],
      ["Beat", true],
      ["Beat", true],
      ["Beat", true],
      ["Two", false],
      ["Three", true],
    ]);
    assert.ok(
      bench.server.requests.every(({ text }) => !text.includes("heartbeat")),
      "no model is told",
    );
  });
});

function never(): never {
  throw new Error("a turn has a first message");
}

describe("a durable engine", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  /** `change` may wrap the engine for the host. */
  function durable(asked: Calls, change: (inner: ContextEngine) => Partial<ContextEngine> = () => ({})) {
    const inner = createDurableEngine({ dir: bench.root });
    const { info } = inner;
    return engineOf(
      asked,
      {
        bootstrap: (params) => inner.bootstrap?.(params) ?? never(),
        ingest: (params) => inner.ingest(params),
        assemble: (params) => inner.assemble(params),
        commitTurn: (params) => inner.commitTurn?.(params) ?? never(),
        compact: (params) => inner.compact(params),
        dispose: async () => inner.dispose?.(),
        ...change(inner),
      },
      info,
    );
  }

  it("keeps the history itself: it receives no earlier message, and the model sees all of them", async () => {
    bench = await MembersBench.open();
    const asked = new Calls();
    const pagurus = await bench.start({ engine: durable(asked) });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    assert.deepEqual(
      asked.of("assemble").map(({ messages }) => messages.map(words)),
      [[], []],
    );
    assert.deepEqual(outline(bench.body(1)), ["user:One", "assistant:Reply 0.", "user:Two"]);
    const { engine } = await pagurus.status({ cwd: bench.root });
    assert.equal(engine.lifecycle, "durable");
    assert.equal(engine.contract, "pagurus.engine/1");
  });

  it("has each turn once although its commit fails before or after the engine has written it", async () => {
    bench = await MembersBench.open();
    const asked = new Calls();
    let fail: "before" | "after" | undefined;
    const engine = durable(asked, (inner) => ({
      commitTurn: async (params) => {
        if (fail === "before") throw new Error("the disk is full");
        const answer = (await inner.commitTurn?.(params)) ?? never();
        if (fail === "after") throw new Error("the answer was lost");
        return answer;
      },
    }));
    const pagurus = await bench.start({ engine });
    fail = "before";
    const [degraded] = ofType(await bench.ask(pagurus, "One"), "context.degraded");
    assert.equal(degraded?.stage, "settle");
    fail = "after";
    await bench.ask(pagurus, "Two");
    assert.deepEqual(outline(bench.body(1)), ["user:One", "assistant:Reply 0.", "user:Two"]);
    fail = undefined;
    await bench.ask(pagurus, "Three");
    await bench.ask(pagurus, "Four");
    assert.deepEqual(outline(bench.body(-1)), [
      "user:One",
      "assistant:Reply 0.",
      "user:Two",
      "assistant:Reply 1.",
      "user:Three",
      "assistant:Reply 2.",
      "user:Four",
    ]);
    const offered = asked.of("commitTurn").map(({ messages }) => words(messages[0] ?? never()));
    assert.deepEqual([offered[0], offered.at(-1)], ["One", "Four"]);
  });

  it("follows a rewind: messages that were taken back are no longer in the context", async () => {
    bench = await MembersBench.open();
    const asked = new Calls();
    const pagurus = await bench.start({ engine: durable(asked) });
    await bench.ask(pagurus, "One");
    const writer = pagurus.sessions().openWriter("main", { cwd: bench.root });
    const { leafId } = writer;
    writer.close();
    await bench.ask(pagurus, "Two");
    const again = pagurus.sessions().openWriter("main", { cwd: bench.root });
    again.rewind(leafId);
    again.close();
    await bench.ask(pagurus, "Three");
    await bench.ask(pagurus, "Four");
    assert.deepEqual(outline(bench.body(-1)), [
      "user:One",
      "assistant:Reply 0.",
      "user:Three",
      "assistant:Reply 2.",
      "user:Four",
    ]);
  });

  it("imports a session that another engine began, and reports how much", async () => {
    bench = await MembersBench.open();
    const before = await bench.start();
    await bench.ask(before, "One");
    await bench.ask(before, "Two");
    await before.close();
    const asked = new Calls();
    const pagurus = await bench.start({ engine: durable(asked) });
    await bench.ask(pagurus, "Three");
    await bench.ask(pagurus, "Four");
    assert.equal(asked.of("bootstrap").length, 1);
    const [answer] = bench.logged("context engine bootstrap answered");
    assert.deepEqual([answer?.["bootstrapped"], answer?.["imported"]], [true, 4]);
    assert.match(requestText(bench.body(2)), /^One\nReply 0\.\nTwo\nReply 1\.\nThree$/);
  });

  it("names the epoch of its context in each receipt, a new one after its compaction", async () => {
    bench = await MembersBench.open();
    const asked = new Calls();
    const pagurus = await bench.start({ engine: durable(asked), model: { contextWindow: 8_000 } });
    for (const name of ["One", "Two", "Three"]) await bench.ask(pagurus, `${name} ${"word ".repeat(500)}`);
    const [early] = await pagurus.context.receipts({});
    const compacted = await pagurus.compact({ cwd: bench.root });
    assert.equal(compacted.compacted, true, compacted.reason ?? "");
    await bench.ask(pagurus, "Four");
    const [late] = await pagurus.context.receipts({});
    assert.equal(early?.epoch, "0");
    assert.match(late?.epoch ?? "", /^[1-9]\d*$/);
  });
});
