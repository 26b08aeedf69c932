/** Input that joins a turn on Codex: when Codex is given it, and that the model answers it. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { HarnessTurn, SteeringMessage } from "../../../src/contract/harness.ts";
import type { ToolOutcome } from "../../../src/contract/tool.ts";
import { WireBench, type PlayedTurn } from "./wire-bench.ts";

const STEER: SteeringMessage = {
  role: "user",
  content: [{ type: "text", text: "Faster." }],
  additionalContext: null,
};
const COMPLETED = { status: "completed" };

/** Input for one turn, which comes when the test says so. */
function mailbox(): Pick<HarnessTurn, "takeInputs" | "inputArrives"> & { come: () => void } {
  const waiting: SteeringMessage[] = [];
  let wake = (): void => undefined;
  return {
    come: () => {
      waiting.push(STEER);
      wake();
    },
    takeInputs: async () => {
      // Hooks may look at it first.
      await new Promise((resolve) => setTimeout(resolve, 20));
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
  while (codex.of("turn/steer").length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
};

describe("input that joins a turn on Codex", () => {
  let bench: WireBench;
  beforeEach(() => {
    bench = new WireBench();
  });
  afterEach(() => bench.remove());

  it("is given to Codex before the result of the tool that ran when it came, also behind other input", async () => {
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
    await bench.run({ more: { ...inputs, tools } });
    assert.equal(before, 2);
  });

  async function steered(tell: (thread: string, turnId: string) => void): Promise<PlayedTurn> {
    const { come, ...inputs } = mailbox();
    bench.codex.during = async (thread, turnId) => {
      bench.codex.tell(thread, "item/started", { turnId, ...item("userMessage") });
      if (bench.codex.of("turn/start").length > 1) return COMPLETED;
      come();
      await untilGiven(bench);
      tell(thread, turnId);
      return COMPLETED;
    };
    return bench.run({ more: inputs });
  }

  it("that Codex has only written down, as its turn ended, is answered in one more, without being said again", async () => {
    await steered((thread, turnId) => {
      bench.codex.tell(thread, "item/started", { turnId, ...item("agentMessage") });
      bench.codex.tell(thread, "item/started", { turnId, ...item("userMessage") });
    });
    const starts = bench.codex.of("turn/start").map(({ input }) => input);
    assert.equal(starts.length, 2);
    assert.deepEqual(starts[1], []);
    assert.equal(bench.codex.of("turn/steer").length, 1);
  });

  it("that the model has answered begins no further turn, and what streamed before the answer stands before it", async () => {
    const { events } = await steered((thread, turnId) => {
      const tell = (method: string, params: object): void =>
        bench.codex.tell(thread, method, { turnId, ...params });
      tell("item/agentMessage/delta", { itemId: "m1", delta: "It is noted." });
      tell("item/started", item("userMessage"));
      tell("item/started", item("agentMessage"));
      const content = [{ type: "output_text", text: "Faster, then." }];
      tell("rawResponseItem/completed", { item: { type: "message", role: "assistant", id: "m2", content } });
      tell("rawResponse/completed", {});
    });
    assert.equal(bench.codex.of("turn/start").length, 1);
    const said = events.flatMap((event) => (event.type === "message" ? [event.message.content] : []));
    assert.deepEqual(said, [
      [{ type: "text", text: "It is noted." }],
      [{ type: "text", text: "Faster, then." }],
    ]);
  });
});
