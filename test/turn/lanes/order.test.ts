/** Position of the summary in the request after a compaction that a user requested. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { callsBig, filler, LaneSetting, recordingEngine, RESERVES, summaryIn } from "./setting.ts";

describe("the order of a request after /compact", () => {
  let setting: LaneSetting | undefined;
  afterEach(() => setting?.end());

  /** T1 and T2 are short; T3 is more than half of the context. The place of each in the next request. */
  async function places(
    options: Parameters<typeof LaneSetting.open>[0],
    engineId?: string,
  ): Promise<number[]> {
    setting = await LaneSetting.open(options);
    if (engineId !== undefined) {
      setting.configure(RESERVES, engineId);
      await setting.restart();
    }
    await setting.ask(`T1 ${filler(500)}`);
    await setting.ask(`T2 ${filler(500)}`);
    setting.turns.push(callsBig(1_000), { text: `T3 answered ${filler(600, "teal")}` });
    await setting.ask(`T3 ${filler(300, "opal")}`);
    await setting.compact();
    await setting.ask("T4");
    const body = setting.turnBodies().at(-1);
    assert.ok(body);
    const text = body.messages
      .flatMap(({ text: body, results }) => [body, ...results.map((result) => result.text)])
      .join("\n");
    assert.notEqual(summaryIn(body), undefined);
    return ["<conversation_summary>", "T3 opal", "cobalt", "T3 answered", "T4"].map((words) =>
      text.lastIndexOf(words),
    );
  }

  for (const [name, options, engineId] of [
    ["legacy", {}, "legacy"],
    ["an engine that delegates", { engine: recordingEngine().engine }, undefined],
    ["lossless", {}, "lossless"],
  ] as const)
    it(`${name}: the summary of older turns comes before the newest turn, whole (finding B3)`, async () => {
      const found = await places(options, engineId);
      assert.ok(
        found.every((at) => at >= 0),
        found.join(" "),
      );
      assert.deepEqual(
        found,
        found.toSorted((a, b) => a - b),
      );
    });
});
