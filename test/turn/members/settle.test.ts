import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { BootstrapResult } from "../../../packages/contract/src/engine/engine-params.ts";
import { words } from "../in-process.ts";
import { calls, Calls, engineOf, MembersBench, ofType } from "./members-bench.ts";

describe("the end of a turn", () => {
  let bench: MembersBench;
  let asked: Calls;
  beforeEach(() => {
    asked = new Calls();
  });
  afterEach(() => bench.end());

  const taken = (): Record<string, unknown>[] => bench.logged("turn ingested");

  it("passes each message of the turn, in order and one by one, to an engine that only ingests", async () => {
    bench = await MembersBench.open([calls("glob", { pattern: "*" }), { text: "Done." }, { text: "Ok." }]);
    const seen = new Set<string>();
    const engine = engineOf(asked, {
      // Like an engine that identifies messages by their text: a message it has is not taken again.
      ingest: async ({ message }) => ({ ingested: seen.size < seen.add(words(message)).size }),
    });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "One", { heartbeat: true });
    assert.deepEqual(
      asked.of("ingest").map(({ message, isHeartbeat }) => [message.role, isHeartbeat]),
      [
        ["user", false],
        ["assistant", false],
        ["toolResult", false],
        ["assistant", false],
        ["user", true],
        ["assistant", true],
      ],
    );
    const ids = asked.of("ingest").map(({ message }) => message.entryId);
    const written = bench.entries(pagurus).filter(({ type }) => type === "message");
    assert.deepEqual(
      ids,
      written.map(({ id }) => id),
    );
    const { sessionId, sessionKey } = asked.last("ingest");
    assert.deepEqual([sessionId, sessionKey], [pagurus.sessions().find("main")?.sessionId, "main"]);
    assert.deepEqual(
      taken().map((line) => [line["offered"], line["taken"]]),
      [
        [4, 4],
        [2, 1],
      ],
      "what the engine had is not counted as taken",
    );
  });

  it("passes all messages at once to an engine that ingests batches, and none of them alone", async () => {
    bench = await MembersBench.open();
    const engine = engineOf(asked, {
      ingestBatch: async ({ messages }) => ({ ingestedCount: messages.length - 1 }),
    });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Beat", { heartbeat: true });
    assert.deepEqual(asked.of("ingest"), []);
    assert.deepEqual(
      asked.of("ingestBatch").map(({ messages, isHeartbeat }) => [...messages.map(words), isHeartbeat]),
      [
        ["One", "Reply 0.", false],
        ["Beat", "Reply 1.", true],
      ],
    );
    const { sessionId, sessionKey, runtimeContext, runtimeSettings } = asked.last("ingestBatch");
    assert.deepEqual([sessionId, sessionKey], [pagurus.sessions().find("main")?.sessionId, "main"]);
    assert.ok((runtimeContext?.tokens("some words") ?? 0) > 0);
    assert.equal(runtimeSettings?.schemaVersion, 1);
    assert.deepEqual(
      taken().map((line) => [line["offered"], line["taken"]]),
      [
        [2, 1],
        [2, 1],
      ],
    );
  });

  it("prefers afterTurn to both", async () => {
    bench = await MembersBench.open();
    const engine = engineOf(asked, {
      ingestBatch: async () => ({ ingestedCount: 0 }),
      afterTurn: async () => undefined,
    });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "Beat", { heartbeat: true });
    assert.deepEqual(asked.names, ["assemble", "afterTurn"]);
    assert.equal(asked.last("afterTurn").isHeartbeat, true);
    assert.ok((asked.last("afterTurn").tokenBudget ?? 0) > 0);
  });

  for (const member of ["ingest", "ingestBatch", "afterTurn"] as const) {
    it(`offers the whole turn again when ${member} fails, before the next one`, async () => {
      bench = await MembersBench.open();
      let fails = true;
      const once = async (): Promise<never> => {
        if (fails) throw new Error("not now");
        return { ingested: true, ingestedCount: 2 } as never;
      };
      const engine = engineOf(asked, { [member]: once });
      const pagurus = await bench.start({ engine });
      const [degraded] = ofType(await bench.ask(pagurus, "One"), "context.degraded");
      assert.equal(degraded?.stage, "settle");
      assert.match(degraded?.reason ?? "", /not now/);
      fails = false;
      const before = asked.names.length;
      await bench.ask(pagurus, "Two");
      const offered = asked
        .all()
        .slice(before)
        .filter((call) => call.member === member)
        .flatMap(({ params }) => {
          const {
            message,
            messages,
            prePromptMessageCount = 0,
          } = params as {
            message?: Parameters<typeof words>[0];
            messages?: Parameters<typeof words>[0][];
            prePromptMessageCount?: number;
          };
          return message ? [message] : (messages ?? []).slice(prePromptMessageCount);
        })
        .map(words);
      assert.deepEqual(offered, ["One", "Reply 0.", "Two", "Reply 1."]);
      const status = await pagurus.status({ cwd: bench.root });
      assert.deepEqual(status.interruptedTurns, []);
    });
  }
});

describe("bootstrap()", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  async function met(answer: () => Promise<BootstrapResult>) {
    bench = await MembersBench.open();
    const before = await bench.start();
    await bench.ask(before, "One");
    await before.close();
    const asked = new Calls();
    const engine = engineOf(asked, {
      bootstrap: answer,
      maintain: async () => ({ changed: false, bytesFreed: 0, rewrittenEntries: 0 }),
    });
    const pagurus = await bench.start({ engine });
    const events = [...(await bench.ask(pagurus, "Two")), ...(await bench.ask(pagurus, "Three"))];
    return { asked, events, pagurus };
  }

  it("runs once for a session that existed, before its turn, and maintenance follows", async () => {
    const { asked, events, pagurus } = await met(async () => ({ bootstrapped: true, importedMessages: 2 }));
    assert.deepEqual(asked.names.slice(0, 3), ["bootstrap", "maintain", "assemble"]);
    assert.equal(asked.of("bootstrap").length, 1);
    assert.deepEqual(ofType(events, "context.degraded"), []);
    const { sessionFile, sessionTarget, sessionId } = asked.last("bootstrap");
    assert.equal(sessionId, pagurus.sessions().find("main")?.sessionId);
    assert.equal(sessionTarget?.sessionId, sessionId);
    assert.match(sessionFile, new RegExp(`${sessionId}\\.jsonl$`));
    const [line] = bench.logged("context engine bootstrap answered");
    assert.deepEqual([line?.["bootstrapped"], line?.["imported"], line?.["gaveReason"]], [true, 2, false]);
  });

  it("may have nothing to import, with a reason, and is not called again", async () => {
    const { asked, events } = await met(async () => ({ bootstrapped: false, reason: "It is all there." }));
    assert.equal(asked.of("bootstrap").length, 1);
    assert.deepEqual(ofType(events, "context.degraded"), []);
    const [line] = bench.logged("context engine bootstrap answered");
    assert.deepEqual([line?.["bootstrapped"], line?.["gaveReason"]], [false, true]);
    assert.ok(!JSON.stringify(line).includes("all there"), "an engine's words are not logged");
  });

  it("that fails costs a warning, and is called again with the next turn", async () => {
    const { asked, events } = await met(() => Promise.reject(new Error("no database")));
    assert.equal(asked.of("bootstrap").length, 2);
    assert.deepEqual(
      ofType(events, "context.degraded").map(({ stage }) => stage),
      ["bootstrap", "bootstrap"],
    );
    assert.equal(asked.of("assemble").length, 2);
  });
});
