/** The kit's types against OpenClaw's own (`scripts/setup-openclaw.ts`), which fail with the name of each difference. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FULL } from "../../runner/short-form.ts";
import { driftOf, plantedRoot, type Plant } from "./drift-check.ts";

const ENGINE = "interface ContextEngine {";

/** Of our side and of OpenClaw's next version. */
const PLANTS: (Plant & { name: string })[] = [
  {
    file: "packages/contract/src/engine/runtime-context.ts",
    from: "request: TranscriptRewriteRequest | RewriteRequest[],",
    to: "request: RewriteRequest[],",
    name: "runtimeContext.rewriteTranscriptEntries()",
  },
  {
    file: "packages/contract/src/engine/runtime-settings.ts",
    from: "degradedReason:",
    to: "degraded:",
    name: "runtimeSettings.diagnostics.degradedReason: not given",
  },
  {
    file: "packages/contract/src/engine/engine-params.ts",
    from: "generation: string;",
    to: "generation: number;",
    name: "engine.commitTurn().admission.generation: other values",
  },
  {
    file: "packages/host/src/plugin/compat/foreign-llm.ts",
    from: "temperature?: number;",
    to: "heat?: number;",
    name: "runtimeContext.llm.complete().temperature: not read",
  },
  {
    file: "packages/contract/src/engine/engine-params.ts",
    from: "systemPromptAddition?: string;",
    to: "",
    name: "engine.assemble =>.systemPromptAddition: not read",
  },
  {
    file: "openclaw",
    after: "//#region src/context-engine/types.d.ts",
    from: "estimatedTokens: number;",
    to: "estimatedTokens: number; citations?: string[];",
    name: "engine.assemble =>.citations: not read",
  },
  {
    file: "openclaw",
    after: ENGINE,
    from: "prePromptMessageCount: number;",
    to: "historyCount: number;",
    name: "engine.afterTurn().historyCount: not given",
  },
  {
    file: "openclaw",
    after: ENGINE,
    from: "dispose?(): Promise<void>;",
    to: "dispose?(): Promise<void>; rewind?(params: { sessionId: string }): Promise<void>;",
    name: "engine.rewind: not read",
  },
  {
    file: "openclaw",
    after: "//#region src/context-engine/types.d.ts",
    from: 'mode: "per_turn" | "thread_bootstrap";',
    to: 'mode: "per_turn" | "thread_bootstrap" | "per_call";',
    name: "engine.assemble =>.contextProjection.mode: other values",
  },
  {
    file: "openclaw",
    after: "//#region src/context-engine/types.d.ts",
    from: "rewrittenEntries: number;",
    to: "rewrittenEntries: string;",
    name: "runtimeContext.rewriteTranscriptEntries =>.rewrittenEntries: other values",
  },
  {
    file: "packages/host/src/plugin/compat/foreign-events.ts",
    after: "session_end:",
    from: "sessionId,\n      sessionKey,",
    to: "sessionKey,",
    name: "session_end().sessionId: not given",
  },
  {
    file: "packages/host/src/plugin/compat/foreign-answers.ts",
    from: "blockReason?: string;",
    to: "why?: string;",
    name: "before_tool_call =>.blockReason: not read",
  },
  {
    file: "openclaw hooks",
    after: "type PluginHookAgentEndEvent",
    from: "success: boolean;",
    to: "success: boolean; cost?: number;",
    name: "agent_end().cost: not given",
  },
  {
    file: "openclaw hooks",
    after: "type PluginHookMessageSendingResult",
    from: "cancel?: boolean;",
    to: "cancel?: boolean; delayMs?: number;",
    name: "message_sending =>.delayMs: not read",
  },
  {
    file: "openclaw hooks",
    after: "type PluginHookName",
    from: '"agent_end"',
    to: '"agent_end" | "turn_scored"',
    name: "turn_scored",
  },
  {
    file: "packages/host/src/plugin/compat/sdk.ts",
    from: "  fallbackAgentId?: string | undefined;\n",
    to: "",
    name: "agent-scope-runtime.resolveSessionAgentId().fallbackAgentId: not read",
  },
];

describe("the contract's types", () => {
  it("differ from OpenClaw's in nothing that is not declared", async () => {
    assert.equal(await driftOf(), "");
  });

  for (const { name, ...plant } of FULL ? PLANTS : PLANTS.slice(0, 1)) {
    it(`fail by name where ${plant.from} becomes ${plant.to === "" ? "nothing" : plant.to}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "pagurus-drift-"));
      try {
        const found = await driftOf(plantedRoot(folder, plant));
        assert.ok(
          found.split(/["\n]/).some((line) => line.startsWith(name)),
          found,
        );
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});
