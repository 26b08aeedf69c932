import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type {
  AgentHarness,
  HarnessTurn,
  HarnessTurnResult,
} from "../../packages/contract/src/harness/harness.ts";
import type { Pagurus, PagurusOptions } from "../../packages/contract/src/host/host.ts";
import type { TurnRun } from "../../packages/contract/src/host/run.ts";
import type { StatusReport } from "../../packages/contract/src/host/status.ts";
import { HARNESS_CONTRACT } from "../../packages/contract/src/version.ts";
import { statusText } from "../../packages/host/src/command/status-text.ts";
import type { ModelInfo } from "../../packages/contract/src/model.ts";
import type { Receipt, Seam } from "../../packages/contract/src/session/receipt.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { openReceiptLog, receiptFile } from "../../packages/host/src/stores/files/receipt-log.ts";
import { Calibrations } from "../../packages/host/src/turn/context/calibrations.ts";
import { OpenWork } from "../../packages/host/src/turn/agent/open-work.ts";
import { isSilentCut } from "../../packages/host/src/turn/receipts/silent-cut.ts";
import { recordPlugin } from "../testkit/recorder.ts";
import { modelConfig, type ModelOptions } from "./setting.ts";
import { startWith } from "./start-with.ts";

type RunTurn = (turn: HarnessTurn) => Promise<HarnessTurnResult>;

function harness(runTurn: RunTurn): AgentHarness {
  return {
    id: "scripted",
    label: "Scripted",
    contract: HARNESS_CONTRACT,
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    supports: () => ({ supported: true }),
    start: startWith(runTurn),
  };
}

async function say(turn: { io: Pick<HarnessTurn["io"], "emit"> }, text: string): Promise<HarnessTurnResult> {
  await turn.io.emit({
    type: "message",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      provider: "test",
      model: "model",
      stopReason: "stop",
      timestamp: 1,
    },
  });
  return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
}

function passThrough(more: Partial<ContextEngine> = {}): ContextEngine {
  return {
    info: { id: "mine", name: "Mine" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 1 }),
    compact: async () => ({ ok: true, compacted: false, reason: "nothing" }),
    ...more,
  };
}

async function play(run: TurnRun): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

function endOf(events: readonly TurnEvent[]): string {
  const last = events.at(-1);
  return last?.type === "turn.failed" ? last.error.code : (last?.type ?? "nothing");
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

describe("the host around its turns", () => {
  let root: string;
  const hosts: Pagurus[] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-host-"));
  });
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close();
    rmSync(root, { recursive: true, force: true });
  });

  interface HostOptions {
    runTurn?: RunTurn;
    harness?: Partial<AgentHarness>;
    engine?: string;
    engines?: PagurusOptions["engines"];
    plugin?: NonNullable<PagurusOptions["plugins"]>[string];
    defaults?: Record<string, unknown>;
    truncatesSilently?: boolean;
  }

  async function host(options: HostOptions = {}): Promise<Pagurus> {
    const { runTurn = (turn) => say(turn, "Reply."), engine, engines, plugin, truncatesSilently } = options;
    const model: ModelOptions & { truncatesSilently?: boolean } =
      truncatesSilently === undefined ? {} : { truncatesSilently };
    const made = await createPagurus({
      home: join(root, "home"),
      env: { PATH: process.env["PATH"], HOME: root, PAGURUS_NO_PROBE: "1" },
      harnesses: [{ ...harness(runTurn), ...options.harness }],
      ...(engines ? { engines } : {}),
      ...(plugin ? { plugins: { hooks: recordPlugin(plugin) } } : {}),
      config: modelConfig("openai-completions", "http://127.0.0.1:9/v1", model, {
        agents: {
          defaults: { models: { "test/model": { agentRuntime: { id: "scripted" } } }, ...options.defaults },
        },
        plugins: { slots: { contextEngine: engine ?? "legacy" } },
      }),
    });
    hosts.push(made);
    return made;
  }

  const ask = async (pagurus: Pagurus, prompt: string): Promise<TurnEvent[]> =>
    play(pagurus.run({ prompt, cwd: root }));

  describe("closing", () => {
    it("waits a grace period for a turn that ignores its signal, then ends without it", async (t) => {
      const pagurus = await host({ runTurn: () => never() });
      t.mock.timers.enable({ apis: ["setTimeout"] });
      const run = pagurus.run({ prompt: "One", cwd: root });
      const iterator = run[Symbol.asyncIterator]();
      assert.equal((await iterator.next()).value?.type, "turn.started");
      let closed = false;
      const closing = pagurus.close().then(() => {
        closed = true;
      });
      for (let step = 0; step < 200 && !closed; step += 1) {
        await settled();
        t.mock.timers.tick(100);
      }
      await closing;
      const rest: TurnEvent[] = [];
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) rest.push(next.value);
      assert.match(rest.at(-1)?.type ?? "", /^turn\./, "its reader is not left waiting");
    });

    it("refuses every later call with a sentence, and closes once", async () => {
      const pagurus = await host();
      await pagurus.close();
      await pagurus.close();
      const events = await ask(pagurus, "One");
      assert.equal(events.length, 1);
      const [only] = events;
      assert.ok(only?.type === "turn.failed");
      assert.equal(only.error.code, "usage_invalid");
      assert.match(only.error.message, /^This Pagurus is closed/);
      const refused = { code: "usage_invalid", message: /^This Pagurus is closed/ };
      await assert.rejects(pagurus.compact({ cwd: root }), refused);
      await assert.rejects(pagurus.renew({ reason: "new", cwd: root }), refused);
      await assert.rejects(pagurus.status({ cwd: root }), refused);
      await assert.rejects(pagurus.context.preview({ prompt: "One", cwd: root }), refused);
      await assert.rejects(pagurus.context.receipts({}), refused);
      assert.throws(() => pagurus.sessions(), refused);
    });

    it("refuses a run that comes while it closes, and lets the running one end in order", async () => {
      const seen: string[] = [];
      const pagurus = await host({
        runTurn: async (turn) => {
          if (!turn.signal.aborted) {
            await new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }));
          }
          return { stopReason: "aborted", usage: { input: 0, output: 0, totalTokens: 0 } };
        },
        plugin: (api) => {
          api.on("session_end", () => void seen.push("session_end"));
          api.on("gateway_stop", () => void seen.push("gateway_stop"));
        },
      });
      const first = pagurus.run({ prompt: "One", cwd: root });
      const iterator = first[Symbol.asyncIterator]();
      await iterator.next();
      const closing = pagurus.close();
      const second = pagurus.run({ prompt: "Two", sessionKey: "two", cwd: root });
      assert.equal(endOf(await play(second)), "usage_invalid");
      await closing;
      const rest: TurnEvent[] = [];
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) rest.push(next.value);
      assert.match(rest.at(-1)?.type ?? "", /^turn\./);
      assert.deepEqual(seen, ["session_end", "gateway_stop"]);
    });

    it("aborts a running compaction and waits for it before the engine is disposed of", async () => {
      const order: string[] = [];
      let begun: () => void = () => undefined;
      const compacting = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const engine = passThrough({
        compact: async ({ abortSignal }) => {
          begun();
          await new Promise((resolve) => abortSignal?.addEventListener("abort", resolve, { once: true }));
          await settled();
          order.push("compacted");
          return { ok: true, compacted: false, reason: "aborted" };
        },
        dispose: async () => void order.push("disposed"),
      });
      const pagurus = await host({ engine: "mine", engines: { mine: () => engine } });
      await ask(pagurus, "One");
      const compaction = pagurus.compact({ cwd: root }).then(
        () => order.push("answered"),
        () => order.push("answered"),
      );
      await compacting;
      await pagurus.close();
      await compaction;
      assert.equal(order.at(-1), "disposed");
      assert.ok(order.includes("answered"));
    });

    it("rejects a waiting operation that was given up", async () => {
      const work = new OpenWork({ drainMs: 0, graceMs: 1, logger: silentLogger });
      const waiting = work.track("compaction", () => never());
      const [outcome] = await Promise.allSettled([waiting, work.stop()]);
      assert.ok(outcome.status === "rejected");
      assert.match(String(outcome.reason), /The compaction did not end within 0.001 s of closing/);
    });
  });

  describe("renewing", () => {
    it("is refused while a turn runs in the session, which then ends in its own generation", async () => {
      let go: () => void = () => undefined;
      const seen: string[] = [];
      const pagurus = await host({
        runTurn: async (turn) => {
          await new Promise<void>((resolve) => {
            go = resolve;
          });
          return say(turn, "Reply.");
        },
        plugin: (api) =>
          api.on("session_end", ({ reason }, { sessionId }) => void seen.push(`${reason} ${sessionId}`)),
      });
      const iterator = pagurus.run({ prompt: "One", cwd: root })[Symbol.asyncIterator]();
      let next = await iterator.next();
      while (!next.done && next.value.type !== "message") next = await iterator.next();
      await settled();
      await assert.rejects(pagurus.renew({ reason: "new", cwd: root }), { code: "session_locked" });
      assert.deepEqual(seen, []);
      go();
      const rest: TurnEvent[] = [];
      for (next = await iterator.next(); !next.done; next = await iterator.next()) rest.push(next.value);
      const last = rest.at(-1);
      assert.ok(last?.type === "turn.completed");
      assert.equal(pagurus.sessions().find("main")?.sessionId, last.sessionId);
    });

    it("ends a session once: closing does not end it again", async () => {
      const ended: string[] = [];
      const pagurus = await host({
        plugin: (api) =>
          api.on("session_end", ({ reason }, { sessionId }) => void ended.push(`${reason} ${sessionId}`)),
      });
      await ask(pagurus, "One");
      const old = pagurus.sessions().find("main")?.sessionId;
      const renewed = await pagurus.renew({ reason: "reset", cwd: root });
      assert.notEqual(renewed.sessionId, old);
      await pagurus.close();
      assert.deepEqual(ended, [`reset ${old}`]);
    });

    it("creates the first generation when there is none", async () => {
      const pagurus = await host();
      const record = await pagurus.renew({ reason: "new", cwd: root });
      assert.equal(pagurus.sessions().find("main")?.sessionId, record.sessionId);
    });
  });

  describe("status", () => {
    it("works with an engine that is not registered, and names it", async () => {
      await ask(await host(), "One");
      const pagurus = await host({ engine: "gone" });
      const report = await pagurus.status({ cwd: root });
      assert.deepEqual(
        report.problems.map(({ code }) => code),
        ["engine_unknown"],
      );
      assert.deepEqual(report.engine, {
        selected: "gone",
        effective: "unavailable",
        source: "plugins.slots.contextEngine",
        contract: "unknown",
        lifecycle: "unknown",
      });
      assert.equal(report.session?.sessionKey, "main");
      assert.equal(report.lastTurn?.outcome, "completed");
      assert.ok(report.context.tokens > 0 && report.context.budget > 0);
      assert.match(
        statusText(report),
        /A run would be refused: The context engine "gone" .*\[engine_unknown\]/,
      );
      await assert.rejects(pagurus.context.preview({ prompt: "Two", cwd: root }), { code: "engine_unknown" });
    });

    const broken: [string, HostOptions, string][] = [
      [
        "an engine that cannot be created",
        {
          engine: "mine",
          engines: {
            mine: () => {
              throw new Error("no disk");
            },
          },
        },
        "engine_failed",
      ],
      ["an unknown model", { defaults: { model: "nowhere/nothing" } }, "model_unknown"],
      ["a provider without its key", { defaults: { model: "anthropic/claude-x" } }, "credential_missing"],
      [
        "a runtime that is not there",
        { defaults: { models: { "test/model": { agentRuntime: { id: "absent" } } } } },
        "runtime_unknown",
      ],
    ];
    for (const [what, options, code] of broken) {
      it(`works with ${what}`, async () => {
        const pagurus = await host(options);
        const report: StatusReport = await pagurus.status({ cwd: root });
        assert.deepEqual(
          report.problems.map((problem) => problem.code),
          [code],
        );
        assert.notEqual(report.model.source, "");
        assert.match(report.sandbox, /:/);
        const text = statusText(report);
        assert.match(text, new RegExp(`^A run would be refused: .*\\[${code}\\]$`, "m"));
        assert.doesNotMatch(text, /undefined|NaN/);
      });
    }
  });

  describe("calibration of token estimates", () => {
    it("ignores a server's silent cut, now and after a restart", async () => {
      const cut: RunTurn = async (turn) => {
        await turn.context.assemble();
        turn.context.receipt({});
        turn.context.receipt({ usage: { input: 3_000, output: 1, totalTokens: 3_001 } });
        return say(turn, "Reply.");
      };
      const first = await host({ runTurn: cut, truncatesSilently: true });
      await ask(first, "word ".repeat(8_000));
      const before = (await first.status({ cwd: root })).context.tokens;
      await first.close();
      const second = await host({ truncatesSilently: true });
      assert.equal((await second.status({ cwd: root })).context.tokens, before);
      await second.close();
      const trusting = await host();
      assert.ok(
        (await trusting.status({ cwd: root })).context.tokens < before,
        "without the mark the same receipt is learned from",
      );
    });

    it("ignores a runtime that adds a prompt of its own, now and after a restart", async () => {
      const tokensUnder = async (seam: Seam): Promise<number[]> => {
        const prompted: RunTurn = async (turn) => {
          await turn.context.assemble();
          turn.context.receipt({ seam });
          turn.context.receipt({ usage: { input: 30_000, output: 1, totalTokens: 30_001 } });
          return say(turn, "Reply.");
        };
        const sessionKey = `agent:main:${seam}`;
        const made: number[] = [];
        const first = await host({ runTurn: prompted });
        for await (const _ of first.run({ prompt: "word ".repeat(8_000), cwd: root, sessionKey }));
        made.push((await first.status({ sessionKey })).context.tokens);
        await first.close();
        const second = await host({ runTurn: prompted });
        made.push((await second.status({ sessionKey })).context.tokens);
        await second.close();
        return made;
      };
      const [native = 0, nativeAgain] = await tokensUnder("embedded");
      assert.equal(nativeAgain, native);
      for (const seam of ["thread", "projection", "wire"] as const)
        for (const tokens of await tokensUnder(seam))
          assert.ok(tokens < native * 0.5, `${seam}: ${tokens} of ${native}`);
    });

    it("distinguishes a cut from a slightly lower report, and ignores small requests", () => {
      const model = { truncatesSilently: true } as Parameters<typeof isSilentCut>[0];
      assert.equal(isSilentCut(model, { estimated: 10_000, reported: 7_499 }), true);
      assert.equal(isSilentCut(model, { estimated: 10_000, reported: 7_500 }), false);
      assert.equal(isSilentCut(model, { estimated: 2_000, reported: 1 }), false);
      assert.equal(
        isSilentCut({ ...model, truncatesSilently: false }, { estimated: 10_000, reported: 1 }),
        false,
      );
    });

    it("starts from a completion of the engine where the runtime adds a prompt of its own", () => {
      const record = { sessionId: "quay", file: join(root, "quay.jsonl") };
      const log = openReceiptLog({ file: receiptFile(record) });
      const made: Receipt = {
        turnId: "t1",
        request: 0,
        timestamp: "2026-01-01T00:00:00.000Z",
        seam: "wire",
        runtime: "wire",
        engine: "legacy",
        model: "test/model",
        parts: [],
        liveFrom: 0,
        sharedParts: 0,
        sharedTokens: 0,
        tokens: 1_000,
        tokenBudget: 30_000,
        usage: { input: 12_000, output: 1, totalTokens: 12_001 },
      };
      const corrected = (): number =>
        new Calibrations({
          modelInfo: (ref) => ({ ref }) as ModelInfo,
          logger: silentLogger,
        })
          .of(record, "test/model")
          .apply(1_000);
      log.append(made);
      assert.equal(corrected(), 1_000);
      const usage = { input: 1_100, output: 1, totalTokens: 1_101 };
      log.append({ ...made, request: 1, purpose: "compaction", seam: "embedded", usage });
      assert.equal(corrected(), 1_100);
      log.append({
        ...made,
        turnId: "t2",
        seam: "embedded",
        usage: { input: 1_300, output: 1, totalTokens: 1_301 },
      });
      log.append({
        ...made,
        request: 2,
        purpose: "compaction",
        seam: "embedded",
        model: "test/cheap",
        usage,
      });
      assert.equal(corrected(), 1_300, "after a completion of another model");
    });

    it("is kept for the sessions used last", () => {
      const calibrations = new Calibrations({
        modelInfo: () => assert.fail("there is no receipt to learn from"),
        logger: silentLogger,
      });
      const of = (sessionId: string): unknown =>
        calibrations.of({ sessionId, file: join(root, `${sessionId}.jsonl`) }, "test/model");
      const kept = of("kept");
      const dropped = of("dropped");
      for (let at = 0; at < 255; at += 1) {
        of(`s${at}`);
        assert.equal(of("kept"), kept);
      }
      assert.notEqual(of("dropped"), dropped);
    });
  });
});
