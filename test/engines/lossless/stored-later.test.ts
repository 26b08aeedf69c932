import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { answer, input, round } from "../../../src/testkit/engine/scripted-conversation.ts";
import { Drive, texts } from "./drive.ts";

const SESSION = "session0001";

async function withTalk(work: (drive: Drive) => Promise<void>): Promise<void> {
  const drive = new Drive({
    budget: 30_000,
    config: { trigger: 8_000, headTokens: 1_200, tailTokens: 1_500 },
  });
  try {
    for (let index = 0; index < 3; index += 1)
      await drive.turn(input(index, 40), [round(index, 0, 1, 300)], answer(index, 60));
    await work(drive);
  } finally {
    await drive.end();
  }
}

/** Ids of the messages that the store has on the session's path, oldest first. */
function storedIds(drive: Drive): string[] {
  return drive.lossless.walkBack(SESSION, { kinds: ["message"] }).items.map(({ entryId }) => entryId);
}

function writtenIds(drive: Drive): string[] {
  return drive.transcript.entries.flatMap(({ type, id }) => (type === "message" ? [id] : []));
}

test("an input is stored once its context is on its way, and what follows comes after it", async () => {
  await withTalk(async (drive) => {
    const before = storedIds(drive);
    const turnId = drive.begin(input(3, 40));
    const sent = await drive.call(turnId);
    assert.match(texts(sent.messages), /Request 0003/);
    assert.deepEqual(storedIds(drive), before, "the context does not wait for the store");
    await setImmediate();
    await setImmediate();
    assert.deepEqual(storedIds(drive), writtenIds(drive));
    for (const message of round(3, 0, 1, 300)) drive.append(turnId, message);
    await drive.call(turnId);
    drive.append(turnId, answer(3, 60));
    await drive.commit(turnId);
    assert.deepEqual(storedIds(drive), writtenIds(drive));
  });
});

test("a task that follows at once finds the input stored", async () => {
  await withTalk(async (drive) => {
    const turnId = drive.begin(input(3, 40));
    await drive.call(turnId);
    drive.append(turnId, answer(3, 60));
    await drive.commit(turnId);
    assert.deepEqual(storedIds(drive), writtenIds(drive));
    assert.equal(new Set(storedIds(drive)).size, storedIds(drive).length);
  });
});

test("an input that could not be stored after its context is stored with its turn", async () => {
  await withTalk(async (drive) => {
    const before = storedIds(drive);
    const turnId = drive.begin(input(3, 40));
    await drive.call(turnId);
    const { transcript } = drive;
    const backward = transcript.backward.bind(transcript);
    transcript.backward = () => {
      throw new Error("the disk is away");
    };
    await setImmediate();
    await setImmediate();
    transcript.backward = backward;
    assert.deepEqual(storedIds(drive), before);
    drive.append(turnId, answer(3, 60));
    await drive.commit(turnId);
    assert.deepEqual(storedIds(drive), writtenIds(drive));
    assert.deepEqual(drive.degraded, []);
  });
});

test("where a summary is due, the input is stored before the context is made", async () => {
  await withTalk(async (drive) => {
    await drive.turn(input(3, 40), [], answer(3, 9_000));
    drive.obeys = false;
    const turnId = drive.begin(input(4, 40));
    const sent = await drive.call(turnId);
    assert.equal(sent.result.wantsCompaction, true);
    assert.deepEqual(storedIds(drive), writtenIds(drive));
  });
});
