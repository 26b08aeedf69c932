/** A turn as the gateway calls it: when the engine is called, what is sent with its context, and how tokens are counted. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HarnessTurn, TurnContext } from "../../packages/contract/src/harness/harness.ts";
import {
  ServedTurn,
  type TurnProgress,
  type ServedOptions,
} from "../../packages/core/src/native/served-turn.ts";

type Asked = Parameters<TurnContext["assemble"]>[0];

const BASE = "Base instructions.";

function served(
  options: Omit<ServedOptions, "reportMs">,
  progress: Partial<TurnProgress> = {},
): { turn: ServedTurn; asked: Asked[]; usages: number[] } {
  const asked: Asked[] = [];
  const usages: number[] = [];
  const context: Partial<TurnContext> = {
    assemble: (request) => {
      asked.push(request);
      const system = `Words of a hook.\n\n${BASE}`;
      return Promise.resolve({ system, messages: [], historyCount: 0, estimatedTokens: 0 });
    },
    receipt: ({ usage }) => void usages.push(usage?.totalTokens ?? -1),
  };
  const turn = { signal: new AbortController().signal, context } as HarnessTurn;
  const reported: TurnProgress = { answers: 0, reported: () => Promise.resolve(true), ...progress };
  return { turn: new ServedTurn(turn, reported, { reportMs: 20, ...options }), asked, usages };
}

describe("a turn that a program runs and the gateway serves", () => {
  it("adds what the program's system prompt lacks", async () => {
    const { systemPromptAddition: around } = await served({ instructions: BASE }).turn.turn.assemble();
    assert.equal(around, "Words of a hook.");
    const { systemPromptAddition: all } = await served({ addedTokens: 5 }).turn.turn.assemble();
    assert.equal(all, `Words of a hook.\n\n${BASE}`);
  });

  it("counts base instructions that are sent with the context as the program's own", async () => {
    const { turn, asked } = served({ addedTokens: 5 });
    await turn.turn.assemble({ fixedTokens: 100, overflow: { message: "too long" } });
    await turn.turn.assemble();
    const holding = served({ instructions: BASE });
    await holding.turn.turn.assemble({ fixedTokens: 100 });
    assert.deepEqual(
      [...asked, ...holding.asked],
      [{ fixedTokens: 105, overflow: { message: "too long" } }, undefined, { fixedTokens: 100 }],
    );
  });

  it("calls the engine after the program's reports are written", async () => {
    const order: string[] = [];
    const { turn, asked } = served(
      { instructions: BASE },
      {
        reported: async (answers, ms) => {
          order.push(`reported ${answers} ${ms}`);
          return true;
        },
        written: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          order.push(`written, ${asked.length} asked`);
        },
      },
    );
    turn.turn.receipt({ usage: { input: 0, output: 0, totalTokens: 0 } });
    turn.turn.receipt({ usage: { input: 1, output: 1, totalTokens: 2 } });
    await turn.turn.assemble();
    assert.deepEqual(order, ["reported 1 20", "written, 0 asked"]);
    assert.equal(asked.length, 1);
  });

  it("ignores a usage of zero", () => {
    const { turn, usages } = served({ instructions: BASE });
    turn.turn.receipt({ usage: { input: 0, output: 0, totalTokens: 0 } });
    turn.turn.receipt({ usage: { input: 1, output: 1, totalTokens: 2 } });
    assert.deepEqual(usages, [2]);
  });
});
