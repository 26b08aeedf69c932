/** Which engines govern the context. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { Calls, engineOf, MembersBench } from "./members-bench.ts";

describe("governsContext", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  for (const governsContext of [undefined, true, false])
    it(`${governsContext} of an engine decides who governs, whatever its id is (finding B9)`, async () => {
      bench = await MembersBench.open();
      const info = governsContext === undefined ? {} : { governsContext };
      const pagurus = await bench.start({ engine: engineOf(new Calls(), {}, info) });
      const { engine } = await pagurus.status({ cwd: bench.root });
      assert.equal(engine.governs, governsContext !== false);
    });

  it("is false of the engine legacy, as it declares (finding B9)", async () => {
    bench = await MembersBench.open();
    const { engine } = await (await bench.start()).status({ cwd: bench.root });
    assert.deepEqual([engine.effective, engine.governs], ["legacy", false]);
  });
});
