import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { MaintainParams } from "../../../packages/contract/src/engine/engine-params.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { TranscriptRewriteResult } from "../../../packages/contract/src/engine/runtime-context.ts";
import type { MessageEntry } from "../../../packages/contract/src/session/transcript.ts";
import { eventsOf, words } from "../in-process.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { outline } from "../wire-bodies.ts";
import { answered, Calls, engineOf, MembersBench, ofType, requestText } from "./members-bench.ts";

const NOTHING: TranscriptRewriteResult = { changed: false, bytesFreed: 0, rewrittenEntries: 0 };

/** Messages of the active path. */
async function pathOf({ runtimeContext }: MaintainParams): Promise<MessageEntry[]> {
  const entries: MessageEntry[] = [];
  for await (const entry of runtimeContext?.transcript.forward() ?? [])
    if (entry.type === "message") entries.push(entry);
  return entries;
}

function entryWith(entries: readonly MessageEntry[], text: string): MessageEntry {
  const found = entries.find(({ message }) => words(message) === text);
  assert.ok(found, text);
  return found;
}

async function rewrite(params: MaintainParams, entryId: string, content: string) {
  const ask = params.runtimeContext?.rewriteTranscriptEntries;
  assert.ok(ask, "maintain may rewrite");
  const message: AgentMessage = { role: "user", content };
  return ask([{ entryId, message }]);
}

/** OpenClaw's form of the request. */
async function rewriteAllowed(
  params: MaintainParams,
  entryId: string,
  content: string,
  allowedRewriteSuffixEntryIds?: string[],
) {
  const message: AgentMessage = { role: "user", content };
  return params.runtimeContext?.rewriteTranscriptEntries?.({
    replacements: [{ entryId, message }],
    ...(allowedRewriteSuffixEntryIds && { allowedRewriteSuffixEntryIds }),
  });
}

describe("maintain() in the foreground", () => {
  let bench: MembersBench;
  let asked: Calls;
  beforeEach(async () => {
    asked = new Calls();
    bench = await MembersBench.open();
  });
  afterEach(() => bench.end());

  it("rewrites messages: the model gets the new text, the old id has the old one", async () => {
    const old: { id: string; words: string }[] = [];
    const results: TranscriptRewriteResult[] = [];
    const engine = engineOf(asked, {
      maintain: async (params) => {
        const long = (await pathOf(params)).find(({ message }) => words(message).startsWith("The long"));
        if (!long) {
          const entry = await params.runtimeContext?.transcript.get(old[0]?.id ?? "");
          if (entry?.type === "message") old.push({ id: entry.id, words: words(entry.message) });
          return { ...NOTHING, reason: "it is short already" };
        }
        old.push({ id: long.id, words: words(long.message) });
        const result = await rewrite(params, long.id, "The short of it.");
        results.push(result);
        return result;
      },
    });
    const pagurus = await bench.start({ engine });
    const long = `The long of it: ${"and so on ".repeat(50)}`;
    const events = await bench.ask(pagurus, long);
    await bench.ask(pagurus, "Two");
    assert.deepEqual(ofType(events, "context.degraded"), []);
    assert.deepEqual(outline(bench.body(1)), ["user:The short of it.", "assistant:Reply 0.", "user:Two"]);
    assert.equal(results.length, 1);
    const [result] = results;
    assert.ok(
      result?.changed && result.rewrittenEntries >= 1 && result.bytesFreed > 300,
      JSON.stringify(result),
    );
    assert.equal(old.length, 2);
    assert.deepEqual(old[1], old[0], "recall by the old id");
    const written = bench.entries(pagurus).filter((entry) => entry.type === "message");
    const successor = written.find(({ supersedes }) => supersedes === old[0]?.id);
    assert.equal(successor && words(successor.message), "The short of it.");
    const lines = bench.logged("context engine maintained");
    assert.deepEqual(
      lines.map((line) => [
        line["changed"],
        line["rewrittenEntries"],
        line["bytesFreed"],
        line["gaveReason"],
      ]),
      [
        [true, result.rewrittenEntries, result.bytesFreed, false],
        [false, 0, 0, true],
      ],
    );
  });

  it("rewrites on a request in OpenClaw's form, unless a later message is not among the allowed ones", async () => {
    const results: (TranscriptRewriteResult | undefined)[] = [];
    const engine = engineOf(asked, {
      maintain: async (params) => {
        const path = await pathOf(params);
        const [input, answer] = path.map(({ id }) => id);
        if (path.length > 2 || input === undefined || answer === undefined) return NOTHING;
        results.push(await rewriteAllowed(params, input, "Not this", [input]));
        results.push(await rewriteAllowed(params, input, "Redacted", [input, answer]));
        const [now = ""] = (await pathOf(params)).map(({ id }) => id);
        const last = await rewriteAllowed(params, now, "Redacted twice");
        results.push(last);
        return last ?? NOTHING;
      },
    });
    const pagurus = await bench.start({ engine });
    const events = await bench.ask(pagurus, "The secret word");
    await bench.ask(pagurus, "Two");
    assert.deepEqual(ofType(events, "context.degraded"), []);
    assert.deepEqual(
      results.map((result) => result?.changed),
      [false, true, true],
    );
    assert.match(results[0]?.reason ?? "", /would be written again and is not among the allowed entries/);
    assert.deepEqual(outline(bench.body(1)), ["user:Redacted twice", "assistant:Reply 0.", "user:Two"]);
  });

  it("refuses a rewrite request without a list, with a reason", async () => {
    const results: (TranscriptRewriteResult | undefined)[] = [];
    const engine = engineOf(asked, {
      maintain: async ({ runtimeContext }) => {
        const ask = runtimeContext?.rewriteTranscriptEntries as
          | ((request: unknown) => Promise<TranscriptRewriteResult>)
          | undefined;
        for (const request of [undefined, {}, { replacements: [], allowedRewriteSuffixEntryIds: "all" }])
          results.push(await ask?.(request));
        return NOTHING;
      },
    });
    const events = await bench.ask(await bench.start({ engine }), "One");
    assert.deepEqual(ofType(events, "context.degraded"), []);
    assert.equal(results.length, 3);
    for (const result of results) assert.match(result?.reason ?? "", /no list/);
  });

  it("is over before the turn ends, with file, target and signal, and may not compact later", async () => {
    let over = false;
    const engine = engineOf(asked, {
      maintain: async ({ abortSignal }) => {
        assert.equal(abortSignal?.aborted, false);
        await new Promise((resolve) => setImmediate(resolve));
        over = true;
        return NOTHING;
      },
    });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    assert.equal(over, true);
    const { runtimeContext, sessionFile, sessionTarget, sessionId } = asked.last("maintain");
    assert.equal(runtimeContext?.allowDeferredCompactionExecution, false);
    assert.equal(sessionTarget?.sessionId, sessionId);
    assert.match(sessionFile, new RegExp(`${sessionId}\\.jsonl$`));
  });

  it("alone may rewrite: no other member receives the function", async () => {
    const engine = engineOf(asked, {
      bootstrap: async () => ({ bootstrapped: true }),
      afterTurn: async () => undefined,
      maintain: async () => NOTHING,
    });
    const first = await bench.start({ engine });
    await bench.ask(first, "One");
    await first.compact({ cwd: bench.root });
    await first.close();
    await bench.ask(await bench.start({ engine }), "Two");
    const may = new Map<string, boolean>();
    for (const { member, params } of asked.all()) {
      const { runtimeContext } = (params ?? {}) as MaintainParams;
      if (runtimeContext) may.set(member, runtimeContext.rewriteTranscriptEntries !== undefined);
    }
    assert.deepEqual(Object.fromEntries(may), {
      assemble: false,
      afterTurn: false,
      maintain: true,
      compact: false,
      bootstrap: false,
    });
  });

  it("is not called after a turn that failed, was aborted, or was not taken", async () => {
    let settles = true;
    const engine = engineOf(asked, {
      afterTurn: async () => {
        if (!settles) throw new Error("not now");
      },
      maintain: async () => NOTHING,
    });
    await bench.end();
    let reply: ReplyStep = { status: 400 };
    bench = await MembersBench.open(() => reply);
    const pagurus = await bench.start({ engine });
    const failed = await eventsOf(pagurus.run({ prompt: "Fails", cwd: bench.root }));
    assert.equal(failed.at(-1)?.type, "turn.failed");
    reply = { text: "Half of it.", hangAfterChunks: 2 };
    const run = pagurus.run({ prompt: "Aborted", cwd: bench.root });
    for await (const event of run) if (event.type === "text.delta") run.abort();
    reply = { text: "Whole." };
    settles = false;
    await bench.ask(pagurus, "Not taken");
    assert.ok(!asked.names.includes("maintain"), asked.names.join());
    settles = true;
    await bench.ask(pagurus, "Taken");
    assert.equal(asked.of("maintain").length, 1);
  });
});

describe("maintain() in the background", () => {
  let bench: MembersBench;
  let asked: Calls;
  beforeEach(() => {
    asked = new Calls();
  });
  afterEach(() => bench.end());

  const background = { turnMaintenanceMode: "background" as const };

  it("runs after the turn, may compact later, and is waited for at the end", async () => {
    bench = await MembersBench.open();
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const engine = engineOf(
      asked,
      {
        maintain: async () => {
          order.push("began");
          await gate.promise;
          order.push("ended");
          return NOTHING;
        },
        dispose: async () => void order.push("disposed"),
      },
      background,
    );
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    order.push("turn over");
    await bench.ask(pagurus, "Two");
    assert.deepEqual(order.toSorted(), ["began", "turn over"], "one after the other");
    assert.equal(asked.last("maintain").runtimeContext?.allowDeferredCompactionExecution, true);
    setImmediate(() => gate.resolve());
    await pagurus.close();
    assert.deepEqual(order.slice(-4), ["ended", "began", "ended", "disposed"]);
  });

  it("is called once for all turns that passed while it ran", async () => {
    bench = await MembersBench.open();
    let seen: Awaited<ReturnType<typeof pathOf>> = [];
    const gate = Promise.withResolvers<void>();
    const engine = engineOf(
      asked,
      {
        maintain: async (params) => {
          await gate.promise;
          seen = await pathOf(params);
          return NOTHING;
        },
      },
      background,
    );
    const pagurus = await bench.start({ engine });
    for (const words of ["One", "Two", "Three", "Four"]) await bench.ask(pagurus, words);
    setImmediate(() => gate.resolve());
    await pagurus.close();
    assert.equal(asked.of("maintain").length, 2);
    assert.ok(
      seen.some(({ message }) => words(message) === "Four"),
      "the second sees the newest turn",
    );
  });

  it("rewrites what the next turn then sends", async () => {
    bench = await MembersBench.open();
    const done = Promise.withResolvers<TranscriptRewriteResult>();
    const engine = engineOf(
      asked,
      {
        maintain: async (params) => {
          const long = (await pathOf(params)).find(({ message }) => words(message) === "The long of it");
          if (!long) return NOTHING;
          const result = await rewrite(params, long.id, "Short");
          done.resolve(result);
          return result;
        },
      },
      background,
    );
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "The long of it");
    assert.equal((await done.promise).changed, true);
    await bench.ask(pagurus, "Two");
    assert.deepEqual(outline(bench.body(1)), ["user:Short", "assistant:Reply 0.", "user:Two"]);
  });

  it("may not touch a turn that runs meanwhile: it gets the reason, and the turn's text is sent", async () => {
    const running = Promise.withResolvers<void>();
    const tried = Promise.withResolvers<void>();
    bench = await MembersBench.open(async (request, index) => {
      if (index === 1) {
        running.resolve();
        await tried.promise;
      }
      return answered(request, index);
    });
    const refused: (string | undefined)[] = [];
    const engine = engineOf(
      asked,
      {
        maintain: async (params) => {
          if (refused.length > 0) return NOTHING;
          await running.promise;
          const path = await pathOf(params);
          for (const text of ["One", "Two"]) {
            const { changed, reason } = await rewrite(params, entryWith(path, text).id, "changed");
            refused.push(changed ? "changed" : reason);
          }
          tried.resolve();
          return NOTHING;
        },
      },
      background,
    );
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    assert.equal(refused.length, 2);
    for (const reason of refused) assert.match(reason ?? "", /a turn of the session is running/);
    await bench.ask(pagurus, "Three");
    assert.match(requestText(bench.body(2)), /^One\nReply 0\.\nTwo\nReply 1\.\nThree$/);
  });
});
