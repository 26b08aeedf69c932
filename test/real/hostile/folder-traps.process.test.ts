/**
 * Real programs in a hostile repository, under `pagurus wire` and as runtimes of `pagurus run` and `chat`: until the user trusts the folder nothing of
 * it is executed and its server gets no request; then each program takes what it takes without Pagurus.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { longTest } from "../../runner/long-tests.ts";
import { HostileRun, type HostileEnd } from "./hostile-bench.ts";
import type { TrappedProgram } from "./repository.ts";

interface HostileCase {
  program: TrappedProgram;
  /** How it is started. */
  as: "wire" | "codex" | "claude-cli" | "acp";
  /** Default: `pagurus run`. */
  door?: "chat";
  /** An ACP agent that the user configured under a name of their own, with its arguments. */
  mine?: readonly string[];
  /** Before trust: the turn runs, the program or the host refuses to start. */
  before: "runs" | "refuses";
  /** Executed once the folder is trusted; absent: not tried, since another case shows it. */
  trusted?: readonly string[];
  /** Once the folder is trusted, its address counts. */
  leads?: true;
  /** It installs packages first. */
  isSlow?: true;
}

const CLAUDE = ["helper", "hook-SessionStart", "hook-UserPromptSubmit", "mcp"];
const QWEN = ["hook-SessionStart", "hook-UserPromptSubmit"];

const CASES: readonly HostileCase[] = [
  { program: "claude", as: "wire", before: "runs", trusted: CLAUDE, leads: true },
  { program: "claude", as: "acp", before: "runs", trusted: CLAUDE, leads: true },
  // It takes no settings of folders.
  { program: "claude", as: "claude-cli", before: "runs", trusted: [] },
  { program: "codex", as: "wire", before: "runs", trusted: ["mcp"] },
  { program: "codex", as: "codex", before: "runs", trusted: ["mcp"] },
  { program: "codex", as: "acp", before: "refuses", trusted: ["mcp"] },
  {
    program: "gemini",
    as: "wire",
    before: "refuses",
    trusted: ["hook-BeforeAgent", "hook-SessionStart", "mcp", "tools"],
  },
  { program: "gemini", as: "acp", before: "runs", trusted: ["hook-BeforeAgent", "mcp", "tools"] },
  { program: "qwen", as: "wire", before: "runs", trusted: [...QWEN, "mcp"] },
  { program: "qwen", as: "acp", before: "runs", trusted: QWEN },
  {
    program: "opencode",
    as: "wire",
    before: "refuses",
    trusted: ["mcp", "plugin"],
    leads: true,
    isSlow: true,
  },
  { program: "opencode", as: "acp", before: "refuses", trusted: ["mcp", "plugin"], isSlow: true },
  { program: "pi", as: "wire", before: "runs", trusted: ["extension"] },
  { program: "pi", as: "acp", before: "runs", trusted: ["extension"] },
  // Its own record of the folder decides in its terminal, and says no here.
  { program: "copilot", as: "wire", before: "runs", trusted: [] },
  { program: "copilot", as: "acp", before: "refuses", trusted: ["hook-sessionStart"] },
  { program: "droid", as: "acp", before: "refuses", trusted: ["hook-SessionStart", "mcp"] },
  { program: "codex", as: "codex", door: "chat", before: "runs", trusted: ["mcp"] },
  { program: "claude", as: "claude-cli", door: "chat", before: "runs", trusted: [] },
  { program: "claude", as: "acp", door: "chat", before: "runs", trusted: CLAUDE, leads: true },
  { program: "opencode", as: "acp", door: "chat", before: "refuses" },
  // Nothing is known of an agent by such a name.
  { program: "pi", as: "acp", mine: [], before: "refuses", trusted: ["extension"] },
  { program: "opencode", as: "acp", mine: ["acp"], before: "refuses" },
];

async function endOf({ program, as, door, mine }: HostileCase, isTrusted: boolean): Promise<HostileEnd> {
  const run = await HostileRun.of(program);
  try {
    return await (as === "wire"
      ? run.wire(isTrusted)
      : run.turn(as, { isTrusted, door, ...(mine ? { id: "mine", args: mine } : {}) }));
  } finally {
    await run.end();
  }
}

describe("a hostile repository and a real program", () => {
  for (const each of CASES) {
    const { program, as, before, trusted, leads, isSlow } = each;
    const how = [as, each.door, each.mine && "an agent of the user"].filter(Boolean).join(", ");
    const named = as === "wire" ? `${program} under wire` : `${program} as a runtime (${how})`;
    it(`executes nothing and gets no request before it is trusted: ${named}`, async () => {
      const { executed, trapped, own, code, output } = await endOf(each, false);
      assert.deepEqual(executed, []);
      assert.deepEqual(trapped, []);
      assert.equal(code === 0, before === "runs", output);
      assert.equal(own > 0, before === "runs", output);
    });

    if (trusted === undefined) continue;
    const test = isSlow ? longTest : it;
    test(`is used as without Pagurus once it is trusted: ${named}`, async () => {
      const { executed, trapped, own, output } = await endOf(each, true);
      assert.deepEqual(executed, trusted, output);
      assert.equal(trapped.length > 0, leads === true, output);
      assert.ok(leads === true || own > 0, output);
    });
  }
});
