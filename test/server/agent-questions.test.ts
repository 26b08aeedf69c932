/** Permission questions of turns that a client of the model API asked an agent for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { AgentQuestion } from "../../packages/server/src/model-api/agent-turn.ts";
import { agentTurn } from "../../packages/server/src/agent-turns.ts";

type Parts = Parameters<typeof agentTurn>[0];

/** A turn that asks one question, and ends once it is answered. */
function parts(questionSeconds: number): { parts: Parts; answers: unknown[] } {
  const answers: unknown[] = [];
  const answered = Promise.withResolvers<void>();
  const follow = async function* (): AsyncGenerator<{ type: string; data: object }> {
    yield { type: "approval.asked", data: { id: "q1", summary: "run `rm x`" } };
    await answered.promise;
    yield { type: "turn.completed", data: {} };
    yield { type: "work.ended", data: { outcome: "completed" } };
  };
  const made = {
    questionSeconds,
    events: { follow },
    approvals: {
      answer: (id: string, answer: unknown, owner: string) => {
        answers.push({ id, answer, owner });
        answered.resolve();
        return true;
      },
    },
    host: { as: () => ({ checkInput: () => Promise.resolve() }) },
    dispatcher: { post: () => Promise.resolve({ work: { id: "w1" } }), stopWork: () => Promise.resolve() },
    authorityOf: () => ({ sessions: "*", agents: "*" }),
  };
  return { parts: made as unknown as Parts, answers };
}

function asks(): Parameters<typeof agentTurn>[1] {
  return {
    owner: "t1",
    sessionKey: "s",
    agentId: "main",
    prompt: "Go.",
    parts: [],
    additionalContext: {},
    signal: new AbortController().signal,
  };
}

describe("a permission question of an agent as a model", () => {
  it("is sent to the client, and denied once its time is over", async () => {
    const { parts: made, answers } = parts(0.001);
    const events: (TurnEvent | AgentQuestion)[] = [];
    const asked = asks();
    for await (const event of agentTurn(made, asked)) events.push(event);
    const question = { type: "agent.question", id: "q1", summary: "run `rm x`", expiresInMs: 1 };
    assert.deepEqual(events, [question, { type: "turn.completed" }]);
    const answer = "unasked";
    assert.deepEqual(answers, [{ id: "q1", answer, owner: "t1" }]);
  });
});

describe("a turn of an agent as a model that ends without a result", () => {
  /** The event of a turn that another host or a person stopped. */
  const STOPPED = { type: "turn.completed", data: { stopReason: "aborted" } };

  /** A turn that writes a word; `last` is its end, if it has one. The token ends meanwhile where `ends` is set. */
  async function cut(ends: boolean, ...last: { type: string; data: object }[]): Promise<unknown> {
    const { parts: made } = parts(0.001);
    let isValid = true;
    const follow = async function* (): AsyncGenerator<{ type: string; data: object }> {
      yield { type: "text.delta", data: { delta: "Half" } };
      isValid = !ends;
      yield* last;
      yield { type: "work.ended", data: { outcome: "stopped" } };
    };
    const authorityOf = (): unknown => (isValid ? { sessions: "*", agents: "*" } : undefined);
    const texts: string[] = [];
    const turn = agentTurn({ ...made, events: { follow }, authorityOf } as unknown as Parts, asks());
    const read = async (): Promise<void> => {
      for await (const event of turn) texts.push(event.type);
    };
    const thrown = await read().then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.equal(texts[0], "text.delta");
    return thrown;
  }

  it("fails, so that half of an answer is not taken for all of it", async () => {
    for (const last of [[], [STOPPED]])
      assert.match(String(await cut(false, ...last)), /The turn was stopped before its answer was complete/);
  });

  it("names the end of its token where that stopped it", async () => {
    const failed = { type: "turn.failed", data: { error: { code: "turn_aborted", message: "Stopped." } } };
    for (const last of [[], [failed], [STOPPED]])
      assert.match(String(await cut(true, ...last)), /The token was revoked or has expired/);
  });
});
