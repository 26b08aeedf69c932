import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SpendLedger } from "../../../packages/host/src/stores/files/spend/spend-ledger.ts";
import { byLength } from "../../runner/short-form.ts";

const A = "0000000000000000";
const B = "1111111111111111";
const NOON = new Date(2026, 2, 5, 12).getTime();
const DAY_MS = 24 * 3_600_000;

function inAgentDir(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-spend-"));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function ledgerOf(folder: string, now: () => number = () => NOON): SpendLedger {
  return new SpendLedger(folder, { now });
}

const paid = (cost: number, sessionId = A): { sessionId: string; turnId: string; cost: number } => ({
  sessionId,
  turnId: "t",
  cost,
});

const dayFile = (folder: string): string => join(folder, "spend", "2026-03-05.jsonl");

describe("The ledger of an agent", () => {
  it("sums a session and the local day, over sessions and instances", () => {
    inAgentDir((folder) => {
      const ledger = ledgerOf(folder);
      const other = ledgerOf(folder);
      assert.deepEqual([ledger.dayTotal(), ledger.sessionTotal(A)], [0, 0]);
      assert.equal(ledger.record({ ...paid(0.5), purpose: "compaction" }), undefined);
      assert.equal(other.record(paid(0.25, B)), undefined);
      assert.equal(ledger.record(paid(0.125)), undefined);
      for (const each of [ledger, other, ledgerOf(folder)]) {
        assert.deepEqual([each.dayTotal(), each.sessionTotal(A), each.sessionTotal(B)], [0.875, 0.625, 0.25]);
      }
    });
  });

  it("writes one line a request, in files that only the user can read", () => {
    inAgentDir((folder) => {
      ledgerOf(folder).record({ ...paid(0.5), purpose: "compaction" });
      const line = { at: NOON, sessionId: A, turnId: "t", cost: 0.5, purpose: "compaction" };
      const session = join(folder, "sessions", `${A}.spend.jsonl`);
      for (const file of [dayFile(folder), session]) {
        assert.equal(readFileSync(file, "utf8"), `${JSON.stringify(line)}\n`);
        assert.equal(statSync(file).mode & 0o777, 0o600);
      }
      assert.equal(statSync(join(folder, "spend")).mode & 0o777, 0o700);
    });
  });

  it("starts a new day at local midnight, and keeps the session's sum", () => {
    inAgentDir((folder) => {
      let now = NOON;
      const ledger = ledgerOf(folder, () => now);
      ledger.record(paid(1));
      now += DAY_MS;
      assert.equal(ledger.today(), "2026-03-06");
      assert.deepEqual([ledger.dayTotal(), ledger.sessionTotal(A)], [0, 1]);
      ledger.record(paid(2), "2026-03-05");
      assert.deepEqual([ledger.dayTotal(), ledger.dayTotal("2026-03-05"), ledger.sessionTotal(A)], [0, 3, 3]);
    });
  });

  it("skips torn and foreign lines, and appends none to a torn one", () => {
    inAgentDir((folder) => {
      const ledger = ledgerOf(folder);
      ledger.record(paid(1));
      const wrong = [
        "garbage",
        "[]",
        "null",
        '{"cost":"7"}',
        '{"cost":-7}',
        '{"cost":1e999}',
        "",
        '{"amount":7}',
      ];
      appendFileSync(dayFile(folder), `${wrong.join("\n")}\n{"at":1,"sess`);
      assert.equal(ledger.dayTotal(), 1);
      ledger.record(paid(2));
      assert.deepEqual([ledger.dayTotal(), ledgerOf(folder).dayTotal()], [3, 3]);
    });
  });

  it("counts a line whose newline comes later once", () => {
    inAgentDir((folder) => {
      mkdirSync(join(folder, "spend"));
      const ledger = ledgerOf(folder);
      writeFileSync(dayFile(folder), '{"cost":1}');
      assert.equal(ledger.dayTotal(), 0);
      appendFileSync(dayFile(folder), "\n");
      assert.deepEqual([ledger.dayTotal(), ledger.dayTotal()], [1, 1]);
    });
  });

  it("reads a file again that was replaced, cut or removed", () => {
    inAgentDir((folder) => {
      const ledger = ledgerOf(folder);
      ledger.record(paid(1));
      assert.equal(ledger.dayTotal(), 1);
      writeFileSync(`${dayFile(folder)}.new`, `{"cost":3}\n${"x".repeat(500)}\n`);
      renameSync(`${dayFile(folder)}.new`, dayFile(folder));
      assert.equal(ledger.dayTotal(), 3);
      writeFileSync(dayFile(folder), '{"cost":4}\n');
      assert.equal(ledger.dayTotal(), 4);
      rmSync(dayFile(folder));
      assert.equal(ledger.dayTotal(), 0);
    });
  });

  it("returns why it could not write, and counts the cost in this process", () => {
    inAgentDir((folder) => {
      writeFileSync(join(folder, "spend"), "a file in the folder's place");
      const ledger = ledgerOf(folder);
      assert.match(ledger.record(paid(1)) ?? "", /^Cannot .*spend.*\.$/);
      assert.equal(ledger.sessionTotal(A), 1);
      assert.equal(ledgerOf(folder).sessionTotal(A), 1);
      rmSync(join(folder, "spend"));
      assert.deepEqual([ledger.dayTotal(), ledgerOf(folder).dayTotal()], [1, 0]);
    });
  });

  it("throws for a file that cannot be read", () => {
    inAgentDir((folder) => {
      mkdirSync(dayFile(folder), { recursive: true });
      assert.throws(() => ledgerOf(folder).dayTotal(), { code: "store_read_failed" });
    });
  });

  it("carries one session's cost over to another, once, also along a chain", () => {
    inAgentDir((folder) => {
      const [C] = ["2222222222222222"] as const;
      const ledger = ledgerOf(folder);
      assert.equal(ledger.carry(A, B), undefined);
      assert.equal(existsSync(join(folder, "sessions", `${B}.spend.jsonl`)), false);
      ledger.record(paid(1));
      ledger.carry(A, B);
      ledger.carry(A, B);
      ledger.record(paid(2, B));
      ledger.carry(B, C);
      const totals = [
        ledger.sessionTotal(A),
        ledger.sessionTotal(B),
        ledger.sessionTotal(C),
        ledger.dayTotal(),
      ];
      assert.deepEqual(totals, [1, 3, 3, 3]);
    });
  });

  it("keeps the file of a session with a foreign id in its folder", () => {
    inAgentDir((folder) => {
      const ledger = ledgerOf(folder);
      assert.equal(ledger.record(paid(1, "../../x")), undefined);
      assert.equal(ledger.sessionTotal("../../x"), 1);
      assert.ok(existsSync(join(folder, "sessions", "..%2F..%2Fx.spend.jsonl")));
    });
  });

  it("sums whatever was recorded, in any order and by any instance", () => {
    const record = fc.record({
      by: fc.nat(2),
      session: fc.constantFrom(A, B),
      cents: fc.integer({ min: 1, max: 10_000 }),
      tear: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 30 }), (records) => {
        inAgentDir((folder) => {
          const ledgers = [0, 1, 2].map(() => ledgerOf(folder));
          let day = 0;
          for (const { by, session, cents, tear } of records) {
            ledgers[by]?.record(paid(cents / 128, session));
            day += cents / 128;
            if (tear) appendFileSync(dayFile(folder), '{"cost":9');
            assert.equal(ledgers[by]?.dayTotal(), day);
          }
          for (const ledger of ledgers) {
            assert.equal(ledger.dayTotal(), day);
            assert.equal(ledger.sessionTotal(A) + ledger.sessionTotal(B), day);
          }
        });
      }),
      { numRuns: byLength(300, 40, 15) },
    );
  });
});
