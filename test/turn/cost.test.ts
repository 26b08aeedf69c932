import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import type { CostLimits } from "../../packages/core/src/config/config-types.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { Usage } from "../../packages/contract/src/message.ts";
import { SpendLedger } from "../../packages/host/src/stores/files/spend/spend-ledger.ts";
import {
  CostGate,
  costLimits,
  type CostRequest,
  type PricedModel,
} from "../../packages/host/src/turn/cost/cost-limits.ts";
import { HeldCosts } from "../../packages/host/src/turn/cost/held-costs.ts";
import { runs } from "../runner/short-form.ts";

const SESSION = "0000000000000000";
const MODEL: PricedModel = { ref: "p/m", cost: { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 } };
const FREE: PricedModel = { ref: "p/free", cost: { input: 0, output: 0 } };
const NO_PRICES: PricedModel = { ref: "p/unknown" };
const BEFORE_MIDNIGHT = new Date(2026, 2, 5, 23, 59, 59).getTime();

function inAgentDir(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-cost-"));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function gateOf(
  folder: string,
  limits: CostLimits,
  options: { model?: PricedModel; now?: () => number; ledger?: SpendLedger; sessionId?: string } = {},
): Pick<CostGate, "spent" | "soFar"> & { before(request: CostRequest): { maxOutputTokens?: number } } {
  const ledger = options.ledger ?? new SpendLedger(folder, { now: options.now ?? (() => BEFORE_MIDNIGHT) });
  const { model = MODEL, sessionId = SESSION } = options;
  const gate = new CostGate({ limits, model, ledger, sessionId: () => sessionId, turnId: "t" });
  return {
    spent: (...paid) => gate.spent(...paid),
    soFar: () => gate.soFar(),
    // One request after the other: each has ended before the next begins.
    before: (request) => {
      const { done, ...allowed } = gate.before(request);
      done();
      return allowed;
    },
  };
}

function usageOf(input: number, output: number, more: Partial<Usage> = {}): Usage {
  return { input, output, totalTokens: input + output, ...more };
}

function refusal(work: () => unknown): PagurusError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof PagurusError);
    assert.equal(error.code, "cost_limit");
    return error;
  }
  throw new assert.AssertionError({ message: "The request was let through." });
}

const ASKED = { inputTokens: 100_000, minOutputTokens: 1_000 };

describe("The limits of a turn", () => {
  it("are the smaller of the request's and the configured one", () => {
    assert.deepEqual(costLimits(undefined, undefined), {});
    assert.deepEqual(costLimits(2, { turn: 1, day: 5 }), { turn: 1, day: 5 });
    assert.deepEqual(costLimits(0.5, { turn: 1, session: 3 }), { turn: 0.5, session: 3 });
    assert.deepEqual(costLimits(0, undefined), { turn: 0 });
  });

  it("refuse values that are no amount", () => {
    for (const amount of [-1, Number.NaN]) {
      assert.throws(() => costLimits(amount, undefined), { code: "usage_invalid" });
    }
  });
});

describe("A turn without limits", () => {
  it("never stops and reads no file", () => {
    inAgentDir((folder) => {
      // Reading this as a file would fail.
      const ledger = new SpendLedger(folder);
      mkdirSync(join(folder, "spend", `${ledger.today()}.jsonl`), { recursive: true });
      for (const model of [MODEL, FREE, NO_PRICES]) {
        assert.deepEqual(gateOf(folder, {}, { ledger, model }).before(ASKED), {});
      }
    });
  });

  it("shows its costs so far", () => {
    inAgentDir((folder) => {
      const unknown = gateOf(folder, {}, { model: NO_PRICES });
      assert.equal(unknown.spent(usageOf(10, 10)), undefined);
      assert.deepEqual(unknown.soFar(), {});
      const known = gateOf(folder, {});
      assert.deepEqual(known.soFar(), { turn: 0, session: 0, day: 0 });
      known.spent(usageOf(1_000, 100, { cost: 0.25 }));
      known.spent(usageOf(500_000, 100_000, { cacheRead: 1_000_000, cacheWrite: 400_000 }), "compaction");
      assert.deepEqual(known.soFar(), { turn: 2.35, session: 2.35, day: 2.35 });
      assert.deepEqual(unknown.soFar(), { session: 2.35, day: 2.35 });
      assert.deepEqual(gateOf(folder, {}, { sessionId: "1".repeat(16) }).soFar(), {
        turn: 0,
        session: 0,
        day: 2.35,
      });
    });
  });
});

describe("A turn with limits", () => {
  it("returns the output tokens that the rest of the budget pays for", () => {
    inAgentDir((folder) => {
      // 100,000 tokens of input at the dearest input price, 1.25 a million.
      const gate = gateOf(folder, { turn: 1, session: 2, day: 3 });
      assert.deepEqual(gate.before(ASKED), { maxOutputTokens: 87_500 });
      gate.spent(usageOf(0, 0, { cost: 0.5 }));
      assert.deepEqual(gate.before(ASKED), { maxOutputTokens: 37_500 });
      assert.deepEqual(gate.soFar(), {
        turn: 0.5,
        session: 0.5,
        day: 0.5,
        limits: { turn: 1, session: 2, day: 3 },
      });
    });
  });

  it("stops before the request that could exceed a limit, and names the limit and the remedy", () => {
    for (const [limit, remedy] of [
      ["turn", /--max-cost or agents\.defaults\.maxCost\.turn/],
      ["session", /agents\.defaults\.maxCost\.session, or start a new session/],
      ["day", /agents\.defaults\.maxCost\.day, or continue tomorrow/],
    ] as const) {
      inAgentDir((folder) => {
        const gate = gateOf(folder, { turn: 9, session: 9, day: 9, [limit]: 1 });
        gate.spent(usageOf(0, 0, { cost: 0.9 }));
        const { message, details } = refusal(() => gate.before(ASKED));
        assert.match(message, new RegExp(`the ${limit} has cost \\$0\\.9 of \\$1\\.00, and 100000 tokens`));
        assert.match(message, remedy);
        assert.match(message, /would cost \$0\.135;/);
        assert.deepEqual(details, { limit, most: 1, spent: 0.9, next: 0.135, model: "p/m" });
        // A smaller one still fits.
        assert.deepEqual(gate.before({ inputTokens: 0, minOutputTokens: 10_000 }), {
          maxOutputTokens: 10_000,
        });
      });
    }
  });

  it("counts other sessions for the day, earlier turns for the session, and neither for the turn", () => {
    inAgentDir((folder) => {
      gateOf(folder, {}, { sessionId: "1".repeat(16) }).spent(usageOf(0, 0, { cost: 5 }));
      gateOf(folder, {}).spent(usageOf(0, 0, { cost: 3 }));
      assert.deepEqual(gateOf(folder, { turn: 1 }).before(ASKED), { maxOutputTokens: 87_500 });
      assert.equal(refusal(() => gateOf(folder, { session: 3 }).before(ASKED)).details["spent"], 3);
      assert.equal(refusal(() => gateOf(folder, { day: 8 }).before(ASKED)).details["spent"], 8);
    });
  });

  it("lets free models pass, also when nothing is left", () => {
    inAgentDir((folder) => {
      const gate = gateOf(folder, { turn: 0 }, { model: FREE });
      assert.deepEqual(gate.before(ASKED), {});
      assert.equal(gate.spent(usageOf(5, 5)), undefined);
      assert.equal(gate.soFar().turn, 0);
      refusal(() => gateOf(folder, { turn: 0 }).before(ASKED));
    });
  });

  it("refuses a model whose prices are not known", () => {
    inAgentDir((folder) => {
      const { message } = refusal(() => gateOf(folder, { day: 5 }, { model: NO_PRICES }).before(ASKED));
      assert.match(
        message,
        /prices of p\/unknown are not known; set its cost or unitCost at models\.providers\.p\.models.*or drop the limit/,
      );
    });
  });

  it("prices a request to another model with that model's prices", () => {
    inAgentDir((folder) => {
      const gate = gateOf(folder, { turn: 1 }, { model: FREE });
      assert.deepEqual(gate.before({ ...ASKED, model: MODEL }), { maxOutputTokens: 87_500 });
      gate.spent(usageOf(0, 87_500), "compaction", MODEL);
      assert.equal(gate.soFar().turn, 0.875);
      refusal(() => gate.before({ ...ASKED, model: NO_PRICES }));
    });
  });

  it("pays a request that was let through before midnight from that day", () => {
    inAgentDir((folder) => {
      let now = BEFORE_MIDNIGHT;
      const gate = gateOf(folder, { day: 1 }, { now: () => now });
      gate.before(ASKED);
      now += 60_000;
      gate.spent(usageOf(0, 0, { cost: 0.9 }));
      assert.equal(gate.soFar().day, 0);
      assert.deepEqual(gate.before(ASKED), { maxOutputTokens: 87_500 });
      gate.spent(usageOf(0, 0, { cost: 0.25 }));
      assert.deepEqual([gate.soFar().day, gate.soFar().turn], [0.25, 1.15]);
    });
  });

  it("applies when nothing can be written, and stops when the ledger cannot be read", () => {
    inAgentDir((folder) => {
      const ledger = new SpendLedger(folder, { now: () => BEFORE_MIDNIGHT });
      mkdirSync(join(folder, "spend", `${ledger.today()}.jsonl`), { recursive: true });
      const gate = gateOf(folder, { turn: 1, session: 1 }, { ledger });
      gate.before(ASKED);
      assert.match(gate.spent(usageOf(0, 0, { cost: 0.95 })) ?? "", /^Cannot write /);
      assert.deepEqual(gate.soFar(), { turn: 0.95, session: 0.95, limits: { turn: 1, session: 1 } });
      refusal(() => gate.before(ASKED));
      const day = gateOf(folder, { day: 1 }, { ledger });
      assert.throws(() => day.before(ASKED), { code: "store_read_failed" });
    });
  });

  it("is never exceeded by requests that respect their output limit", () => {
    const price = fc.double({ min: 0, max: 100, noNaN: true });
    const limit = fc.option(fc.double({ min: 0, max: 20, noNaN: true }), { nil: undefined });
    const request = fc.record({
      turn: fc.nat(2),
      input: fc.nat(2_000_000),
      least: fc.nat(8_000),
      most: fc.nat(200_000),
      cached: fc.double({ min: 0, max: 1, noNaN: true }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      pause: fc.constantFrom(0, 0, 0, 13 * 3_600_000),
    });
    fc.assert(
      fc.property(
        fc.record({ input: price, output: price, cacheRead: price, cacheWrite: price }),
        fc.record({ turn: limit, session: limit, day: limit }),
        fc.array(request, { maxLength: 25 }),
        (cost, wanted, requests) => {
          inAgentDir((folder) => {
            let now = BEFORE_MIDNIGHT;
            const ledger = new SpendLedger(folder, { now: () => now });
            const limits = costLimits(wanted.turn, {
              ...(wanted.session !== undefined && { session: wanted.session }),
              ...(wanted.day !== undefined && { day: wanted.day }),
            });
            const model = { ref: "p/m", cost };
            // Two turns of one session, one of another.
            const gates = [SESSION, SESSION, "1".repeat(16)].map((sessionId) =>
              gateOf(folder, limits, { ledger, model, sessionId }),
            );
            for (const { turn, input, least, most, cached, share, pause } of requests) {
              const gate = gates[turn];
              assert.ok(gate);
              let bound: number | undefined;
              try {
                bound = gate.before({ inputTokens: input, minOutputTokens: least }).maxOutputTokens;
              } catch (error) {
                assert.equal((error as PagurusError).code, "cost_limit");
                continue;
              }
              assert.ok(bound === undefined || bound >= least);
              now += pause;
              const output = Math.min(Math.max(most, least), bound ?? Infinity);
              const cache = Math.floor(input * cached);
              const cacheRead = Math.floor(cache * share);
              gate.spent(usageOf(input - cache, output, { cacheRead, cacheWrite: cache - cacheRead }));
              const { turn: paid = 0, session = 0 } = gate.soFar();
              const within = (spent: number, allowed = Infinity): boolean => spent <= allowed + 1e-9;
              assert.ok(within(paid, limits.turn) && within(session, limits.session));
              for (let at = BEFORE_MIDNIGHT; at <= now; at += 12 * 3_600_000) {
                const date = new SpendLedger(folder, { now: () => at }).today();
                assert.ok(within(ledger.dayTotal(date), limits.day));
              }
            }
          });
        },
      ),
      { numRuns: runs(150) },
    );
  });
});

describe("Requests at the same time", () => {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-cost-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const make = (id: string, limits: CostLimits, parent?: CostGate): CostGate =>
    new CostGate({
      limits,
      model: MODEL,
      ledger: new SpendLedger(folder, { now: () => BEFORE_MIDNIGHT }),
      sessionId: () => id,
      turnId: "t",
      parent,
    });
  const small = { inputTokens: 10_000, minOutputTokens: 100, wantedOutputTokens: 100 };

  it("reserve their possible cost until they have ended", () => {
    const gate = make("2".repeat(16), { turn: 0.03 });
    const held: { done(): void }[] = [];
    assert.throws(
      () => {
        for (let count = 0; count < 20; count += 1) held.push(gate.before(small));
      },
      { code: "cost_limit" },
    );
    assert.ok(held.length > 0 && held.length < 20, `${held.length} at once`);
    for (const { done } of held) done();
    gate.before(small).done();
  });

  it("of other sessions hold the least that they cost against the limit of the day, and nothing once they are over", () => {
    const held = new HeldCosts();
    const of = (id: string) =>
      new CostGate({
        limits: { day: 1 },
        model: MODEL,
        ledger: new SpendLedger(folder, { now: () => BEFORE_MIDNIGHT }),
        sessionId: () => id,
        turnId: "t",
        held,
      });
    const spent = of("5".repeat(16)).soFar().day ?? 0;
    // An answer of 50,000 tokens would use up half of the day.
    const long = { ...small, wantedOutputTokens: 50_000 };
    const first = of("6".repeat(16));
    first.before(long);
    const least = 10_000 * 1.25e-6 + 100 * 10e-6;
    assert.ok(Math.abs(held.all - least) < 1e-9, `${held.all}`);
    const second = of("7".repeat(16));
    assert.ok((second.before(long).maxOutputTokens ?? 0) > 50_000);
    const left = 1 - spent - held.all;
    const ask = { cost: left + 0.001, label: "an image", ref: "p/m" };
    assert.throws(() => of("8".repeat(16)).reserve(ask), { code: "cost_limit" });
    first.release();
    second.release();
    assert.equal(held.all < 1e-9, true);
    of("8".repeat(16)).reserve(ask).done();
  });

  it("of a subagent are paid by the turn that has started it, and by its session once that turn ends", () => {
    const parent = make("3".repeat(16), { turn: 0.05, session: 1 });
    const child = make("4".repeat(16), {}, parent);
    child.before(small).done();
    child.spent(usageOf(0, 0, { cost: 0.04 }));
    assert.equal(parent.soFar().turn, 0.04);
    assert.equal(parent.soFar().session, 0.04);
    assert.throws(() => child.before(small), { code: "cost_limit" });
    assert.throws(() => parent.before(small), { code: "cost_limit" });
    assert.equal(parent.close(), undefined);
    assert.equal(parent.soFar().session, 0.04);
    assert.equal(make("3".repeat(16), {}).soFar().session, 0.04);
  });
});
