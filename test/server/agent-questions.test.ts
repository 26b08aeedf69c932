/** Permission questions of turns that a client of the model API asked an agent for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TurnEvent } from "../../src/contract/host/events.ts";
import type { AgentQuestion } from "../../src/model-api/agent-turn.ts";
import { agentTurn } from "../../src/server/agent-turns.ts";

type Parts = Parameters<typeof agentTurn>[0];

/** A turn that asks one question, and ends once it is answered. */
function parts(questionMs: number): { parts: Parts; answers: unknown[] } {
  const answers: unknown[] = [];
  const answered = Promise.withResolvers<void>();
  const follow = async function* (): AsyncGenerator<{ type: string; data: object }> {
    yield { type: "approval.asked", data: { id: "q1", summary: "run `rm x`" } };
    await answered.promise;
    yield { type: "work.ended", data: { outcome: "completed" } };
  };
  const made = {
    questionMs,
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

describe("a permission question of an agent as a model", () => {
  it("is sent to the client, and denied once its time is over", async () => {
    const { parts: made, answers } = parts(1);
    const events: (TurnEvent | AgentQuestion)[] = [];
    const asked = {
      owner: "t1",
      sessionKey: "s",
      agentId: "main",
      prompt: "Go.",
      parts: [],
      additionalContext: {},
      signal: new AbortController().signal,
    };
    for await (const event of agentTurn(made, asked)) events.push(event);
    assert.deepEqual(events, [{ type: "agent.question", id: "q1", summary: "run `rm x`", expiresInMs: 1 }]);
    const answer = { deny: "The permission question was not answered in time." };
    assert.deepEqual(answers, [{ id: "q1", answer, owner: "t1" }]);
  });
});
