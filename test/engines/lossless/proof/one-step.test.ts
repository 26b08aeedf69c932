/** Line "one step": a context that is slightly too large loses some of its newest messages, never all of its summaries. */
import assert from "node:assert/strict";
import { type TestContext } from "node:test";
import {
  answer,
  filler,
  input,
  round,
} from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { assertGrowing, Drive, texts, type Sent } from "../drive.ts";
import { assertPartition } from "./partition.ts";
import { FULL } from "../../../runner/short-form.ts";
import { longTest } from "../../../runner/long-tests.ts";

const SESSION = "session0001";
const TURNS = FULL ? 700 : 120;
const FEWEST_NODES = 10;
/** Steps of the budget, tokens. */
const STEPS = [
  40_000, 39_000, 36_000, 30_000, 24_000, 18_000, 12_000, 9_000, 6_000, 4_000, 3_000, 2_500, 2_000,
];

/** A session whose past is summarized in many parts, at a budget of 40,000 tokens. */
async function summarized(drive: Drive): Promise<void> {
  for (let index = 0; index < TURNS; index += 1) {
    const content = `Request ${index}: berth B${index} must stay free. ${filler(200)}`;
    await drive.turn({ role: "user", content }, [round(index, 0, 1, 300)], answer(index, 200));
    if (index % 4 === 3) await drive.maintain();
  }
  const leaves = drive.lossless.nodes(SESSION, { depth: 0 });
  assert.ok(leaves.length >= FEWEST_NODES, `${leaves.length} summaries`);
}

/** Asserts that every part of the frontier is in the context, and that together they cover all messages that are not kept. */
function assertPast(drive: Drive, sent: Sent, when: string): number {
  assert.ok(sent.tokens <= drive.budget, `${when}: ${sent.tokens} tokens`);
  const { nodeIds } = drive.lossless.frontier(SESSION);
  assert.ok(nodeIds.length > 0, `${when}: nothing is summarized`);
  const text = texts(sent.messages);
  for (const id of nodeIds)
    assert.ok(text.includes(`### Part ${id} `), `${when}: the part ${id} is not in the context`);
  return assertPartition(drive.lossless, SESSION);
}

async function stepDown(t: TestContext, drive: Drive): Promise<void> {
  for (const [index, budget] of STEPS.entries()) {
    drive.budget = budget;
    await drive.turn({ role: "user", content: `And now ${index}?` }, [], answer(1_000 + index, 10));
    const sent = drive.sent.at(-1);
    assert.ok(sent);
    const leaves = assertPast(drive, sent, `${budget}`);
    const { nodeIds } = drive.lossless.frontier(SESSION);
    t.diagnostic(`${budget}: ${sent.tokens} tokens, ${leaves} parts under ${nodeIds.length}`);
  }
}

/** Runs a turn that grows beyond the budget. */
async function grow(t: TestContext, drive: Drive, budget: number): Promise<void> {
  drive.budget = budget;
  const number = 5_000 + budget;
  const turnId = drive.begin(input(number));
  const rounds = Math.ceil(budget / 150);
  const from = drive.sent.length;
  for (let step = 0; step < rounds; step += 1) {
    const sent = await drive.call(turnId);
    assertPast(drive, sent, `${budget}, round ${step}`);
    assert.match(texts(sent.messages), new RegExp(`Request ${number}`));
    for (const message of round(number, step, 1, 300)) drive.append(turnId, message);
  }
  drive.append(turnId, answer(number));
  await drive.commit(turnId);
  const sent = drive.sent.slice(from);
  const epochs = new Set(sent.map(({ epoch }) => epoch)).size;
  const most = Math.max(...sent.map(({ tokens }) => tokens));
  t.diagnostic(`${budget}: ${rounds} rounds, ${epochs} epochs, at most ${most} tokens`);
  assert.ok(epochs > 1, `${epochs} epochs`);
}

longTest(
  "each context keeps every part of the summarized past when the budget shrinks or a turn outgrows it",
  async (t) => {
    const drive = new Drive({ budget: STEPS[0] ?? 0, config: { trigger: 30_000 } });
    try {
      await summarized(drive);
      await stepDown(t, drive);
      for (const budget of FULL ? [40_000, 30_000, 20_000, 10_000, 6_000] : [8_000])
        await grow(t, drive, budget);
      assertGrowing(drive.sent);
    } finally {
      await drive.end();
    }
  },
);
