import assert from "node:assert/strict";
import { afterEach, it } from "node:test";
import type { PluginApi } from "../../src/contract/host/plugin.ts";
import { Bench } from "./in-process.ts";

let bench: Bench | undefined;
afterEach(async () => bench?.end());

it("a turn's hooks receive its message, its answer and its end, in this order (finding C2)", async () => {
  const received: unknown[] = [];
  const plugin = (api: PluginApi): void => {
    api.on("message_received", ({ content }) => void received.push(["received", content]));
    api.on("llm_output", ({ assistantTexts }) => void received.push(["output", assistantTexts]));
    api.on("agent_end", ({ messages, success }) => void received.push(["end", messages.length, success]));
  };
  bench = await Bench.with([{ text: "Reply." }]);
  const pagurus = await bench.host({ plugin });
  await bench.ask(pagurus, "One");
  assert.deepEqual(received, [
    ["received", "One"],
    ["output", ["Reply."]],
    ["end", 2, true],
  ]);
});
