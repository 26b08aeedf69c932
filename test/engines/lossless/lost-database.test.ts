/** The engine's memory is in the session's log: whatever happens to the database, the contexts are the same. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { writeLog } from "../../../packages/lossless/src/log/write-log.ts";
import { answer, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { byLength } from "../../runner/short-form.ts";
import { assertGrowing, Drive } from "./drive.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

const SESSION = "session0001";
const SETTINGS = { trigger: 6_000, headTokens: 900, tailTokens: 1_500 };
const SUMMARY = ["Goal", "State", "Decisions and constraints", "Open asks"]
  .map((heading) => `## ${heading}\n- The MODEL says: the berths are looked after.`)
  .join("\n");
const good: LlmComplete = async ({ messages }) => {
  const named = /these (?:changed files|exact strings): (.*)/g;
  const asked = messages.flatMap(({ content }) => Array.from(content.matchAll(named), ([, list]) => list));
  const text = `${SUMMARY}\n${asked.join(", ")}`;
  return { text, provider: "test", model: "model", agentId: "main", stopReason: "stop" };
};

const step = (after: readonly string[]): fc.Arbitrary<Step> =>
  fc.record({
    size: fc.integer({ min: 10, max: 400 }),
    rounds: fc.array(fc.integer({ min: 5, max: 700 }), { maxLength: 4 }),
    next: fc.constantFrom(...after),
    volatile: fc.boolean(),
    lose: fc.constantFrom(false, false, true),
    at: fc.nat(),
  });

function inputs({ transcript }: Drive): string[] {
  return transcript.entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "user" ? [entry.id] : [],
  );
}

/** As the commands do. */
function changePin(drive: Drive, entryId: string, isPinned: boolean): void {
  const store = drive.lossless;
  const changed = isPinned ? store.pin(SESSION, { entryId, pinnedAt: 1 }) : store.unpin(SESSION, entryId);
  if (changed) store.owe(SESSION, "pin", entryId);
  const remember = (data: unknown): string => drive.remember(data);
  assert.equal(writeLog({ store, sessionId: SESSION, remember, isLive: false }), true);
}

function rewind(drive: Drive, at: number): void {
  const ends = drive.transcript.entries.flatMap(({ type, id }) => (type === "turn_commit" ? [id] : []));
  const target = ends[at % ends.length];
  if (target !== undefined) drive.transcript.rewind(target);
}

async function call(drive: Drive, turnId: string, recall: boolean): Promise<void> {
  const sent = await drive.call(turnId);
  // Which passages a new turn gets is decided by a search, which counts how rare a word is in all that a database has.
  if (recall && sent.isFirst) return;
  const other = await drive.withoutDatabase(turnId);
  assert.equal(other.epoch, sent.epoch);
  assert.deepEqual(other.bytes, sent.bytes);
}

interface Step {
  size: number;
  rounds: number[];
  next: string;
  volatile: boolean;
  lose: boolean;
  at: number;
}

async function talk(drive: Drive, steps: readonly Step[], recall: boolean): Promise<void> {
  for (const [index, { size, rounds, next, volatile, lose, at }] of steps.entries()) {
    const turnId = drive.begin(input(index, size));
    if (volatile) {
      const after = drive.transcript.entries.at(-1)?.id;
      drive.volatile.push({ message: { role: "user", content: `Result of child ${index}` }, after });
    }
    await call(drive, turnId, recall);
    for (const [place, tokens] of rounds.entries()) {
      for (const message of round(index, place, 1, tokens)) drive.append(turnId, message);
      await call(drive, turnId, recall);
    }
    drive.append(turnId, answer(index));
    await drive.commit(turnId);
    if (next === "maintain") await drive.maintain();
    if (next === "restart") await drive.restart();
    if (next === "rewind") rewind(drive, at);
    const all = inputs(drive);
    const chosen = all[at % all.length] ?? "";
    if (next === "pin" || next === "unpin") changePin(drive, chosen, next === "pin");
    if (lose) await drive.loseDatabase();
  }
}

for (const [what, recall, after] of [
  ["passages are recalled", true, ["nothing", "maintain", "restart", "pin", "unpin", "rewind"]],
  ["branches are left", false, ["nothing", "maintain", "restart", "pin", "unpin", "rewind", "rewind"]],
] as const) {
  test(`where ${what}, a host without the database assembles the same bytes at any call, without a model call`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step(after), { minLength: 4, maxLength: 14 }), async (steps) => {
        const drive = new Drive({ budget: 8_000, config: { ...SETTINGS, recall }, llm: good });
        try {
          await talk(drive, steps, recall);
        } finally {
          await drive.end();
        }
      }),
      { numRuns: byLength(60, 4, 2), endOnFailure: true },
    );
  });
}

/** A session with a pin, an epoch and a model's summaries. */
async function filled(drive: Drive): Promise<void> {
  for (let index = 0; index < 12; index += 1)
    await drive.turn(input(index, 40), [round(index, 0, 1, 300), round(index, 1, 1, 300)], answer(index, 60));
  await drive.maintain();
  changePin(drive, inputs(drive)[2] ?? "", true);
}

/** What the database has and the log has to have. */
function memoryOf({ lossless }: Drive): { pins: string[]; nodes: string[]; head: unknown } {
  const { head } = (lossless.frontier(SESSION).details ?? {}) as { head?: unknown };
  return {
    pins: lossless.pins(SESSION).map(({ entryId }) => entryId),
    nodes: lossless
      .nodes(SESSION)
      .filter(({ origin }) => origin === "model")
      .map(({ nodeId }) => nodeId)
      .toSorted(),
    head,
  };
}

async function oneTurn(drive: Drive, index: number): Promise<void> {
  await drive.turn(input(index, 40), [], answer(index, 20));
}

function engineEntries({ transcript }: Drive): number {
  return transcript.written.filter(
    (entry) => entry.type === "custom" && entry.customType === "engine.lossless",
  ).length;
}

async function withDrive(work: (drive: Drive) => Promise<void>): Promise<void> {
  const drive = new Drive({ budget: 8_000, config: { ...SETTINGS, recall: false }, llm: good });
  try {
    await work(drive);
  } finally {
    await drive.end();
  }
}

test("what could not be written to the log is written by a later call, and what the database missed is read", () =>
  withDrive(async (drive) => {
    await filled(drive);
    const id = inputs(drive)[4] ?? "";
    const store = drive.lossless;
    // The process ends after the first of the two writes.
    store.transaction(() => {
      store.pin(SESSION, { entryId: id, pinnedAt: 2 });
      store.owe(SESSION, "pin", id);
    });
    await drive.restart();
    await oneTurn(drive, 12);
    const { pins } = memoryOf(drive);
    assert.ok(pins.includes(id));
    await drive.loseDatabase();
    await oneTurn(drive, 13);
    assert.deepEqual(memoryOf(drive).pins, pins);
    // The second one alone: an entry of another host, and this database's own again, after a copy of it was put back.
    drive.remember({ version: 1, pins: [{ entryId: id, pinnedAt: null }] });
    await oneTurn(drive, 14);
    assert.deepEqual(
      memoryOf(drive).pins,
      pins.filter((pin) => pin !== id),
    );
  }));

test("entries of the log are no words of the conversation: no context and no summary shows them", () =>
  withDrive(async (drive) => {
    await filled(drive);
    assert.ok(engineEntries(drive) > 0);
    await oneTurn(drive, 12);
    for (const { bytes } of drive.sent) assert.doesNotMatch(bytes.join("\n"), /engine\.lossless|pinnedAt/);
  }));

longTest("a long session is answered from its end, while the rest is stored in the background", () =>
  withDrive(async (drive) => {
    for (let index = 0; index < 1_500; index += 1) {
      const turnId = drive.begin(input(index, 10));
      for (const message of round(index, 0, 1, 5)) drive.append(turnId, message);
      drive.append(turnId, answer(index));
      drive.transcript.append({ type: "turn_commit", turnId, outcome: "completed" });
    }
    drive.volatile.push({ message: { role: "user", content: "Result of child" }, after: undefined });
    await oneTurn(drive, 1_500);
    assert.equal(drive.lossless.session(SESSION)?.adopted, true);
    await drive.maintain();
    const turnId = drive.begin(input(1_501, 10));
    await call(drive, turnId, false);
    drive.append(turnId, answer(1_501));
    await drive.commit(turnId);
    const { head } = memoryOf(drive);
    await drive.loseDatabase();

    const next = drive.begin(input(1_502, 10));
    const { bytes } = await drive.call(next);
    // The epoch came from the log: the database has none until it has the path.
    assert.equal(drive.lossless.frontier(SESSION).version, 0);
    assert.deepEqual(bytes.slice(0, 3), drive.sent.at(-2)?.bytes.slice(0, 3));
    for (const message of round(1_502, 0, 1, 5)) drive.append(next, message);
    await call(drive, next, false);
    drive.append(next, answer(1_502));
    await drive.commit(next);
    await drive.maintain();
    // The rest is stored in the background, beside whatever else the process does.
    await until(async () => {
      await drive.maintain();
      return memoryOf(drive).head !== undefined;
    });
    assert.equal(drive.lossless.session(SESSION)?.adopted, true);
    assert.equal(memoryOf(drive).head, head);
    const last = drive.begin(input(1_503, 10));
    await call(drive, last, false);
    assertGrowing(drive.sent.slice(1));
  }),
);
