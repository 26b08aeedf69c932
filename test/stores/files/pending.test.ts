import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { entriesOf, openStore, temporaryFolder, textOf, user } from "./fixtures.ts";

const CWD = { cwd: "/project" };
const TURNS = 1_500;

const id = (number: number): string => number.toString(36).padStart(16, "0");

/** A session whose turns no engine has taken, as another machine may have left it. */
function exportOfPending(): string {
  const timestamp = "2026-01-01T00:00:00.000Z";
  const lines: object[] = [
    { type: "session", version: 3, id: "0000000000000abc", timestamp, cwd: "/", key: "main" },
  ];
  const add = (entry: object): void => {
    const number = lines.length;
    lines.push({ id: id(number), parentId: number === 1 ? null : id(number - 1), timestamp, ...entry });
  };
  for (let turn = 0; turn < TURNS; turn += 1) {
    add({ type: "message", turnId: `t${turn}`, message: user(`input ${turn}`) });
    add({ type: "turn_commit", turnId: `t${turn}`, outcome: "completed", finalized: false });
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

test("an imported session's pending turns come one by one, in order, and are marked while they come", async (t) => {
  const dir = temporaryFolder(t);
  const file = join(dir, "export.jsonl");
  writeFileSync(file, exportOfPending());
  const store = openStore(dir);
  t.after(() => store.close());
  await store.import(file);
  const writer = store.openWriter("main", CWD);
  let next = 0;
  for (const { turnId, messages } of writer.unfinalizedTurns()) {
    assert.equal(turnId, `t${next}`);
    assert.deepEqual(messages.map(textOf), [`input ${next}`]);
    writer.markFinalized(turnId);
    next += 1;
  }
  assert.equal(next, TURNS);
  assert.deepEqual([...writer.unfinalizedTurns()], []);
  writer.close();
  const again = store.openWriter("main", CWD);
  assert.deepEqual([...again.unfinalizedTurns()], []);
  const marks = entriesOf(again.record.file).filter((entry) => entry.type === "custom");
  assert.equal(marks.length, TURNS);
  again.close();
});

test("a turn marked during an iteration is left out of it, a committed one is in it", (t) => {
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  const writer = store.openWriter("main", CWD);
  const commit = (turnId: string): void => {
    writer.append({ type: "message", turnId, message: user(turnId) });
    writer.commitTurn({ turnId, outcome: "completed", finalized: false });
  };
  for (const turnId of ["t1", "t2", "t3"]) commit(turnId);
  const turns = writer.unfinalizedTurns();
  const seen: string[] = [];
  for (const { turnId } of turns) {
    seen.push(turnId);
    writer.markFinalized("t2");
    if (turnId === "t1") commit("t4");
  }
  assert.deepEqual(seen, ["t1", "t3", "t4"]);
  assert.deepEqual(
    Array.from(turns, ({ turnId }) => turnId),
    ["t1", "t3", "t4"],
  );
  writer.markFinalized("unknown");
  writer.markFinalized("t2");
  assert.equal(entriesOf(writer.record.file).filter((entry) => entry.type === "custom").length, 1);
  writer.close();
});
