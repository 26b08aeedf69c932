/** Line "losslessness": whatever is done to the sessions of an agent, every message comes back by id, byte for byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../../../packages/contract/src/model.ts";
import { answer, input, round } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { anyMessage } from "../store/fixtures.ts";
import { World, type WorldSession } from "./world.ts";
import { unicodeText } from "../../../runner/unicode-text.ts";
import { FULL } from "../../../runner/short-form.ts";

/** Fields and parts unknown to this version. */
const unknown = fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
const strange: fc.Arbitrary<AgentMessage> = fc
  .tuple(anyMessage, unknown, unknown)
  .map(([message, more, part]) => {
    const { content } = message;
    const parts = typeof content === "string" ? content : [...content, { ...part, type: "hologram" }];
    // Known fields are kept: a message needs its role.
    const fields = { ...more, ...message, content: parts };
    return JSON.parse(JSON.stringify(fields)) as AgentMessage;
  });
const message = fc.oneof({ weight: 3, arbitrary: anyMessage }, { weight: 1, arbitrary: strange });

const which = fc.nat(1_000);
const operation = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("turns" as const),
      which,
      turns: fc.integer({ min: 1, max: 6 }),
      tokens: fc.integer({ min: 5, max: 400 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("odd turn" as const),
      which,
      messages: fc.array(message, { minLength: 1, maxLength: 5 }),
      failed: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("rewrite" as const),
      which,
      at: which,
      text: unicodeText({ maxLength: 20 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rewind" as const), which, at: which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("fork" as const), which, at: which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("compact" as const), which, focus: fc.option(fc.string()) }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "compact elsewhere",
        "maintain",
        "adopt again",
        "search",
        "renew",
        "delete",
        "back up and restore",
        "rebuild",
        "restart",
        "crash",
        "vacuum",
      ),
      which,
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

const GOOD: LlmComplete = async ({ messages }) => {
  const asked = (messages[0]?.content ?? "").matchAll(/these (?:changed files|exact strings): (.*)/g);
  const parts = ["Goal", "State", "Decisions and constraints", "Open asks"].map(
    (heading) => `## ${heading}\n- Berths.`,
  );
  const text = [...parts, ...Array.from(asked, ([, list]) => list)].join("\n");
  return { text, provider: "t", model: "m", agentId: "main", stopReason: "stop" };
};

async function talk(world: World, session: WorldSession, turns: number, tokens: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    const number = world.nextNumber();
    const messages = [input(number, tokens), ...round(number, 0, 1, tokens), answer(number, tokens)];
    await world.turn(session, messages, "completed");
  }
}

async function perform(world: World, step: Operation): Promise<void> {
  const current = world.sessions.filter((session) => world.isCurrent(session));
  const session = current[step.which % Math.max(1, current.length)] ?? world.create();
  switch (step.do) {
    case "turns":
      return talk(world, session, step.turns, step.tokens);
    case "odd turn": {
      const [first, ...rest] = step.messages;
      const asked: AgentMessage = first?.role === "user" ? first : { role: "user", content: "" };
      return world.turn(session, [asked, ...rest], step.failed ? "failed" : "completed");
    }
    case "rewrite":
      return world.rewrite(session, step.at, (old) => rewritten(old, step.text));
    case "rewind":
      return world.rewind(session, step.at);
    case "fork":
      return world.fork(session, step.at);
    case "compact":
      return world.compact(session, step.focus ?? undefined);
    case "compact elsewhere":
      return world.compactElsewhere(session);
    case "maintain":
      world.llm = step.which % 2 === 0 ? GOOD : () => Promise.reject(new Error("503"));
      return world.maintain(session);
    case "adopt again":
      return world.follow(session);
    case "search":
      return void (await world.store.search({ query: "berth harbour", limit: 50 }));
    case "renew":
      return world.renew(session);
    case "delete":
      return current.length > 1 ? world.delete(session) : undefined;
    case "back up and restore":
      return world.backupAndRestore();
    case "rebuild":
      return world.rebuild(step.which % 2 === 0 ? "lost" : "command");
    case "restart":
      return world.restart();
    case "crash":
      return world.crash();
    default:
      return world.vacuum();
  }
}

function rewritten(old: AgentMessage, text: string): AgentMessage {
  if (old.role !== "assistant") return { ...old, content: [{ type: "text", text }] };
  const calls = old.content.filter((part) => part.type === "toolCall");
  return { ...old, content: [{ type: "text", text }, ...calls] };
}

/** A part of a summary of summaries is of another program's compaction, which no entry records: a rebuilt store does not have it. */
const LOST_CHILD: Operation[] = [
  { do: "turns", which: 67, turns: 6, tokens: 30 },
  { do: "turns", which: 552, turns: 5, tokens: 106 },
  { do: "fork", which: 467, at: 248 },
  { do: "delete", which: 528 },
  { do: "turns", which: 746, turns: 2, tokens: 168 },
  { do: "compact elsewhere", which: 447 },
  { do: "fork", which: 893, at: 73 },
  { do: "turns", which: 844, turns: 2, tokens: 312 },
  { do: "rebuild", which: 319 },
];

test("every message comes back byte for byte by id after any sequence of operations, and every summary's sources are known", async (t) => {
  let messages = 0;
  let partitions = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 4, maxLength: FULL ? 40 : 16 }), async (steps) => {
      const world = new World();
      try {
        await talk(world, world.create(), 3, 60);
        for (const step of steps) {
          await perform(world, step);
          await world.check();
        }
        assert.deepEqual(await world.problems(), []);
        messages += world.sessions.reduce((sum, { messages }) => sum + messages.size, 0);
        partitions += world.sessions.filter(
          ({ sessionId }) =>
            (world.store.session(sessionId) ? world.store.frontier(sessionId).nodeIds.length : 0) > 0,
        ).length;
      } finally {
        await world.end();
      }
    }),
    { numRuns: FULL ? 200 : 5, endOnFailure: !FULL, examples: [[LOST_CHILD]] },
  );
  t.diagnostic(`${messages} messages, ${partitions} sessions with summaries`);
  assert.ok(partitions > 0, "no session had a summary");
});
