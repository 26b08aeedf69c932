/** What plugins see of a compaction, and what they may change. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { SessionBeforeCompact } from "../../../packages/contract/src/host/hook-parts.ts";
import type { HookContext, HookHandler } from "../../../packages/contract/src/host/hooks.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { eventsOf, words } from "../in-process.ts";
import {
  callsBig,
  filler,
  ID,
  INTERCEPTED_SUMMARY,
  LaneSetting,
  MODEL_SUMMARY,
  ofType,
  recordingEngine,
  RESERVES,
  summaryIn,
  type EngineSpec,
  type SettingOptions,
} from "./setting.ts";

type Handler = HookHandler<"session_before_compact">;
const FIRST = filler(6_000, "amber");
const SECOND = filler(6_000, "birch");
const HOOK_SUMMARY = "A plugin wrote this.";

const supply =
  (summary: string): Handler =>
  ({ preparation }) => ({ compaction: { summary, ...place(preparation) } });

function place({ firstKeptEntryId, tokensBefore }: SessionBeforeCompact["preparation"]): {
  firstKeptEntryId: string;
  tokensBefore: number;
} {
  return { firstKeptEntryId, tokensBefore };
}

describe("session_before_compact", () => {
  let setting: LaneSetting;
  afterEach(() => setting.end());

  /** Two turns, then one whose tool result makes the context exceed the budget. */
  async function turn(
    handlers: Handler[],
    spec: EngineSpec = {},
    more: SettingOptions = {},
  ): Promise<{ events: Awaited<ReturnType<LaneSetting["ask"]>>; intercepted: number; compacted: number }> {
    const { engine, calls } = recordingEngine(spec);
    setting = await LaneSetting.open({
      engine,
      defaults: { toolResultMaxChars: 200_000 },
      plugin: (api) => {
        for (const handler of handlers) api.on("session_before_compact", handler);
      },
      turns: [{ text: "ok" }, { text: "ok" }, callsBig(14_500)],
      ...more,
    });
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    const events = await setting.ask("look it up");
    return { events, intercepted: calls.intercept.length, compacted: calls.compact.length };
  }

  it("passes the whole payload: preparation, branch entries, instructions and a signal", async () => {
    const seen: { payload: SessionBeforeCompact; context: HookContext }[] = [];
    const { events } = await turn([(payload, context) => void seen.push({ payload, context })], undefined, {
      compaction: { ...RESERVES, customInstructions: "Mind the colours." },
    });
    assert.equal(seen.length, 1);
    const [{ payload, context } = { payload: undefined, context: undefined }] = seen;
    assert.ok(payload);
    const { preparation, branchEntries } = payload;
    const entries = branchEntries as TranscriptEntry[];
    const messages = entries.flatMap((entry) =>
      entry.type === "message" ? [{ ...entry.message, entryId: entry.id }] : [],
    );
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "user", "assistant", "toolResult"],
    );
    assert.deepEqual(
      entries.map(({ id }) => id),
      (await setting.entries()).slice(0, entries.length).map(({ id }) => id),
    );
    const [started] = ofType(events, "turn.started");
    const [compacting] = ofType(events, "compaction.started");
    assert.deepEqual(Object.keys(preparation).toSorted(), [
      "fileOps",
      "firstKeptEntryId",
      "isSplitTurn",
      "messagesToSummarize",
      "settings",
      "tokensBefore",
      "turnPrefixMessages",
    ]);
    // The second turn would only fit alone into the verbatim part, so it is summarized too; the live turn stays.
    assert.equal(preparation.firstKeptEntryId, messages[4]?.entryId);
    const openings = (list: AgentMessage[]): string[] => list.map((message) => words(message).slice(0, 5));
    assert.deepEqual(openings(preparation.messagesToSummarize), ["amber", "ok", "birch", "ok"]);
    assert.deepEqual(preparation.turnPrefixMessages, []);
    assert.equal(preparation.isSplitTurn, false);
    assert.deepEqual(preparation.fileOps, { read: [], written: [], edited: [] });
    assert.deepEqual(preparation.settings, { enabled: true, reserveTokens: 4_000, keepRecentTokens: 7_000 });
    assert.ok(compacting && Math.abs(preparation.tokensBefore - compacting.tokensBefore) < 200);
    assert.equal(payload.customInstructions, "Mind the colours.");
    assert.ok(payload.signal instanceof AbortSignal);
    assert.equal(payload.signal.aborted, false);
    const { sessionId = "", turnId = "" } = started ?? {};
    assert.deepEqual(context, { sessionKey: "main", sessionId, agentId: "main", turnId });
  });

  it("passes the current summary, and the messages since, at the next compaction", async () => {
    const seen: SessionBeforeCompact[] = [];
    await turn([(payload) => void seen.push(payload)]);
    setting.turns.push(callsBig(14_500, "call-2"));
    await setting.ask("look it up again");
    assert.equal(seen.length, 2);
    assert.equal(seen[1]?.preparation.previousSummary?.slice(0, MODEL_SUMMARY.length), MODEL_SUMMARY);
    assert.equal(seen[1]?.preparation.fileOps.read.length, 0);
  });

  it("names the files that the summarized part has read and written; a failed call has touched none", async () => {
    const seen: SessionBeforeCompact[] = [];
    const { engine } = recordingEngine();
    const call = (id: string, name: string, args: Record<string, unknown>): ReplyStep => ({
      toolCalls: [{ id, name, arguments: args }],
    });
    setting = await LaneSetting.open({
      engine,
      defaults: { toolResultMaxChars: 200_000 },
      plugin: (api) => api.on("session_before_compact", (payload) => void seen.push(payload)),
      turns: [
        call("call-1", "write", { path: "made.txt", content: "one\n" }),
        call("call-2", "read", { path: "made.txt" }),
        call("call-3", "read", { path: "missing.txt" }),
        { text: "ok" },
        { text: "ok" },
        callsBig(14_500, "call-4"),
      ],
    });
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    await setting.ask("look it up");
    assert.deepEqual(seen[0]?.preparation.fileOps, {
      read: ["made.txt"],
      written: ["made.txt"],
      edited: [],
    });
  });

  it("describes a split turn: its input stays, its older rounds are the prefix", async () => {
    const seen: SessionBeforeCompact[] = [];
    const { engine } = recordingEngine();
    setting = await LaneSetting.open({
      engine,
      defaults: { toolResultMaxChars: 200_000 },
      plugin: (api) => api.on("session_before_compact", (payload) => void seen.push(payload)),
      turns: [1, 2, 3, 4].map((round) => callsBig(7_000, `call-${round}`)),
    });
    await setting.ask("the input of a long turn");
    assert.equal(seen.length, 1);
    const { preparation } = seen[0] ?? {};
    assert.equal(preparation?.isSplitTurn, true);
    assert.deepEqual(preparation.messagesToSummarize, []);
    assert.deepEqual(
      preparation.turnPrefixMessages.map(({ role }) => role),
      ["assistant", "toolResult", "assistant", "toolResult", "assistant", "toolResult"],
    );
    const body = setting.turnBodies().at(-1);
    assert.equal(summaryIn(body)?.slice(0, MODEL_SUMMARY.length), MODEL_SUMMARY);
    assert.ok(body?.messages[0]?.text.startsWith("the input of a long turn"));
    assert.deepEqual(
      body?.messages.flatMap(({ results }) => results.map(({ id }) => id)),
      ["call-4"],
    );
  });

  it("without instructions the member is absent", async () => {
    const seen: SessionBeforeCompact[] = [];
    await turn([(payload) => void seen.push(payload)]);
    assert.ok(seen[0] && !("customInstructions" in seen[0]));
  });

  it("takes the last truthy result of handlers in the order of registration", async () => {
    const order: number[] = [];
    const noting =
      (number: number, handler: Handler): Handler =>
      (payload, context) => {
        order.push(number);
        return handler(payload, context);
      };
    const { events } = await turn([
      noting(1, supply("The first.")),
      noting(2, supply(HOOK_SUMMARY)),
      noting(3, () => undefined),
    ]);
    assert.deepEqual(order, [1, 2, 3]);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "hooks");
    assert.equal(summaryIn(setting.turnBodies().at(-1)), HOOK_SUMMARY);
    assert.deepEqual(setting.summaryBodies(), []);
    const compaction = (await setting.entries()).find((entry) => entry.type === "compaction");
    assert.ok(compaction?.type === "compaction");
    assert.equal(compaction.origin, "hook");
    assert.equal(compaction.handledBy, "hooks");
  });

  it("calls the engine after the plugins, and the engine's summary wins", async () => {
    const { events, intercepted } = await turn([supply(HOOK_SUMMARY)], {
      info: { interceptsCompaction: true },
    });
    assert.equal(intercepted, 1);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, ID);
    assert.equal(summaryIn(setting.turnBodies().at(-1)), INTERCEPTED_SUMMARY);
  });

  it("keeps a plugin's summary when the engine declines", async () => {
    const { events } = await turn([supply(HOOK_SUMMARY)], {
      info: { interceptsCompaction: true },
      intercept: async () => ({ handled: false, reason: "no" }),
    });
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "hooks");
    assert.deepEqual(setting.summaryBodies(), []);
  });

  it("cancel ends the round: later handlers and the engine are not called, and the history stays", async () => {
    let later = 0;
    const { events, intercepted, compacted } = await turn(
      [supply(HOOK_SUMMARY), () => ({ cancel: true }), () => void later++],
      { info: { interceptsCompaction: true } },
    );
    assert.deepEqual([later, intercepted, compacted], [0, 0, 0]);
    const [failed] = ofType(events, "compaction.failed");
    assert.equal(failed?.reason, "it was cancelled by hooks");
    assert.equal(failed?.lane, "in-attempt");
    assert.deepEqual(ofType(events, "compaction.completed"), []);
    assert.deepEqual(setting.summaryBodies(), []);
    assert.equal((await setting.status()).compactions, 0);
    // The whole history is still there; what does not fit is left out of the request, with a report.
    assert.ok(
      (await setting.entries()).some((entry) => entry.type === "message" && words(entry.message) === FIRST),
    );
    assert.equal(ofType(events, "context.degraded")[0]?.stage, "trim");
    await setting.ask("go on");
  });

  it("one that was cancelled is not started again at each further call of the turn", async () => {
    let asked = 0;
    await turn(
      [
        () => {
          asked += 1;
          return { cancel: true };
        },
      ],
      {},
      {
        turns: [
          { text: "ok" },
          { text: "ok" },
          callsBig(14_500),
          callsBig(100, "call-2"),
          callsBig(100, "call-3"),
        ],
      },
    );
    assert.equal(setting.turnBodies().length, 6);
    assert.equal(asked, 1);
  });

  it("has its signal aborted with the turn; nothing is written", async () => {
    let run: TurnRun | undefined;
    let signal: AbortSignal | undefined;
    const { engine } = recordingEngine();
    setting = await LaneSetting.open({
      engine,
      defaults: { toolResultMaxChars: 200_000 },
      plugin: (api) =>
        api.on("session_before_compact", (payload) => {
          signal = payload.signal;
          run?.abort();
          return supply(HOOK_SUMMARY)(payload, { sessionKey: "", sessionId: "", agentId: "" });
        }),
      turns: [{ text: "ok" }, { text: "ok" }, callsBig(14_500)],
    });
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    run = setting.pagurus.run({ prompt: "look it up", cwd: setting.bench.root });
    const last = (await eventsOf(run)).at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
    assert.equal(signal?.aborted, true);
    assert.equal((await setting.status()).compactions, 0);
  });

  it("a handler that throws is a degradation and leaves the default", async () => {
    const { events } = await turn([
      () => {
        throw new Error("the handler broke");
      },
    ]);
    const [degraded] = ofType(events, "context.degraded");
    assert.equal(degraded?.stage, "hook");
    assert.match(degraded?.reason ?? "", /session_before_compact of plugin hooks: .*the handler broke/);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
    assert.equal(setting.summaryBodies().length, 1);
  });

  it("a handler that throws does not undo what another supplied", async () => {
    const { events } = await turn([
      supply(HOOK_SUMMARY),
      () => {
        throw new Error("the handler broke");
      },
    ]);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "hooks");
    assert.equal(ofType(events, "context.degraded").length, 1);
  });

  it("a handler that never returns costs the compaction's deadline, not the turn", async () => {
    const { events } = await turn([() => new Promise(() => undefined)], undefined, {
      compaction: { ...RESERVES, timeoutSeconds: 1 },
    });
    assert.match(ofType(events, "context.degraded")[0]?.reason ?? "", /session_before_compact/);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
  });

  const bad: [string, (preparation: SessionBeforeCompact["preparation"]) => object, RegExp][] = [
    ["no summary", (preparation) => ({ summary: " ", ...place(preparation) }), /gave no summary/],
    [
      "an unknown first kept entry",
      (preparation) => ({ summary: "s", ...place(preparation), firstKeptEntryId: "nowhere" }),
      /has no such entry/,
    ],
    [
      "a summary longer than what it stands for",
      (preparation) => ({ summary: filler(40_000), ...place(preparation) }),
      /would not make the context smaller/,
    ],
  ];
  for (const [title, answer, reason] of bad) {
    it(`rejects a replacement with ${title}: a degradation, then the default`, async () => {
      const handler: Handler = ({ preparation }) =>
        ({ compaction: answer(preparation) }) as ReturnType<Handler> & object;
      const { events } = await turn([handler]);
      const [degraded] = ofType(events, "context.degraded");
      assert.equal(degraded?.stage, "hook");
      assert.match(degraded?.reason ?? "", reason);
      assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
      assert.equal((await setting.status()).compactions, 1);
    });
  }

  it("is not called in the queued lane", async () => {
    let asked = 0;
    setting = await LaneSetting.open({
      engine: recordingEngine().engine,
      plugin: (api) => api.on("session_before_compact", () => void asked++),
    });
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    await setting.compact();
    assert.equal((await setting.status()).compactions, 1);
    assert.equal(asked, 0);
  });
});

describe("before_compaction and after_compaction", () => {
  let setting: LaneSetting;
  afterEach(() => setting.end());

  interface Seen {
    hook: string;
    payload: Record<string, unknown>;
    context: HookContext;
  }

  async function open(): Promise<Seen[]> {
    const seen: Seen[] = [];
    setting = await LaneSetting.open({
      engine: recordingEngine().engine,
      defaults: { toolResultMaxChars: 200_000 },
      plugin: (api) => {
        for (const hook of ["before_compaction", "after_compaction"] as const)
          api.on(hook, (payload, context) => void seen.push({ hook, payload, context }));
      },
    });
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    return seen;
  }

  it("report the in-attempt lane with the numbers of its events", async () => {
    const seen = await open();
    setting.turns.push(callsBig(14_500));
    const events = await setting.ask("look it up");
    const [started] = ofType(events, "compaction.started");
    const [completed] = ofType(events, "compaction.completed");
    const common = { lane: "in-attempt", trigger: "threshold" };
    const { tokensBefore, tokensAfter } = completed ?? {};
    assert.deepEqual(
      seen.map(({ hook, payload }) => ({ hook, payload })),
      [
        { hook: "before_compaction", payload: { ...common, tokensBefore: started?.tokensBefore } },
        { hook: "after_compaction", payload: { ...common, tokensBefore, tokensAfter } },
      ],
    );
    const [turn] = ofType(events, "turn.started");
    assert.equal(seen[1]?.context.turnId, turn?.turnId);
  });

  it("report the queued lane, which has no turn on /compact", async () => {
    const seen = await open();
    const result = await setting.compact();
    const common = { lane: "queued", trigger: "manual" };
    const { tokensBefore, tokensAfter } = result;
    assert.deepEqual(
      seen.map(({ hook, payload }) => ({ hook, payload })),
      [
        { hook: "before_compaction", payload: { ...common, tokensBefore } },
        { hook: "after_compaction", payload: { ...common, tokensBefore, tokensAfter } },
      ],
    );
    assert.ok(tokensAfter !== undefined && tokensBefore !== undefined && tokensAfter < tokensBefore);
    const { session } = await setting.status();
    assert.deepEqual(seen[0]?.context, {
      sessionKey: "main",
      sessionId: session?.sessionId,
      agentId: "main",
    });
  });

  it("a compaction that was not made has no after_compaction", async () => {
    const seen = await open();
    setting.summaries.push({ text: "" });
    setting.configure({ ...RESERVES, mode: "safeguard" });
    await setting.pagurus.reload();
    setting.summaries.push({ text: "" });
    assert.equal((await setting.compact()).compacted, false);
    assert.deepEqual(
      seen.map(({ hook }) => hook),
      ["before_compaction"],
    );
  });
});
