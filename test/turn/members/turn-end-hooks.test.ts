import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { eventsOf } from "../in-process.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { calls, failure, MembersBench } from "./members-bench.ts";

const TASK = "Count the lamps.";

describe("hooks after a call, a child and a turn", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  it("tool_result_persist changes the result that is recorded and that the model sees", async () => {
    bench = await MembersBench.open([calls("shell", { command: "echo secret" }), { text: "Done." }]);
    const seen: string[] = [];
    const pagurus = await bench.start({
      plugin: (api) => {
        api.on("tool_result_persist", ({ toolName, outcome }) => {
          const text = outcome.content.map((part) => (part.type === "text" ? part.text.trim() : "")).join("");
          seen.push(`${toolName}: ${text}`);
          return { outcome: { content: [{ type: "text", text: "[removed]" }], isError: false } };
        });
        // Sees what the handler before it made, and changes nothing.
        api.on("tool_result_persist", ({ outcome }) => void seen.push(JSON.stringify(outcome.content)));
      },
    });
    await bench.ask(pagurus, "One");
    assert.match(seen[0] ?? "", /^shell: secret/);
    assert.equal(seen[1], '[{"type":"text","text":"[removed]"}]');
    const results = bench.body(1).messages.flatMap((message) => message.results.map(({ text }) => text));
    assert.deepEqual(results, ["[removed]"]);
    assert.ok(!JSON.stringify(bench.entries(pagurus)).includes('"text":"secret'));
  });

  it("subagent_spawned and subagent_ended name the child, its parent and its outcome", async () => {
    bench = await MembersBench.open(({ text }: RecordedRequest, index) => {
      if (index === 0) return calls("spawn_agent", { task: TASK });
      return { text: text.includes("subagent_result") ? "Nine." : "Nine lamps." };
    });
    const seen: unknown[] = [];
    const pagurus = await bench.start({
      plugin: (api) => {
        api.on("subagent_spawned", (payload) => void seen.push({ ...payload }));
        api.on("subagent_ended", (payload) => void seen.push({ ...payload }));
      },
    });
    await bench.ask(pagurus, "One");
    assert.deepEqual(seen, [
      { childSessionKey: "main/sub-1", parentSessionKey: "main" },
      { childSessionKey: "main/sub-1", reason: "completed", outcome: "completed" },
    ]);
  });

  it("agent_end reports the error of a turn that failed", async () => {
    bench = await MembersBench.open([{ status: 400 }]);
    const seen: { success: boolean; error: string | undefined; roles: string[] }[] = [];
    const pagurus = await bench.start({
      plugin: (api) =>
        api.on("agent_end", ({ success, error, messages }) => {
          seen.push({ success, error, roles: messages.map(({ role }) => role) });
        }),
    });
    const { message } = failure(await eventsOf(pagurus.run({ prompt: "One", cwd: bench.root })));
    assert.deepEqual(seen, [{ success: false, error: message, roles: ["user"] }]);
  });
});
