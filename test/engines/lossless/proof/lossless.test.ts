/** Line "losslessness": whatever is done to the sessions of an agent, every message comes back by id, byte for byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../../src/contract/message.ts";
import type { LlmComplete } from "../../../../src/contract/model.ts";
import { answer, input, round } from "../../../../src/testkit/engine/conversation.ts";
import { anyMessage } from "../store/fixtures.ts";
import { World, type Told } from "./world.ts";

const FULL = process.env["PAGURUS_PROVE"] === "1";

/** Fields and parts that this version knows nothing of. */
const unknown = fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
const strange: fc.Arbitrary<AgentMessage> = fc
  .tuple(anyMessage, unknown, unknown)
  .map(([message, more, part]) => {
    const { content } = message;
    const parts = typeof content === "string" ? content : [...content, { ...part, type: "hologram" }];
    // Known fields stay what they are: a message without its role is none.
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
      text: fc.string({ unit: "binary", maxLength: 20 }),
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

async function talk(world: World, told: Told, turns: number, tokens: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    const number = world.nextNumber();
    const messages = [input(number, tokens), ...round(number, 0, 1, tokens), answer(number, tokens)];
    await world.turn(told, messages, "completed");
  }
}

async function perform(world: World, step: Operation): Promise<void> {
  const current = world.told.filter((told) => world.isCurrent(told));
  const told = current[step.which % Math.max(1, current.length)] ?? world.create();
  switch (step.do) {
    case "turns":
      return talk(world, told, step.turns, step.tokens);
    case "odd turn": {
      const [first, ...rest] = step.messages;
      const asked: AgentMessage = first?.role === "user" ? first : { role: "user", content: "" };
      return world.turn(told, [asked, ...rest], step.failed ? "failed" : "completed");
    }
    case "rewrite":
      return world.rewrite(told, step.at, (old) => rewritten(old, step.text));
    case "rewind":
      return world.rewind(told, step.at);
    case "fork":
      return world.fork(told, step.at);
    case "compact":
      return world.compact(told, step.focus ?? undefined);
    case "compact elsewhere":
      return world.compactElsewhere(told);
    case "maintain":
      world.llm = step.which % 2 === 0 ? GOOD : () => Promise.reject(new Error("503"));
      return world.maintain(told);
    case "adopt again":
      return world.follow(told);
    case "search":
      return void (await world.store.search({ query: "berth harbour", limit: 50 }));
    case "renew":
      return world.renew(told);
    case "delete":
      return current.length > 1 ? world.delete(told) : undefined;
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
        messages += world.told.reduce((sum, { said }) => sum + said.size, 0);
        partitions += world.told.filter(
          ({ sessionId }) =>
            (world.store.session(sessionId) ? world.store.frontier(sessionId).nodeIds.length : 0) > 0,
        ).length;
      } finally {
        await world.end();
      }
    }),
    { numRuns: FULL ? 200 : 7, endOnFailure: !FULL },
  );
  t.diagnostic(`${messages} messages, ${partitions} sessions with summaries`);
  assert.ok(partitions > 0, "no session had a summary");
});
