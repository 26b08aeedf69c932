import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { CostSoFar } from "../../../packages/contract/src/host/cost.ts";
import type {
  AskPermission,
  PermissionAnswer,
  PermissionQuestion,
  RunRequest,
} from "../../../packages/contract/src/host/run.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { eventsOf } from "../in-process.ts";
import { calls, Calls, engineOf, failure, MembersBench, ofType } from "./members-bench.ts";

/** Dollars for a million tokens: a request of a thousand tokens costs a cent, a word of the answer a little. */
const PRICES = { input: 10, output: 50 };
const USAGE = { input: 10_000, output: 1_000 };
/** 10,000 × 10 + 1,000 × 50, a millionth of it. */
const ONE_CALL = 0.15;

/** Answers each question the same; `asked` gets the questions. */
function answering(answer: PermissionAnswer, asked: PermissionQuestion[]): AskPermission {
  return (question) => {
    asked.push(question);
    return Promise.resolve(answer);
  };
}

describe("the cost limit of a turn", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  /** A host with a limit for the session of one call and a little, whose questions are answered. */
  async function asking(answer: PermissionAnswer, asked: PermissionQuestion[]) {
    bench = await MembersBench.open((_request, index) => ({ text: `Reply ${index}.`, usage: USAGE }));
    const more = { askPermission: answering(answer, asked) };
    return bench.start({ model: { cost: PRICES }, defaults: { maxCost: { session: 0.16 } }, more });
  }

  async function priced(maxCost?: Record<string, number>, script?: ReplyStep[], cost: object = PRICES) {
    bench = await MembersBench.open(
      (_request, index) => script?.[index] ?? { text: `Reply ${index}.`, usage: USAGE },
    );
    const model = { cost: cost as typeof PRICES };
    return bench.start({ model, ...(maxCost ? { defaults: { maxCost } } : {}) });
  }

  const run = async (
    pagurus: Awaited<ReturnType<typeof priced>>,
    more: Partial<RunRequest> = {},
  ): ReturnType<typeof eventsOf> => eventsOf(pagurus.run({ prompt: "One", cwd: bench.root, ...more }));

  const maxTokens = (index: number): unknown => {
    const body = bench.server.requests.at(index)?.body ?? {};
    return body["max_tokens"] ?? body["max_completion_tokens"];
  };

  function assertCost(actual: CostSoFar | undefined, expected: Partial<CostSoFar>): void {
    const rounded = Object.fromEntries(
      Object.entries(actual ?? {}).map(([name, value]) => [
        name,
        typeof value === "number" ? Number(value.toFixed(6)) : (value as unknown),
      ]),
    );
    assert.deepEqual(rounded, expected);
  }

  it("is reported with the turn and in the status: turn, session and day", async () => {
    const pagurus = await priced({ day: 5 });
    const limits = { day: 5 };
    const first = ofType(await run(pagurus), "turn.completed")[0];
    assertCost(first?.cost, { turn: ONE_CALL, session: ONE_CALL, day: ONE_CALL, limits });
    const second = ofType(await run(pagurus), "turn.completed")[0];
    assertCost(second?.cost, { turn: ONE_CALL, session: 2 * ONE_CALL, day: 2 * ONE_CALL, limits });
    const other = ofType(await run(pagurus, { sessionKey: "other" }), "turn.completed")[0];
    assertCost(other?.cost, { turn: ONE_CALL, session: ONE_CALL, day: 0.45, limits });
    const { cost } = await pagurus.status({ cwd: bench.root });
    assertCost(cost, { session: 2 * ONE_CALL, day: 0.45, limits });
  });

  it("is not exceeded: no request is sent that could cost more, and the input may be sent again", async () => {
    const pagurus = await priced();
    const { code, message } = failure(await run(pagurus, { maxCost: 0.001 }));
    assert.equal(code, "cost_limit");
    assert.match(message, /^The next request was not sent: the turn has cost \$0 of \$0\.001/);
    assert.equal(bench.server.requests.length, 0);
    assert.equal((await pagurus.status({ cwd: bench.root })).lastTurn?.code, "cost_limit");
    assert.equal((await run(pagurus)).at(-1)?.type, "turn.completed");
    const [prompt, ...more] = bench.body(0).messages;
    assert.deepEqual([prompt?.text, more.length], ["One", 0]);
  });

  it("bounds the answer of each request to the rest", async () => {
    const pagurus = await priced(undefined, [
      { ...calls("glob", { pattern: "*" }), usage: { input: 1_000, output: 100 } },
    ]);
    await run(pagurus);
    assert.equal(maxTokens(0), 4_000, "without a limit it is the model's own");
    await bench.end();
    const limited = await priced(undefined, [
      { ...calls("glob", { pattern: "*" }), usage: { input: 1_000, output: 400 } },
    ]);
    for (let index = 0; index < 20; index += 1)
      writeFileSync(join(bench.root, `a-note-of-the-harbour-${index}.txt`), "x");
    const events = await run(limited, { maxCost: 0.12 });
    assert.equal(events.at(-1)?.type, "turn.completed");
    const [first, second] = [Number(maxTokens(0)), Number(maxTokens(1))];
    assert.ok(first > 256 && first < 2_400, `${first}`);
    // The first call cost 3 cents, which pay for 600 tokens of an answer.
    assert.ok(second <= first - 600 && second >= 256, `${first} then ${second}`);
  });

  it("ends a turn between two requests, with the work so far kept", async () => {
    const pagurus = await priced(undefined, [{ ...calls("glob", { pattern: "*" }), usage: USAGE }]);
    const events = await run(pagurus, { maxCost: 0.16 });
    assert.equal(failure(events).code, "cost_limit");
    assert.equal(bench.server.requests.length, 1);
    const roles = bench
      .entries(pagurus)
      .flatMap((entry) => (entry.type === "message" ? [entry.message.role] : []));
    assert.deepEqual(roles, ["user", "assistant", "toolResult"]);
  });

  for (const limit of ["turn", "session", "day"] as const) {
    it(`is configured for the ${limit}`, async () => {
      const pagurus = await priced({ [limit]: 0.16 });
      const first = await run(pagurus);
      assert.equal(first.at(-1)?.type, "turn.completed");
      const second = await run(pagurus);
      if (limit === "turn") return assert.equal(second.at(-1)?.type, "turn.completed");
      assert.equal(failure(second).code, "cost_limit");
      assert.match(failure(second).message, new RegExp(`the ${limit} has cost \\$0\\.15 of \\$0\\.16`));
      assert.equal(bench.server.requests.length, 1);
      const elsewhere = (await run(pagurus, { sessionKey: "other" })).at(-1)?.type;
      assert.equal(elsewhere, limit === "session" ? "turn.completed" : "turn.failed");
    });
  }

  it("is raised by what a person allows at the question, and then holds again", async () => {
    const asked: PermissionQuestion[] = [];
    const pagurus = await asking({ content: { dollars: 0.16 } }, asked);
    for (const count of [0, 1]) {
      assert.equal((await run(pagurus)).at(-1)?.type, "turn.completed");
      assert.equal(asked.length, count);
    }
    const [question] = asked;
    assert.equal(question?.toolName, "cost limit");
    assert.match(
      question?.summary ?? "",
      /^The cost limit of \$0\.16 for the session is reached: \$0\.15 are spent.*\nAllow \$[\d.]+ more for this session, or stop\?\n/,
    );
    assert.match(question?.accept?.label ?? "", /^Allow \$[\d.]+ more$/);
    assertCost((await pagurus.status({ cwd: bench.root })).cost, {
      session: 2 * ONE_CALL,
      day: 2 * ONE_CALL,
      limits: { session: 0.32 },
    });
    assert.equal((await run(pagurus)).at(-1)?.type, "turn.completed");
    assert.equal(asked.length, 2);
    assert.equal((await run(pagurus, { sessionKey: "other" })).at(-1)?.type, "turn.completed");
    assert.equal(asked.length, 2, "another session has its own limit");
  });

  for (const [what, answer] of [
    ["a no", "deny"],
    ["a yes without an amount", "once"],
    ["less than the next request needs", { content: { dollars: 0.000_01 } }],
  ] as const)
    it(`holds after ${what}`, async () => {
      const asked: PermissionQuestion[] = [];
      const pagurus = await asking(answer, asked);
      await run(pagurus);
      assert.equal(failure(await run(pagurus)).code, "cost_limit");
      assert.deepEqual([asked.length, bench.server.requests.length], [1, 1]);
    });

  it("fails at once where no person waits for the turn", async () => {
    const asked: PermissionQuestion[] = [];
    const pagurus = await asking({ content: { dollars: 1 } }, asked);
    await run(pagurus);
    for (const more of [{ oneShot: true }, { heartbeat: true }, { audience: "group" as const }])
      assert.equal(failure(await run(pagurus, more)).code, "cost_limit");
    assert.equal(asked.length, 0);
  });

  it("needs known prices", async () => {
    bench = await MembersBench.open();
    const pagurus = await bench.start();
    const { code, message } = failure(await run(pagurus, { maxCost: 1 }));
    assert.equal(code, "cost_limit");
    assert.match(message, /the prices of test\/model are not known/);
    assert.equal(bench.server.requests.length, 0);
    const [end] = ofType(await run(pagurus), "turn.completed");
    assert.equal(end?.cost?.turn, undefined);
  });

  it("counts the engine's model calls, which the same limit stops", async () => {
    bench = await MembersBench.open(() => ({ text: "A reply.", usage: USAGE }));
    const refused: string[] = [];
    const engine = engineOf(new Calls(), {
      assemble: async ({ messages, runtimeContext }) => {
        for (let call = 0; call < 2; call++) {
          const request = { messages: [{ role: "user" as const, content: "Sum it up." }] };
          await runtimeContext?.llm.complete(request).catch((error: unknown) => {
            refused.push((error as { code: string }).code);
          });
        }
        return { messages, estimatedTokens: 0 };
      },
    });
    const pagurus = await bench.start({ engine, model: { cost: PRICES } });
    const events = await run(pagurus, { maxCost: 0.15 });
    assert.deepEqual(refused, ["cost_limit"]);
    assert.equal(failure(events).code, "cost_limit");
    assert.equal(bench.server.requests.length, 1);
    const { cost } = await pagurus.status({ cwd: bench.root });
    assertCost(cost, { session: ONE_CALL, day: ONE_CALL });
  });
});
