import assert from "node:assert/strict";
import { afterEach, it } from "node:test";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import { Bench } from "./in-process.ts";
import { calls } from "./members/members-bench.ts";

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

it("toolsAllow of before_prompt_build leaves only the tools that every answer names to the turn", async () => {
  const asked: string[] = [];
  const plugin = (api: PluginApi): void => {
    api.on("before_prompt_build", ({ prompt }) =>
      prompt === "Narrow" ? { toolsAllow: ["glob", "read"] } : {},
    );
    api.on("before_prompt_build", ({ prompt }) =>
      prompt === "Narrow" ? { toolsAllow: ["read", "shell"] } : {},
    );
    api.on("before_tool_call", ({ toolName }) => void asked.push(toolName));
  };
  bench = await Bench.with([
    { text: "Wide." },
    calls("glob", { pattern: "*" }),
    { text: "Done." },
    calls("glob", { pattern: "*" }),
    { text: "Done." },
  ]);
  const pagurus = await bench.host({ plugin });
  await bench.ask(pagurus, "Wide");
  const events = await bench.ask(pagurus, "Narrow");
  await bench.ask(pagurus, "Wide again");
  const tools = [0, 1, 2, 3].map((index) => bench?.body(index).tools.length);
  assert.ok(Number(tools[0]) > 5, String(tools));
  assert.deepEqual(tools, [tools[0], 1, 1, tools[0]]);
  assert.match(JSON.stringify(events), /leaves only other tools to this turn, so glob was not run/);
  assert.deepEqual(asked, ["glob"], "the refused call reaches no hook");
});

it("an answer whose toolsAllow is no list leaves no tool, and is reported", async () => {
  const plugin = (api: PluginApi): void => {
    api.on("before_prompt_build", () => ({ toolsAllow: "read" as unknown as string[] }));
  };
  bench = await Bench.with([{ text: "Done." }]);
  const events = await bench.ask(await bench.host({ plugin }), "One");
  assert.deepEqual(bench.body(0).tools, []);
  assert.match(JSON.stringify(events), /toolsAllow of the plugin \w+ is no list, so no tool is left/);
});
