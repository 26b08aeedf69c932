/** Input that joins a turn on Codex: when Codex gets it, and that the model answers it. */
import { setImmediate as turnOfLoop } from "node:timers/promises";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { HarnessTurn, SteeringMessage, TurnIo } from "../../../packages/contract/src/harness/harness.ts";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import { WireBench, type PlayedTurn } from "./wire-bench.ts";
import { until } from "../../runner/until.ts";

const STEER: SteeringMessage = {
  role: "user",
  content: [{ type: "text", text: "Faster." }],
  additionalContext: null,
};
const COMPLETED = { status: "completed" };

/** Input for one turn, which arrives when the test triggers it. */
function mailbox(): Pick<TurnIo, "takeInputs" | "inputArrives"> & { come: () => void } {
  const waiting: SteeringMessage[] = [];
  let wake = (): void => undefined;
  return {
    come: () => {
      waiting.push(STEER);
      wake();
    },
    takeInputs: async () => {
      // Hooks may look at it first.
      await turnOfLoop();
      return waiting.splice(0);
    },
    inputArrives: () =>
      waiting.length > 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            wake = resolve;
          }),
  };
}

const item = (type: string): object => ({ item: { type, id: type } });
const untilGiven = async ({ codex }: WireBench): Promise<void> => {
  await until(() => codex.of("turn/steer").length !== 0);
};

describe("input that joins a turn on Codex", () => {
  let bench: WireBench;
  beforeEach(() => {
    bench = new WireBench();
  });
  afterEach(() => bench.remove());

  it("is sent to Codex before the result of the tool that ran when it arrived, also after other input", async () => {
    const { come, ...inputs } = mailbox();
    const outcome: ToolOutcome = { content: [{ type: "text", text: "noted" }], isError: false };
    const call = async (): Promise<ToolOutcome> => {
      come();
      await untilGiven(bench);
      come();
      return outcome;
    };
    let before: number | undefined;
    bench.codex.during = async (thread) => {
      await bench.codex.ask(thread, "item/tool/call", { callId: "c", tool: "note", arguments: {} });
      before = bench.codex.of("turn/steer").length;
      return COMPLETED;
    };
    const tools = { specs: [], fingerprint: "tools", call } as unknown as HarnessTurn["tools"];
    await bench.run({ io: inputs, more: { tools } });
    assert.equal(before, 2);
  });

  async function steered(notify: (thread: string, turnId: string) => void): Promise<PlayedTurn> {
    const { come, ...inputs } = mailbox();
    bench.codex.during = async (thread, turnId) => {
      bench.codex.notify(thread, "item/started", { turnId, ...item("userMessage") });
      if (bench.codex.of("turn/start").length > 1) return COMPLETED;
      come();
      await untilGiven(bench);
      notify(thread, turnId);
      return COMPLETED;
    };
    return bench.run({ io: inputs });
  }

  it("that Codex has only recorded, as its turn ended, is answered in one more, without being sent again", async () => {
    await steered((thread, turnId) => {
      bench.codex.notify(thread, "item/started", { turnId, ...item("agentMessage") });
      bench.codex.notify(thread, "item/started", { turnId, ...item("userMessage") });
    });
    const starts = bench.codex.of("turn/start").map(({ input }) => input);
    assert.equal(starts.length, 2);
    assert.deepEqual(starts[1], []);
    assert.equal(bench.codex.of("turn/steer").length, 1);
  });

  it("that the model has answered begins no further turn, and text streamed before the answer precedes it", async () => {
    const { events } = await steered((thread, turnId) => {
      const notify = (method: string, params: object): void =>
        bench.codex.notify(thread, method, { turnId, ...params });
      notify("item/agentMessage/delta", { itemId: "m1", delta: "It is noted." });
      notify("item/started", item("userMessage"));
      notify("item/started", item("agentMessage"));
      const content = [{ type: "output_text", text: "Faster, then." }];
      notify("rawResponseItem/completed", {
        item: { type: "message", role: "assistant", id: "m2", content },
      });
      notify("rawResponse/completed", {});
    });
    assert.equal(bench.codex.of("turn/start").length, 1);
    const contents = events.flatMap((event) => (event.type === "message" ? [event.message.content] : []));
    assert.deepEqual(contents, [
      [{ type: "text", text: "It is noted." }],
      [{ type: "text", text: "Faster, then." }],
    ]);
  });
});
