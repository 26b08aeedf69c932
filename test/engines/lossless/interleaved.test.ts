/** Calls of the engine that meet others: previews, searches, adoptions, failures in the middle, and turns at another host. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { StoreHolder } from "../../../packages/lossless/src/holder.ts";
import { losslessSettings } from "../../../packages/lossless/src/lossless-settings.ts";
import { StoreDamage } from "../../../packages/lossless/src/store/damage.ts";
import { answer, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive } from "./drive.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

const SESSION = "session0001";
const SETTINGS = { trigger: 6_000, headTokens: 900, tailTokens: 1_500, recall: false };

async function withDrive(
  config: Record<string, unknown>,
  work: (drive: Drive) => Promise<void>,
): Promise<void> {
  const drive = new Drive({ budget: 8_000, config });
  try {
    await work(drive);
  } finally {
    await drive.end();
  }
}

/** Turns that the engine did not see. */
function written(drive: Drive, from: number, until: number): void {
  for (let index = from; index < until; index += 1) {
    const turnId = drive.begin(input(index, 10));
    for (const message of round(index, 0, 1, 5)) drive.append(turnId, message);
    drive.append(turnId, answer(index));
    drive.transcript.append({ type: "turn_commit", turnId, outcome: "completed" });
  }
}

async function oneTurn(drive: Drive, index: number, result?: string): Promise<void> {
  const turnId = drive.begin(input(index, 10));
  const after = drive.transcript.entries.at(-1)?.id;
  if (result !== undefined) drive.volatile.push({ message: { role: "user", content: result }, after });
  await drive.call(turnId);
  drive.append(turnId, answer(index, 10));
  await drive.commit(turnId);
}

/** Each walk over the path gives way to other work now and then. */
function slowed(drive: Drive): void {
  const { transcript } = drive;
  const forward = transcript.forward.bind(transcript);
  transcript.forward = async function* (after) {
    let count = 0;
    for await (const entry of forward(after)) {
      yield entry;
      if (++count % 100 === 0) await turnOfLoop();
    }
  };
}

test("a preview beside a running turn takes no message of the turn out of the conversation", () =>
  withDrive({ recall: false }, async (drive) => {
    await drive.turn(input(0, 40), [], answer(0, 20));
    const turnId = drive.begin(input(1, 40));
    const after = drive.transcript.entries.at(-1)?.id;
    drive.volatile.push({ message: { role: "user", content: "Result of child" }, after });
    await drive.call(turnId);
    const { remember: _remember, ...runtimeContext } = drive.context();
    await drive.engine.assemble({
      ...drive.params(),
      runtimeContext,
      messages: [],
      prompt: "What now?",
      tokenBudget: 8_000,
    });
    drive.append(turnId, answer(1, 20));
    await drive.commit(turnId);
    const { bytes } = await drive.call(drive.begin(input(2, 40)));
    assert.ok(bytes.some((text) => text.includes("Result of child")));
  }));

for (const isStored of [false, true])
  test(`a summary at the beginning of a path is shown${isStored ? ", also where a search of another session stored the path" : ""}`, () =>
    withDrive({ recall: false }, async (drive) => {
      const { transcript } = drive;
      transcript.append({
        type: "compaction",
        summary: "The ship is called MARIGOLD.",
        firstKeptEntryId: "entry00002",
        tokensBefore: 9_000,
        origin: "engine",
      });
      written(drive, 0, 3);
      if (isStored) await drive.lossless.adopt(SESSION, transcript, { sessionKey: "main" });
      const { bytes } = await drive.call(drive.begin(input(9, 40)));
      assert.ok(bytes.some((text) => text.includes("MARIGOLD")));
    }));

longTest("a log whose reading fails once is read by the next call", () =>
  withDrive(SETTINGS, async (drive) => {
    written(drive, 100, 250);
    for (let index = 0; index < 12; index += 1)
      await drive.turn(
        input(index, 40),
        [round(index, 0, 1, 300), round(index, 1, 1, 300)],
        answer(index, 60),
      );
    let number = 12;
    // Far enough from the trigger that the next turn is in the same epoch.
    do await oneTurn(drive, number++);
    while ((drive.sent.at(-1)?.tokens ?? 0) > SETTINGS.trigger / 2);
    const { epoch } = drive.sent.at(-1) ?? {};
    await drive.loseDatabase();
    const { transcript } = drive;
    const ofEngine = transcript.ofEngine.bind(transcript);
    let reads = 0;
    transcript.ofEngine = (id) => {
      reads += 1;
      if (reads === 2) throw new Error("read failed once");
      return ofEngine(id);
    };
    const turnId = drive.begin(input(number, 40));
    await assert.rejects(drive.call(turnId), /read failed once/);
    assert.equal((await drive.call(turnId)).epoch, epoch);
  }),
);

longTest(
  "a host that continues a session which another host has continued has that one's summary, pins and messages",
  () =>
    withDrive(SETTINGS, async (drive) => {
      written(drive, 0, 1_000);
      await oneTurn(drive, 1_000, "Result of child at the first host");
      await drive.engine.dispose?.();
      const [agent, kept] = [join(drive.dir, "agent"), join(drive.dir, "first-host")];
      cpSync(agent, kept, { recursive: true });
      drive.reopen();
      written(drive, 2_000, 2_300);
      for (let index = 1_001; index < 1_080; index += 1)
        await oneTurn(drive, index, index === 1_078 ? "Result of child at the other host" : undefined);
      const { id: pinned = "" } = drive.transcript.entries[0] ?? {};
      drive.remember({ version: 1, pins: [{ entryId: pinned, pinnedAt: 1 }] });
      await oneTurn(drive, 1_080);
      const before = drive.sent.at(-1);
      assert.ok(drive.compactions > 0);
      await drive.engine.dispose?.();
      rmSync(agent, { recursive: true });
      cpSync(kept, agent, { recursive: true });
      drive.reopen();
      slowed(drive);
      await oneTurn(drive, 1_081);
      const early = drive.sent.at(-1);
      assert.equal(early?.epoch, before?.epoch);
      assert.deepEqual(early?.bytes.slice(0, before?.bytes.length), before?.bytes);
      await until(async () => {
        await drive.maintain();
        return drive.lossless.pins(SESSION).length > 0;
      });
      assert.deepEqual(
        drive.lossless.pins(SESSION).map(({ entryId }) => entryId),
        [pinned],
      );
      const { bytes, epoch } = await drive.call(drive.begin(input(1_082, 10)));
      assert.equal(epoch, before?.epoch);
      assert.deepEqual(bytes.slice(0, before?.bytes.length), before?.bytes);
    }),
);

test("a turn that ends while the session is adopted leaves the path at its end", () =>
  withDrive({ recall: false }, async (drive) => {
    await oneTurn(drive, 0);
    written(drive, 1, 80);
    slowed(drive);
    const adopting = drive.lossless.adopt(SESSION, drive.transcript, { index: "later" });
    await oneTurn(drive, 80);
    await adopting;
    const path = drive.transcript.entries.filter(({ type }) => type !== "custom");
    const { leafId } = drive.lossless.session(SESSION) ?? {};
    assert.ok(leafId !== undefined && leafId !== null && leafId >= (path.at(-2)?.id ?? ""), String(leafId));
  }));

test("a call of another session that meets the replacement of a damaged database is repeated with the new one", async () => {
  const agentDir = mkdtempSync(join(tmpdir(), "lossless-replaced-"));
  const holder = new StoreHolder({ agentDir, settings: losslessSettings({}) });
  try {
    holder.sessions.store.openSession("a");
    let isFirst = true;
    const other = holder.run(undefined, async ({ store }) => {
      for (let count = 0; count < 40; count += 1) await store.verify();
      return "the other's answer";
    });
    await turnOfLoop();
    const damaged = holder.run(undefined, () => {
      if (!isFirst) return "answered with the new database";
      isFirst = false;
      throw new StoreDamage("a page is not what was written");
    });
    assert.deepEqual(await Promise.all([damaged, other]), [
      "answered with the new database",
      "the other's answer",
    ]);
  } finally {
    await holder.close();
    rmSync(agentDir, { recursive: true });
  }
});
