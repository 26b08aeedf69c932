/** "A harness", into this package, of CONTRIBUTING.md: the runtime `parrot` repeats its input. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runCommand } from "../command.ts";
import { CHANGELOG_LINE, edit, insertAfter, newFile, type Change } from "./change.ts";

const HARNESS = `/** The \`parrot\` runtime: repeats the input, in process, without a model. */
import type { AgentHarness, HarnessTurn, HarnessTurnResult } from "@pagurus/contract/harness/harness";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";

async function repeat(turn: HarnessTurn): Promise<HarnessTurnResult> {
  const { messages } = await turn.context.assemble();
  const texts = turn.input.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = \`\${texts.join(" ")} (\${messages.length})\`;
  const { provider, id: model } = turn.model;
  await turn.io.emit({
    type: "message",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      provider,
      model,
      usage: { input: 0, output: 0, totalTokens: 0 },
      stopReason: "stop",
      timestamp: Date.now(),
    },
  });
  return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
}

export function createParrotHarness(): AgentHarness {
  return {
    id: "parrot",
    label: "Parrot",
    contract: HARNESS_CONTRACT,
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    surfaces: {
      modelLoop: "There is none.",
      threadHistory: "The host's transcript.",
      hostTools: "No: it calls none.",
      hostToolHooks: "No.",
      nativeToolHooks: "It has no tools of its own.",
      compactionData: "None.",
      unsupported: ["Models."],
    },
    supports: () => ({ supported: true }),
    start: (turn) => ({ run: () => repeat(turn), continueWith: () => repeat(turn) }),
  };
}
`;

const TEST = `import assert from "node:assert/strict";
import { it } from "node:test";
import { Bench } from "../../turn/in-process.ts";

it("the parrot repeats the input and calls no model", async () => {
  const bench = await Bench.with(() => ({ text: "Not asked." }));
  try {
    const pagurus = await bench.host();
    const events = await bench.ask(pagurus, "The tide turns.", { runtime: "parrot" });
    const message = events.findLast((event) => event.type === "message");
    assert.match(JSON.stringify(message), /The tide turns\\. \\(1\\)/);
    assert.equal(bench.server.requests.length, 0);
  } finally {
    await bench.end();
  }
});
`;

/** Where a forgotten place keeps it from running, the table stays as it is, and types report the place. */
async function writeTable(root: string): Promise<void> {
  await runCommand(process.execPath, ["scripts/runtimes-table.ts", "--write"], { cwd: root });
}

export const RUNTIME_CHANGE: Change = {
  title: "a runtime in the package",
  places: [
    newFile("packages/runtimes/src/parrot/parrot-harness.ts", HARNESS, {
      by: "types",
      message: /parrot-harness/,
    }),
    edit(".dependency-cruiser.cjs", `acp: ["thread"]`, `, parrot: []`, {
      by: "places",
      message: /packages\/runtimes\/src\/parrot\/ has no rule in \.dependency-cruiser\.cjs/,
    }),
    edit(
      "packages/runtimes/package.json",
      /"\.\/codex\/codex-harness"[^\n]*\n/,
      `    "./parrot/parrot-harness": "./src/parrot/parrot-harness.ts",\n`,
      { by: "types", message: /@pagurus\/runtimes\/parrot/ },
    ),
    {
      file: "packages/app/src/bundled.ts",
      make: (root) => {
        const path = "packages/app/src/bundled.ts";
        insertAfter(
          root,
          path,
          /import \{ createEmbeddedHarness \}[^\n]*\n/,
          `import { createParrotHarness } from "@pagurus/runtimes/parrot/parrot-harness";\n`,
        );
        insertAfter(
          root,
          path,
          /await runtime\("acp"[^;]*;\n/,
          `  await runtime("parrot", () => createParrotHarness());\n`,
        );
      },
      found: { by: "unused", message: /parrot-harness\.ts|createParrotHarness/ },
    },
    edit("packages/core/src/config/bundled.ts", `["codex", "claude-cli", "acp"`, `, "parrot"`, {
      by: "types",
      message: /"parrot"/,
    }),
    newFile("test/runtimes/parrot/parrot.test.ts", TEST, {
      by: "places",
      message: /packages\/runtimes\/src\/parrot\/ has no tests in test\/runtimes\/parrot/,
    }),
    edit(
      "docs/architecture/layers.md",
      /\n\| `runtimes\/acp\/`[^\n]*\n/,
      "| `runtimes/parrot/` | turns that repeat their input | nothing |\n",
      {
        by: "places",
        message: /packages\/runtimes\/src\/parrot\/ has no row in docs\/architecture\/layers\.md/,
      },
    ),
    {
      file: "docs/runtimes.md",
      make: writeTable,
      found: { by: "runtimes", message: /docs\/runtimes\.md differs from what the runtimes declare/ },
    },
    CHANGELOG_LINE,
  ],
  tests: ["test/runtimes/parrot", "test/plugin/bundled.test.ts", "test/docs/"],
  use: async (root, run) => {
    const { code, stdout, stderr } = await run(["run", "--runtime", "parrot", "The tide turns."]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^The tide turns\. \(1\)$/m);
    const listed = await run(["runtimes", "list"]);
    assert.match(listed.stdout, /^parrot +yes/m);
    return `${stdout.trim()} from the clone ${join(root, "bin/pagurus.js")}`;
  },
};
