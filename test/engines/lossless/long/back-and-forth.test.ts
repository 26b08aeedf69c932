/** `legacy`, `lossless`, `legacy`, `lossless` in one long session: each continues at once, and nothing is lost. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { longTest } from "../../../runner/long-tests.ts";
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { plantedFacts, searches, turnOf, type Fact } from "../proof/facts.ts";
import { Harbour } from "../proof/harbour.ts";
import { FULL } from "../../../runner/short-form.ts";

const ENTRIES = FULL ? 20_000 : 1_200;
/** Input, call, result, answer, and the mark of the turn's end. */
const ENTRIES_A_TURN = 5;
const SETTINGS = { window: 16_000, lossless: { trigger: 7_000 } };
/** Turns with each engine before the next one. */
const STRETCH = FULL ? 40 : 14;

/** Writes a session of `ENTRIES` entries, as turns of the host would; facts are spread over it. */
function write(harbour: Harbour, facts: readonly Fact[]): void {
  const store = harbour.pagurus.sessions();
  const writer = store.openWriter("main", { cwd: harbour.bench.root, create: true });
  const turns = ENTRIES / ENTRIES_A_TURN;
  const every = Math.floor(turns / facts.length);
  for (let turn = 0; turn < turns; turn += 1) {
    const fact = turn % every === 0 ? facts[turn / every] : undefined;
    for (const message of messagesOf(turn, fact))
      writer.append({ type: "message", turnId: `bulk${turn}`, message });
    writer.commitTurn({ turnId: `bulk${turn}`, outcome: "completed" });
  }
  writer.close();
}

function messagesOf(turn: number, fact: Fact | undefined): AgentMessage[] {
  const turnPlan = fact
    ? turnOf(fact)
    : { input: `Bulk ${turn}. ${filler(20)}`, plan: { answer: `Done with ${turn}.` } };
  const id = `bulk_call_${turn}`;
  const [[call] = []] = turnPlan.plan.rounds ?? [];
  return [
    { role: "user", content: turnPlan.input },
    {
      role: "assistant",
      content: [
        { type: "toolCall", id, name: "berth_log", arguments: call?.arguments ?? { berth: `B-${turn}` } },
      ],
      stopReason: "toolUse",
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: "berth_log",
      content: [{ type: "text", text: `Log of B-${turn}: ${filler(40)}` }],
      isError: false,
    },
    { role: "assistant", content: [{ type: "text", text: turnPlan.plan.answer }], stopReason: "stop" },
  ];
}

interface Progress {
  facts: Fact[];
  /** The agent's last answer. */
  answer: string;
}

/** The first turn after a change of the engine: sent at once, valid, and with the newest answer before it. */
async function change(
  t: TestContext,
  harbour: Harbour,
  progress: Progress,
  engine: "legacy" | "lossless",
): Promise<void> {
  await harbour.restart({ ...SETTINGS, engine });
  const { asked } = harbour;
  await harbour.turn(`Now with ${engine}, turn ${harbour.turns}.`, { answer: `This is ${engine}.` });
  t.diagnostic(`${engine}: ${harbour.body?.messages.length} messages, ${harbour.order.join(", ")}`);
  assert.equal(harbour.order[0], "turn", `a model was asked ${harbour.asked - asked} times before the turn`);
  assert.ok(harbour.head() !== undefined, "no summary covers the messages that are not sent");
  const sent = (harbour.body?.messages ?? []).map(({ text }) => text).join("\n");
  // Verbatim, or in the summary as the last answer when its turn is larger than the kept tokens.
  assert.ok(sent.includes(progress.answer.slice(0, 60)), "the newest answer is missing");
  assertSound(harbour);
  progress.answer = `This is ${engine}.`;
}

function assertSound({ problems, degraded, compactions }: Harbour): void {
  assert.deepEqual(problems.slice(0, 5), []);
  assert.deepEqual(degraded.slice(0, 5), []);
  assert.deepEqual(
    compactions.filter((how) => how.startsWith("failed")),
    [],
  );
}

/** Runs turns until the engine has compacted; each contains a fact. */
async function work(
  harbour: Harbour,
  progress: Progress,
  facts: readonly Fact[],
  engine: string,
): Promise<void> {
  const before = harbour.compactions.length;
  for (const fact of facts) {
    const { input, plan } = turnOf(fact);
    await harbour.turn(`${input} ${filler(700)}`, plan);
    progress.answer = plan.answer;
    progress.facts.push(fact);
  }
  assertSound(harbour);
  const made = harbour.compactions.slice(before);
  const own = engine === "legacy" ? /by (?:legacy|built-in)$/ : /by lossless$/;
  assert.ok(made.length > 0 && made.every((how) => own.test(how)), `${engine}: ${made.join()}`);
}

async function assertFound(harbour: Harbour, { facts }: Progress): Promise<void> {
  const asked = facts.filter((_, index) => index % Math.ceil(facts.length / 10) === 0);
  for (const { index, code, ...fact } of asked) {
    await harbour.turn("Search.", { rounds: searches([{ index, code, ...fact }]), answer: "Searched." });
    assert.ok(harbour.results().get(`search_${index}`)?.includes(code), `${code} is not found`);
  }
}

longTest(
  `legacy, lossless, legacy, lossless in a session of ${ENTRIES} entries: no turn waits for a model`,
  { timeout: 600_000 },
  async (t) => {
    const harbour = await Harbour.open({ ...SETTINGS, engine: "legacy" });
    const all = plantedFacts(20 + 4 * STRETCH);
    const progress: Progress = { facts: all.slice(0, 20), answer: "" };
    const stretch = (index: number): Fact[] => all.slice(20 + index * STRETCH, 20 + (index + 1) * STRETCH);
    try {
      write(harbour, progress.facts);
      assert.equal((await harbour.pagurus.compact({})).compacted, true);
      await work(harbour, progress, stretch(0), "legacy");
      await change(t, harbour, progress, "lossless");
      await work(harbour, progress, stretch(1), "lossless");
      await change(t, harbour, progress, "legacy");
      await work(harbour, progress, stretch(2), "legacy");
      await change(t, harbour, progress, "lossless");
      await work(harbour, progress, stretch(3), "lossless");
      await assertFound(harbour, progress);
    } finally {
      await harbour.end();
    }
  },
);
