/** A turn that continues after, or on another thread than, its first native turn: its work is kept, once. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import { CodexBench, conversation, developerTexts } from "./codex-bench.ts";

function times(lines: readonly string[], line: string): number {
  return lines.filter((each) => each.startsWith(line)).length;
}

describe("a turn on Codex that continues", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("with steering that came too late for the native turn has all earlier messages, once", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index} takes its time.` }));
    const pagurus = await bench.host();
    const run = pagurus.run({ prompt: "Begin.", cwd: bench.cwd });
    let last: TurnEvent | undefined;
    let isSteered = false;
    for await (const event of run) {
      if (event.type === "usage" && !isSteered) {
        isSteered = true;
        run.steer("Late.");
      }
      last = event;
    }
    assert.equal(last?.type, "turn.completed", JSON.stringify(last));
    const lines = ["user: Begin.", "assistant: Answer 0 takes its time.", "user: Late."];
    assert.deepEqual(conversation(bench.request(-1)), lines);
    await bench.ask(pagurus, "And now?");
    const shown = conversation(bench.request(-1));
    for (const line of [...lines, "assistant: Answer 1", "user: And now?"])
      assert.equal(times(shown, line), 1, line);
  });

  for (const seam of ["thread", "projection"] as const)
    it(`after an overflow following a tool call does not make the call again (${seam})`, async () => {
      const call = { id: "call_x", name: "exec_command", arguments: { cmd: "echo once" } };
      let begun = false;
      const steps = [{ toolCalls: [call] }, contextOverflowReply("openai-responses")];
      bench = await CodexBench.with((_request, index) => {
        if (!begun) return { text: "A long answer. ".repeat(400) };
        return steps.shift() ?? { text: `Reply ${index}.` };
      });
      const pagurus = await bench.host({ contextWindow: 60_000, seam });
      for (let index = 0; index < 4; index += 1)
        await bench.ask(pagurus, `Question ${index}? ${"word ".repeat(300)}`);
      begun = true;
      await bench.ask(pagurus, "Do it once.");
      const shown = conversation(bench.request(-1));
      assert.equal(times(shown, "call exec_command call_x"), 1, shown.join("\n"));
      assert.equal(times(shown, "result call_x"), 1);
      assert.equal(shown.join("\n").split("Do it once.").length, 2);
    });

  it("with a subagent's result continues when its thread was abandoned or archived meanwhile", async () => {
    for (const how of ["steered", "put away"]) {
      const childGo = Promise.withResolvers<void>();
      let parent = 0;
      bench = await CodexBench.with(async (request) => {
        const lines = conversation(request);
        if (lines.some((line) => line.includes("OTHER"))) return { text: "Other." };
        if (lines[0]?.includes("CHILD-TASK") === true) {
          await childGo.promise;
          return { text: "Child is done." };
        }
        const index = parent++;
        return index === 0
          ? { toolCalls: [{ id: "spawn", name: "spawn_agent", arguments: { task: "CHILD-TASK" } }] }
          : { text: `Parent ${index} takes its time to say it.`, delayMs: index === 1 ? 30 : 0 };
      });
      const pagurus = await bench.host();
      const run = pagurus.run({ prompt: "Begin.", cwd: bench.cwd });
      let isSteered = how !== "steered";
      let last: TurnEvent | undefined;
      let quiet: NodeJS.Timeout | undefined;
      let isDone = false;
      const meanwhile = async (): Promise<void> => {
        isDone = true;
        if (how === "put away")
          for (let other = 0; other < 18; other += 1)
            await bench.ask(pagurus, "OTHER?", { sessionKey: `other-${other}` });
        childGo.resolve();
      };
      for await (const event of run) {
        if (event.type === "text.delta" && !isSteered) {
          isSteered = true;
          run.steer("Hurry.");
        }
        last = event;
        if (event.type !== "usage" || isDone) continue;
        clearTimeout(quiet);
        // Until no more events come.
        quiet = setTimeout(() => void meanwhile(), 700);
      }
      assert.equal(last?.type, "turn.completed", JSON.stringify(last));
      const shown = conversation(bench.request(-1));
      for (const line of [
        "user: Begin.",
        "call spawn_agent",
        "assistant: Parent 1",
        "user: <subagent_result",
      ])
        assert.equal(times(shown, line), 1, `${how}: ${line}\n${shown.join("\n")}`);
      if (how === "steered") await bench.end();
    }
  });

  it("whose resumed thread has lost its file reports it and continues in a new one", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const first = await bench.host();
    await bench.ask(first, "First?");
    await first.close();
    const pagurus = await bench.host();
    await bench.ask(pagurus, "Second?");
    rmSync(join(bench.root, "codex", "sessions"), { recursive: true });
    const events = await bench.ask(pagurus, "Third?");
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "codex_thread"));
    assert.deepEqual(conversation(bench.request(-1)), [
      "user: First?",
      "assistant: Answer 0.",
      "user: Second?",
      "assistant: Answer 1.",
      "user: Third?",
    ]);
  });

  it("applies the permission mode of each turn to its commands, on one thread", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const config = structuredClone(bench.config()) as {
      plugins: { entries: { codex: { config: { sandbox: string } } } };
    };
    config.plugins.entries.codex.config.sandbox = "workspace-write";
    const pagurus = await bench.host({ more: { config } });
    const modes = ["auto", "read-only", "read-only", "auto"] as const;
    for (const permission of modes) await bench.ask(pagurus, "And now?", { permission });
    const sandboxes = developerTexts(bench.request(-1)).flatMap((text) =>
      [...text.matchAll(/`sandbox_mode` is `([a-z-]+)`/g)].map(([, mode]) => mode),
    );
    assert.deepEqual(sandboxes, ["workspace-write", "read-only", "workspace-write"]);
    assert.equal(new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"])).size, 1);
  });

  it("is refused in one sentence where the input is longer than Codex accepts", async () => {
    bench = await CodexBench.with(() => ({ text: "Fine." }));
    const pagurus = await bench.host();
    let last: TurnEvent | undefined;
    for await (const event of pagurus.run({ prompt: "x".repeat(1_100_000), cwd: bench.cwd })) last = event;
    assert.ok(last?.type === "turn.failed", JSON.stringify(last));
    assert.equal(last.error.code, "live_turn_too_large");
    assert.match(
      last.error.message,
      /^The input has 1100000 characters and Codex accepts 1048576; shorten it/,
    );
    assert.equal(bench.server.requests.length, 0);
  });
});
