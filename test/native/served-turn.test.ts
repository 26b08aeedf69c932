/** A turn as the gateway asks it: when the engine is asked, what is said with its context, and what takes room. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HarnessTurn } from "../../src/contract/harness.ts";
import { ServedTurn, type Heard, type ServedOptions } from "../../src/native/served-turn.ts";

type Asked = Parameters<HarnessTurn["assemble"]>[0];

const BASE = "Base instructions.";

function served(
  options: Omit<ServedOptions, "heardMs">,
  told: Partial<Heard> = {},
): { turn: ServedTurn; asked: Asked[]; usages: number[] } {
  const asked: Asked[] = [];
  const usages: number[] = [];
  const turn: Partial<HarnessTurn> = {
    signal: new AbortController().signal,
    assemble: (request) => {
      asked.push(request);
      const system = `Words of a hook.\n\n${BASE}`;
      return Promise.resolve({ system, messages: [], historyCount: 0, estimatedTokens: 0 });
    },
    receipt: ({ usage }) => void usages.push(usage?.totalTokens ?? -1),
  };
  const heard: Heard = { answers: 0, heard: () => Promise.resolve(true), ...told };
  return { turn: new ServedTurn(turn as HarnessTurn, heard, { heardMs: 20, ...options }), asked, usages };
}

describe("a turn that a program runs and the gateway asks", () => {
  it("says what the program's system prompt lacks", async () => {
    const { systemPromptAddition: around } = await served({ instructions: BASE }).turn.turn.assemble();
    assert.equal(around, "Words of a hook.");
    const { systemPromptAddition: all } = await served({ saidTokens: 5 }).turn.turn.assemble();
    assert.equal(all, `Words of a hook.\n\n${BASE}`);
  });

  it("counts base instructions that are said with the context as the program's own", async () => {
    const { turn, asked } = served({ saidTokens: 5 });
    await turn.turn.assemble({ fixedTokens: 100, overflow: { message: "too long" } });
    await turn.turn.assemble();
    const holding = served({ instructions: BASE });
    await holding.turn.turn.assemble({ fixedTokens: 100 });
    assert.deepEqual(
      [...asked, ...holding.asked],
      [{ fixedTokens: 105, overflow: { message: "too long" } }, undefined, { fixedTokens: 100 }],
    );
  });

  it("has the engine asked when what the program told is written down", async () => {
    const order: string[] = [];
    const { turn, asked } = served(
      { instructions: BASE },
      {
        heard: async (answers, ms) => {
          order.push(`heard ${answers} ${ms}`);
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
    assert.deepEqual(order, ["heard 1 20", "written, 0 asked"]);
    assert.equal(asked.length, 1);
  });

  it("leaves out a count of nothing", () => {
    const { turn, usages } = served({ instructions: BASE });
    turn.turn.receipt({ usage: { input: 0, output: 0, totalTokens: 0 } });
    turn.turn.receipt({ usage: { input: 1, output: 1, totalTokens: 2 } });
    assert.deepEqual(usages, [2]);
  });
});
