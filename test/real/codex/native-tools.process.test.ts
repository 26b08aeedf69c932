/** The host decides on calls of Codex's own tools, and of agents that Codex starts itself. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { crc32, deflateSync } from "node:zlib";
import type { PluginRegister } from "../../../packages/contract/src/host/plugin.ts";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

describe("an agent that Codex starts itself", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("runs its commands where the host's hooks allow it, and its parent continues with its answer", async () => {
    let own = 0;
    bench = await CodexBench.with(({ body }, index) => {
      const sent = JSON.stringify(body["input"]);
      if (!sent.includes("Begin.")) {
        own += 1;
        const commands = ["touch allowed.txt", "touch forbidden.txt"];
        const cmd = commands[own - 1];
        return cmd === undefined
          ? { text: "The child is done." }
          : { toolCalls: [{ id: `child_${own}`, name: "exec_command", arguments: { cmd } }] };
      }
      if (index === 0)
        return {
          toolCalls: [
            {
              id: "spawn",
              namespace: "multi_agent_v1",
              name: "spawn_agent",
              arguments: { message: "child task" },
            },
          ],
        };
      const agent = /agent_id\\*":\\*"([0-9a-f-]{36})/.exec(sent)?.[1];
      if (!/wait_1/.test(sent))
        return {
          toolCalls: [
            {
              id: "wait_1",
              namespace: "multi_agent_v1",
              name: "wait_agent",
              arguments: { targets: [agent], timeout_ms: 10_000 },
            },
          ],
        };
      return { text: "All is done." };
    });
    const asked: string[] = [];
    const watch: PluginRegister = (api) =>
      api.on("before_tool_call", ({ params }) => {
        const command = String(params["command"]);
        asked.push(command);
        return command.includes("forbidden") ? { block: true, blockReason: "not this" } : undefined;
      });
    const pagurus = await bench.host({ more: { plugins: { watch } } });
    await bench.ask(pagurus, "Begin.");
    assert.deepEqual(asked, ["touch allowed.txt", "touch forbidden.txt"]);
    assert.ok(existsSync(join(bench.cwd, "allowed.txt")));
    assert.ok(!existsSync(join(bench.cwd, "forbidden.txt")));
    assert.match(conversation(bench.request(-1)).join("\n"), /The child is done\./);
  });
});

describe("Codex's own tools", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("ask the host before each command and each file change, harmless ones too; a rule or a hook refuses", async () => {
    const patch = (name: string): string => `*** Begin Patch\n*** Add File: ${name}\n+harbour\n*** End Patch`;
    const commands = ["ls", "cat secret.txt", `apply_patch <<'EOP'\n${patch("kept.txt")}\nEOP`, "pwd"];
    bench = await CodexBench.with((_request, index) => {
      const cmd = commands[index];
      return cmd === undefined
        ? { text: "Done." }
        : { toolCalls: [{ id: `call_${index}`, name: "exec_command", arguments: { cmd } }] };
    });
    const asked: string[] = [];
    const watch: PluginRegister = (api) =>
      api.on("before_tool_call", ({ toolName, params }) => {
        asked.push(`${toolName} ${String(params["command"] ?? params["path"])}`);
        if (String(params["command"]).includes("secret")) return { block: true, blockReason: "a secret" };
        return params["command"] === "pwd" ? { params: { command: "ls" } } : undefined;
      });
    const pagurus = await bench.host({ more: { plugins: { watch } } });
    await bench.ask(pagurus, "Begin.");
    assert.deepEqual(asked, [
      "shell ls",
      "shell cat secret.txt",
      `write ${join(bench.cwd, "kept.txt")}`,
      "shell pwd",
    ]);
    const results = conversation(bench.request(-1)).filter((line) => line.startsWith("result"));
    assert.match(results[1] ?? "", /rejected/);
    assert.ok(existsSync(join(bench.cwd, "kept.txt")));
    // Codex runs a command unchanged or not at all.
    assert.match(results[3] ?? "", /rejected/);
  });

  it("ask for the target of a moved file as well", async () => {
    const patch =
      "*** Begin Patch\n*** Update File: a.txt\n*** Move to: secret/a.txt\n@@\n-one\n+two\n*** End Patch";
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? {
            toolCalls: [
              { id: "call", name: "exec_command", arguments: { cmd: `apply_patch <<'EOP'\n${patch}\nEOP` } },
            ],
          }
        : { text: "Done." },
    );
    writeFileSync(join(bench.cwd, "a.txt"), "one\n");
    mkdirSync(join(bench.cwd, "secret"));
    const watch: PluginRegister = (api) =>
      api.on("before_tool_call", ({ params }) =>
        String(params["path"]).includes("secret") ? { block: true, blockReason: "a secret" } : undefined,
      );
    const pagurus = await bench.host({ more: { plugins: { watch } } });
    await bench.ask(pagurus, "Begin.");
    assert.ok(!existsSync(join(bench.cwd, "secret/a.txt")));
    assert.ok(existsSync(join(bench.cwd, "a.txt")));
  });
});

/** A grey picture of a single tone; Codex shrinks one of more than some thousand pixels. */
function picture(width: number, height: number): string {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  const pixels = deflateSync(Buffer.alloc((width + 1) * height));
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  const chunks = [chunk("IHDR", head), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]).toString("base64");
}

describe("tools of the host", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("show the model their images, and the transcript has the originals, also of those that Codex shrank", async () => {
    bench = await CodexBench.with((_request, index) =>
      index % 2 === 0
        ? { toolCalls: [{ id: `call_${index}`, name: "look", arguments: {} }] }
        : { text: "Done." },
    );
    const outcome: ToolOutcome = {
      content: [
        { type: "text", text: "two pictures" },
        { type: "image", data: picture(4_000, 3_000), mimeType: "image/png" },
        { type: "image", data: picture(4, 3), mimeType: "image/png" },
      ],
      isError: false,
    };
    const look: PluginRegister = (api) =>
      api.registerTool({
        name: "look",
        description: "Looks.",
        parameters: { type: "object", properties: {} },
        execute: () => Promise.resolve(outcome),
      });
    const pagurus = await bench.host({ more: { plugins: { look } } });
    // The second turn continues the thread.
    for (const prompt of ["Begin.", "Again."]) {
      const events = await bench.ask(pagurus, prompt);
      const results = events.flatMap((event) =>
        event.type === "message" && event.message.role === "toolResult" ? [event.message.content] : [],
      );
      assert.deepEqual(results, [outcome.content]);
      const outcomes = events.flatMap((event) => (event.type === "tool.completed" ? [event.outcome] : []));
      assert.deepEqual(outcomes, [outcome]);
    }
    const input = bench.request(-1).body["input"] as { type: string; output?: { type: string }[] }[];
    const shown = input.filter(({ type }) => type === "function_call_output").map(({ output }) => output);
    const types = ["input_text", "input_image", "input_image"];
    assert.deepEqual(
      shown.map((parts) => parts?.map(({ type }) => type)),
      [types, types],
    );
  });
});
