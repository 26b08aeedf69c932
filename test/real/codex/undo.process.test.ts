/** An undo of words and files after a turn that the real Codex ran. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { runCommand } from "../../../packages/host/src/command/host-command.ts";
import { beforeAnswer } from "../../turn/before-answer.ts";
import { CodexBench } from "./codex-bench.ts";

describe("an undo after a turn of Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("brings back what Codex's own tools changed, and names it to the next turn", async () => {
    bench = await CodexBench.with(async (_, index) => {
      if (index !== 0) return { text: "Done." };
      // A model takes longer than the checkpoint.
      await beforeAnswer(join(bench.root, "home"), bench.cwd);
      const cmd = "printf second > plan.txt; printf made > new.txt";
      return { toolCalls: [{ id: "call_1", name: "exec_command", arguments: { cmd } }] };
    });
    writeFileSync(join(bench.cwd, "plan.txt"), "first");
    const pagurus = await bench.host({ more: { trustFolders: true } });
    await bench.ask(pagurus, "Change the plan", { sessionKey: "main" });
    const read = (): string => readFileSync(join(bench.cwd, "plan.txt"), "utf8");
    assert.equal(read(), "second");
    const context = { pagurus, sessionKey: "main", agentId: "main", cwd: bench.cwd };
    const { text } = await runCommand("/undo", context);
    assert.match(text, /^Undone: "Change the plan"\. 2 files changed back/);
    assert.deepEqual([read(), existsSync(join(bench.cwd, "new.txt"))], ["first", false]);
    await runCommand("/redo", context);
    assert.equal(read(), "second");
    await runCommand("/undo files", context);
    await bench.ask(pagurus, "And now?", { sessionKey: "main" });
    assert.match(JSON.stringify(bench.request(-1).body), /back to an earlier state: [^"]*new\.txt/);
  });
});
