/** An engine's own entries in the log of a session: `remember`, and `ofEngine` of the transcript. */
import assert from "node:assert/strict";
import { afterEach, it } from "node:test";
import type { RuntimeContext } from "../../../packages/contract/src/engine/runtime-context.ts";
import { Calls, engineOf, MembersBench } from "./members-bench.ts";

let bench: MembersBench | undefined;
afterEach(async () => {
  await bench?.end();
  bench = undefined;
});

async function dataOf({ transcript }: RuntimeContext, engineId: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const entry of transcript.ofEngine?.(engineId) ?? [])
    if (entry.type === "custom") found.push(entry.data);
  return found;
}

it("an engine finds what it remembers in a later process, newest first, and no model sees it", async () => {
  const at = (bench = await MembersBench.open());
  const seen: unknown[][] = [];
  const ids: (string | undefined)[] = [];
  const engine = engineOf(new Calls(), {
    assemble: async ({ messages, runtimeContext }) => {
      if (runtimeContext)
        seen.push(await dataOf(runtimeContext, "mine"), await dataOf(runtimeContext, "another"));
      return { messages, estimatedTokens: 0 };
    },
    afterTurn: async ({ messages, runtimeContext }) => {
      ids.push(runtimeContext?.remember?.({ remembered: messages.length }));
    },
  });
  for (const prompt of ["One", "Two", "Three"]) {
    const pagurus = await at.start({ engine });
    await at.ask(pagurus, prompt);
    await pagurus.close();
  }
  const [two, four] = [{ remembered: 2 }, { remembered: 4 }];
  assert.deepEqual(seen, [[], [], [two], [], [four, two], []]);
  assert.equal(new Set(ids).size, 3);
  assert.ok(ids.every((id) => typeof id === "string"));
  for (const index of [0, 1, 2]) assert.doesNotMatch(JSON.stringify(at.body(index)), /remembered/);
});
