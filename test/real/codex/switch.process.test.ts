import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { CodexBench, conversation } from "./codex-bench.ts";

const CALLS = {
  embedded: { id: "e1", name: "shell", arguments: { command: "echo quay" } },
  codex: { id: "c1", name: "exec_command", arguments: { cmd: "echo berth" } },
};

describe("one session in several runtimes", () => {
  let bench: CodexBench | undefined;
  after(() => bench?.end());

  for (const slot of ["lossless", "legacy"]) {
    it(`embedded, codex, embedded, codex under ${slot}: each sees the whole conversation once`, async () => {
      let asked = 0;
      bench = await CodexBench.with((_request, index) => {
        const turn = Math.floor(index / 2);
        asked = index;
        if (index % 2 === 1) return { text: `Answer ${turn}.` };
        const call = turn % 2 === 0 ? CALLS.embedded : CALLS.codex;
        return { text: `Step ${turn}.`, toolCalls: [{ ...call, id: `${call.id}_${turn}` }] };
      });
      const pagurus = await bench.host({ slot });
      for (const [turn, runtime] of ["embedded", "codex", "embedded", "codex", "codex"].entries())
        await bench.ask(pagurus, `Question ${turn}.`, { runtime });
      assert.equal(asked, 9);
      const heads = conversation(bench.request(9)).map((line) => line.replace(/^(result \S+)[\s\S]*/, "$1"));
      const expected = [0, 1, 2, 3, 4].flatMap((turn) => {
        const { id, name } = turn % 2 === 0 && turn < 4 ? CALLS.embedded : CALLS.codex;
        const call = turn === 4 ? `${CALLS.embedded.id}_4` : `${id}_${turn}`;
        const tool = turn === 4 ? CALLS.embedded.name : name;
        const lines = [
          `user: Question ${turn}.`,
          `assistant: Step ${turn}.`,
          `call ${tool} ${call}`,
          `result ${call}`,
          `assistant: Answer ${turn}.`,
        ];
        return turn === 4 ? lines.slice(0, 4) : lines;
      });
      assert.deepEqual(heads, expected);
      await bench.end();
      bench = undefined;
    });
  }
});
