/** A command-line agent of a few lines, as a runtime of the family `cli`: its program answers with the prompt's last word. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import { HARNESS_CONTRACT } from "../../../packages/contract/src/version.ts";
import { startWith } from "../start-with.ts";

const SCRIPT = "console.log('You said ' + process.argv.at(-1).split(' ').at(-1))";

/** `started` counts the processes. A generic CLI backend cannot have its prompt assembled. */
export function scriptedCli(started: { count: number }): AgentHarness {
  return {
    id: "scripted-cli",
    label: "Scripted command line",
    contract: HARNESS_CONTRACT,
    family: "cli",
    execution: { kind: "child-process", detail: "node -e" },
    seam: "projection",
    capabilities: ["bootstrap", "after-turn", "maintain"],
    supports: ({ provider }) =>
      provider === "anthropic"
        ? { supported: true, login: "own" }
        : { supported: false, reason: "It runs models of anthropic." },
    // A mistake of an author: a CLI backend's claims are never read.
    claims: () => ({ claims: true }),
    start: startWith(async (turn) => {
      started.count += 1;
      const prompt = turn.input.content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
      const { stdout } = await promisify(execFile)(process.execPath, ["-e", SCRIPT, prompt]);
      await turn.io.emit({
        type: "message",
        message: {
          role: "assistant",
          content: [{ type: "text", text: stdout.trim() }],
          provider: turn.model.provider,
          model: turn.model.id,
          stopReason: "stop",
          timestamp: Date.now(),
        },
      });
      return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
    }),
  };
}
