/** "A field of a receipt" of CONTRIBUTING.md: the thinking that was asked for, shown by the page and by reports. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../command.ts";
import { CHANGELOG_LINE, edit, type Change } from "./change.ts";

const BOOK = "packages/host/src/turn/run/receipt-book.ts";

/** Where a forgotten place keeps it from running, the snapshot stays as it is, and types report the place. */
async function writeSnapshot(root: string): Promise<void> {
  await runCommand(process.execPath, ["scripts/api-snapshot.ts", "--write"], { cwd: root });
}

export const RECEIPT_CHANGE: Change = {
  title: "a field of a receipt",
  places: [
    edit(
      "packages/contract/src/session/receipt.ts",
      "  tokenBudget: number;\n",
      `  /** Reasoning effort that was asked for; absent: the model's default. */\n  thinking?: "off" | "low" | "medium" | "high";\n`,
      { by: "types", message: /thinking/ },
    ),
    edit(
      BOOK,
      "    if (own) receipt.own = own;\n",
      `    const { settings } = this.#turn.host;
    const thinking =
      this.#turn.admitted.request.thinking ?? settings.models[receipt.model]?.thinking ?? settings.thinking;
    if (thinking !== undefined) receipt.thinking = thinking;
`,
      { by: "places", message: /nothing in packages\/host\/src\/turn sets thinking of a receipt/ },
    ),
    edit("packages/server/src/inspect/requests/request-row.ts", `  "tokenBudget",\n`, `  "thinking",\n`, {
      by: "types",
      message: /request-row\.ts.*thinking/s,
    }),
    edit(
      "packages/api/src/inspect-answers.ts",
      /export const request = z\.object\(\{\n[^]*? {2}tokenBudget: z\.int\(\)\.optional\(\),\n/,
      `  thinking: z.enum(["off", "low", "medium", "high"]).optional().describe("As it was asked for."),\n`,
      { by: "types", message: /thinking/ },
    ),
    edit(
      "packages/api/src/request-facts.ts",
      "  engine: ({ engine }) => engine,\n",
      "  thinking: ({ thinking }) => thinking && `thinking ${thinking}`,\n",
      { by: "types", message: /request-facts\.ts.*thinking/s },
    ),
    edit("test/inspect/request-row.test.ts", "  tokenBudget: 900,\n", `  thinking: "high",\n`, {
      by: "types",
      message: /request-row\.test\.ts.*thinking/s,
    }),
    {
      file: "docs/api/contract",
      make: writeSnapshot,
      found: { by: "api", message: /The public contract changed/ },
    },
    CHANGELOG_LINE,
  ],
  tests: ["test/inspect/request-row", "test/stores/files/receipt"],
  use: async (_root, run) => {
    const { code, stderr } = await run(["run", "--session", "quay", "--thinking", "high", "Hello"]);
    assert.equal(code, 0, stderr);
    const written = await run(["inspect", "--session", "quay", "--export", "report.html"]);
    assert.equal(written.code, 0, written.stderr);
    const report = readFileSync(join(run.folder, "report.html"), "utf8");
    assert.match(report, /thinking high/);
    return 'the report of the session, which has the facts of the page, says "thinking high"';
  },
};
