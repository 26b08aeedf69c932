/** An editor's session in the runtime `codex`: Codex's own actions are shown, and need permission, like our own tools. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, it } from "node:test";
import { methods } from "@agentclientprotocol/sdk";
import { Editor } from "../../acp-server/acp-bench.ts";
import { CodexBench } from "../codex/codex-bench.ts";

let bench: CodexBench;
let editor: Editor;
afterEach(async () => {
  await editor.leave();
  await bench.end();
});

it("a session moves to Codex, whose commands need permission under their own calls, and back", async () => {
  const run = (id: string, cmd: string) => ({
    toolCalls: [{ id, name: "exec_command", arguments: { cmd } }],
  });
  bench = await CodexBench.with((_request, index) => {
    if (index === 0) return { text: "From our own loop." };
    if (index === 1) return run("c1", "touch allowed.txt");
    if (index === 2) return run("c2", "touch denied.txt");
    return { text: "From Codex." };
  });
  editor = await Editor.on(bench, {
    opening: (askPermission) => bench.host({ runtime: "embedded", more: { askPermission } }),
  });
  editor.answer = ({ toolCall }) => ({
    outcome: { outcome: "selected", optionId: toolCall.title?.includes("denied") ? "deny" : "once" },
  });
  const sessionId = await editor.session(bench.cwd);
  const set = (configId: string, value: string) =>
    editor.agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value });
  await editor.prompt(sessionId, "Begin here.");
  await set("mode", "ask");
  await set("runtime", "codex");
  const { stopReason } = await editor.prompt(sessionId, "Go on there.");
  assert.equal(stopReason, "end_turn");
  assert.ok(existsSync(join(bench.cwd, "allowed.txt")));
  assert.ok(!existsSync(join(bench.cwd, "denied.txt")));
  const calls = editor.of("tool_call");
  assert.deepEqual(
    calls.map(({ title, kind }) => [title, kind]),
    [
      ["touch allowed.txt", "execute"],
      ["touch denied.txt", "execute"],
    ],
  );
  assert.deepEqual(
    editor.asked.map(({ toolCall }) => toolCall.toolCallId),
    calls.map(({ toolCallId }) => toolCallId),
  );
  assert.match(editor.textOf("agent_message_chunk"), /From our own loop\..*From Codex\./);
  const there = bench.server.requests[1]?.text ?? "";
  assert.equal(there.split("Begin here.").length - 1, 1, "Codex receives the earlier messages once");
  await set("runtime", "default");
  await editor.prompt(sessionId, "And back.");
  const back = bench.server.requests.at(-1)?.text ?? "";
  for (const words of ["Begin here.", "Go on there.", "touch allowed.txt"])
    assert.ok(back.includes(words), `our own loop receives: ${words}`);
});
