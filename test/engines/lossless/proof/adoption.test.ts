/** Line "adoption": messages from before the engine was enabled are found, and equal texts stay different messages. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { ClaudeLines } from "../../../importers/sessions/claude-lines.ts";
import { LcmFixture } from "../../../importers/sessions/lcm-fixture.ts";
import { FULL } from "../../../runner/short-form.ts";
import { plantedFacts, searches, turnOf, type Fact } from "./facts.ts";
import { Harbour } from "./harbour.ts";
import { World } from "./world.ts";
import { longTest } from "../../../runner/long-tests.ts";

const FACTS = FULL ? 40 : 20;
const SMALL = { window: 24_000, lossless: { trigger: 7_000, headTokens: 1_400, tailTokens: 1_500 } };
/** All searches of one turn fit the context. */
const WIDE = { window: 400_000, lossless: {} };

async function say(harbour: Harbour, facts: readonly Fact[]): Promise<void> {
  for (const fact of facts) {
    const { input, plan } = turnOf(fact);
    await harbour.turn(input, plan);
  }
}

function forget(harbour: Harbour): void {
  for (const end of ["", "-wal", "-shm"])
    rmSync(join(harbour.bench.root, "home", "agents", "main", `lossless.db${end}`), { force: true });
}

/** The model searches for each fact by the words around it; returns the exact strings that were found. */
async function found(harbour: Harbour, facts: readonly Fact[], sessionKey = "main"): Promise<string[]> {
  await harbour.turn(
    "Search for every gate code.",
    { rounds: searches(facts), answer: "Searched." },
    sessionKey,
  );
  const results = harbour.results();
  return facts.flatMap(({ index, code }) => (results.get(`search_${index}`)?.includes(code) ? [code] : []));
}

async function assertFound(
  t: TestContext,
  harbour: Harbour,
  facts: readonly Fact[],
  sessionKey = "main",
): Promise<void> {
  const codes = await found(harbour, facts, sessionKey);
  t.diagnostic(`${codes.length} of ${facts.length} facts`);
  assert.equal(
    codes.length,
    FACTS,
    `missing: ${facts
      .filter(({ code }) => !codes.includes(code))
      .map(({ code, place }) => `${code} (${place})`)
      .join(", ")}`,
  );
  assert.deepEqual(harbour.problems, []);
}

longTest("every planted fact of our own transcript is found after the loss of its database", async (t) => {
  const harbour = await Harbour.open(SMALL);
  const facts = plantedFacts(FACTS);
  try {
    await say(harbour, facts);
    assert.ok(harbour.compactions.length > 0);
    await harbour.restart(WIDE, () => forget(harbour));
    await assertFound(t, harbour, facts);
  } finally {
    await harbour.end();
  }
});

longTest("every planted fact of a session that ran and compacted with legacy is found", async (t) => {
  const harbour = await Harbour.open({ ...SMALL, window: 16_000, engine: "legacy" });
  const facts = plantedFacts(FACTS);
  try {
    await say(harbour, facts);
    assert.ok(
      harbour.compactions.some((how) => how.endsWith("by legacy")),
      harbour.compactions.join(),
    );
    await harbour.restart({ ...WIDE, engine: "lossless" });
    await assertFound(t, harbour, facts);
    // The whole history fits the window, so its own words are there in place of the summary.
    assert.equal(harbour.head(), undefined);
  } finally {
    await harbour.end();
  }
});

type Row = Record<string, unknown>;

function piLines(facts: readonly Fact[]): Row[] {
  const timestamp = "2026-01-05T10:00:00.000Z";
  const rows: Row[] = [
    { type: "session", version: 3, id: "6a1c5f0e-2b7d-4a51-8f0e-0d3b8a4c9e77", timestamp, cwd: "/project" },
  ];
  let parentId: string | null = null;
  const add = (message: Row): void => {
    const id = `m${rows.length}`;
    rows.push({
      type: "message",
      id,
      parentId,
      timestamp,
      message: { timestamp: 1_767_607_200_000, ...message },
    });
    parentId = id;
  };
  const text = (value: string): Row[] => [{ type: "text", text: value }];
  for (const fact of facts) {
    const { input, plan } = turnOf(fact);
    const [[call] = []] = plan.rounds ?? [];
    add({ role: "user", content: input });
    add({ role: "assistant", content: [{ type: "toolCall", ...call }], stopReason: "toolUse" });
    const statement = fact.place === "call" ? fact.sentence : filler(60);
    add({
      role: "toolResult",
      toolCallId: call?.id,
      toolName: call?.name,
      content: text(statement),
      isError: false,
    });
    add({ role: "assistant", content: text(plan.answer), stopReason: "stop" });
  }
  return rows;
}

function claudeLines(facts: readonly Fact[]): Row[] {
  const lines = new ClaudeLines();
  for (const fact of facts) {
    const { input, plan } = turnOf(fact);
    const [[call] = []] = plan.rounds ?? [];
    const assistant = (id: string, content: Row[]): void => {
      lines.line("assistant", { message: { role: "assistant", id, model: "claude", content } });
    };
    lines.line("user", { message: { role: "user", content: input } });
    assistant(`a${fact.index}`, [
      { type: "tool_use", id: call?.id, name: call?.name, input: call?.arguments },
    ]);
    const result = { type: "tool_result", tool_use_id: call?.id, content: filler(60) };
    lines.line("user", { message: { role: "user", content: [result] } });
    assistant(`b${fact.index}`, [{ type: "text", text: plan.answer }]);
  }
  return lines.rows;
}

function lcmFile(folder: string, facts: readonly Fact[]): string {
  const fixture = new LcmFixture(folder);
  const conversation = fixture.conversation({ session_id: "s", session_key: "agent:main:main", active: 1 });
  let seq = 0;
  for (const fact of facts) {
    const { input, plan } = turnOf(fact);
    fixture.message(
      conversation,
      (seq += 1),
      "user",
      fact.place === "call" ? `${input} ${fact.sentence}` : input,
    );
    fixture.message(conversation, (seq += 1), "assistant", plan.answer);
  }
  fixture.close();
  return fixture.file;
}

const IMPORTS: Record<string, (folder: string, facts: readonly Fact[]) => string> = {
  pi: (folder, facts) => written(folder, "pi.jsonl", piLines(facts)),
  "Claude Code": (folder, facts) => written(folder, "claude.jsonl", claudeLines(facts)),
  "lossless-claw": lcmFile,
};

function written(folder: string, name: string, rows: readonly Row[]): string {
  const file = join(folder, name);
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return file;
}

for (const [name, write] of Object.entries(IMPORTS)) {
  test(`every planted fact of a conversation imported from ${name} is found`, async (t) => {
    const harbour = await Harbour.open(WIDE);
    const facts = plantedFacts(FACTS);
    try {
      const file = write(harbour.bench.root, facts);
      await harbour.pagurus.sessions().import(file, { sessionKey: "imported" });
      await assertFound(t, harbour, facts, "imported");
    } finally {
      await harbour.end();
    }
  });
}

test("six identical turns are twelve messages, also after a restart and after the loss of the database", async () => {
  const harbour = await Harbour.open({ lossless: {} });
  const sentLines = (): string[] =>
    (harbour.body?.messages ?? []).map(({ role, text }) => `${role}: ${text}`);
  const asBefore = Array.from({ length: 6 }, () => [
    "user: Same as before, please.",
    "assistant: Done.",
  ]).flat();
  try {
    for (let turn = 0; turn < 6; turn += 1) {
      await harbour.turn("Same as before, please.", { answer: "Done." });
      if (turn === 2) await harbour.restart();
      if (turn === 4) await harbour.restart({}, () => forget(harbour));
    }
    await harbour.turn("How often did I ask?", { answer: "Six times." });
    assert.deepEqual(sentLines(), [...asBefore, "user: How often did I ask?"]);
    await harbour.restart({}, () => forget(harbour));
    await harbour.turn("And now?", { answer: "The same." });
    assert.deepEqual(sentLines().slice(0, 12), asBefore);
  } finally {
    await harbour.end();
  }
});

test("six identical turns are twelve messages when the engine receives no transcript file", async () => {
  const world = new World();
  try {
    const session = world.create();
    for (let turn = 0; turn < 6; turn += 1)
      await world.turn(
        session,
        [
          { role: "user", content: "Same as before, please." },
          { role: "assistant", content: [{ type: "text", text: "Done." }], stopReason: "stop" },
        ],
        "completed",
      );
    await world.check();
    assert.equal(session.messages.size, 12);
    assert.equal(world.store.walkBack(session.sessionId).items.length, 12);
    const reader = world.transcripts.openReader(session.key);
    const seen = await world.engine.assemble({
      ...world.params(session, reader.cursor),
      messages: [],
      prompt: "Well?",
    });
    reader.close();
    assert.equal(seen.messages.length, 12);
  } finally {
    await world.end();
  }
});
