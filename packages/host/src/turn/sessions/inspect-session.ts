/** Session data for a view (preview, status) or a manual compaction, without a turn. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { ModelInfo } from "@pagurus/contract/model";
import type { Receipt } from "@pagurus/contract/session/receipt";
import { closedFiles } from "@pagurus/core/config/closed-files";
import { createPlanTool } from "../../tool/plan-tool.ts";
import type { createToolSet, ExtraTool, ToolSetOptions } from "../../tool/toolset.ts";
import type { Guard } from "../guard/guard.ts";
import { lookGuard, sessionReader } from "../agent/session-look.ts";
import { measuredFixed, ownPieces, toolSetFor } from "../context/own-parts.ts";
import { citationsMode, memoryForTurn, type MemoryTurn } from "../agent/turn-memory.ts";
import { offerForLook } from "../prepare/outer-tools.ts";
import { surfaceToolsOf } from "../prepare/surface-port.ts";
import { budgetFor } from "../context/context-budget.ts";
import { fixedTokens, memoryPieces, systemPieces } from "../prepare/system-prompt.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { selectRuntime } from "../selection/select-runtime.ts";
import { skillPieces, skillsFor } from "../prepare/turn-skills.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

type HostTools = ReturnType<typeof createToolSet>;

export interface Surroundings {
  cwd: string;
  model: ModelInfo;
  modelSource: string;
  harness: AgentHarness;
  engine: ContextEngine;
  guard: Guard;
  tools: HostTools;
  system: SystemPiece[];
  memorySections: string[];
  fixedTokens: number;
  tokenBudget: number;
}

export async function surroundings(
  host: AgentHost,
  request: {
    cwd?: string | undefined;
    sessionKey: string;
    turnId: string;
    /** Overrides the model that a run would choose. */
    model?: string | undefined;
    harness?: AgentHarness;
    /** As of a run: others than the owner see no memory notes. */
    audience?: "group" | "strangers" | undefined;
  },
): Promise<Surroundings> {
  const cwd = request.cwd ?? host.settings.workspace ?? currentFolder();
  const { ref, source } =
    request.model === undefined ? await host.defaultModel() : { ref: request.model, source: "request" };
  const model = host.modelInfo(ref);
  const harness = request.harness ?? selectRuntime({ ...host, model }).harness;
  const engine = await host.slot.get();
  const guard = lookGuard(host, engine.info.id, request.turnId);
  const around = { cwd, model, modelSource: source, harness, engine, guard };
  return {
    ...around,
    ...(await fixedParts(host, {
      cwd,
      model,
      guard,
      sessionKey: request.sessionKey,
      audience: request.audience,
      agent: around,
    })),
  };
}

/** System prompt, tools and budget as a turn would have them. */
export async function fixedParts(
  host: AgentHost,
  at: Pick<Surroundings, "cwd" | "model" | "guard"> & {
    sessionKey: string;
    audience?: "group" | "strangers" | undefined;
    /** Absent when they are unavailable: then nothing that needs them is offered. */
    agent?: Pick<Surroundings, "harness" | "engine"> | undefined;
  },
): Promise<Pick<Surroundings, "tools" | "system" | "memorySections" | "fixedTokens" | "tokenBudget">> {
  const { cwd, model, agent, guard, sessionKey } = at;
  const spawn =
    agent &&
    host.subagents.tool({
      ...agent,
      cwd,
      guard,
      sessionKey,
      sessionId: "",
      turnId: "",
      modelRef: model.ref,
      permission: undefined,
      forkAt: () => null,
      signal: AbortSignal.abort(),
      emit: () => undefined,
    });
  const skills = skillsFor(host, cwd, agent?.harness);
  const own = [...(spawn ? [spawn] : []), createPlanTool(() => undefined)];
  const memory: MemoryTurn =
    at.audience !== undefined
      ? { sections: [] }
      : await memoryForTurn({
          slot: host.memory,
          cwd,
          guard,
          availableTools: hostTools(host, at, own, agent?.harness).specs.map(({ name }) => name),
          citations: citationsMode(host),
        });
  const tools = hostTools(host, at, [...own, ...(memory.tool ? [memory.tool] : [])], agent?.harness);
  const system = [
    ...ownPieces(agent?.harness, () => [
      ...systemPieces(cwd, host.trust.isTrusted(cwd)),
      ...skillPieces(skills),
    ]),
    ...(agent ? memoryPieces(agent.engine, memory.sections) : []),
  ];
  const measured = measuredFixed(
    agent?.harness,
    sessionKey,
    lastReceipt(host, sessionKey),
    model.contextWindow,
  );
  const fixed = measured ?? fixedTokens(system, tools);
  const tokenBudget = budgetFor(host, model.contextWindow, fixed, agent?.engine.info ?? {});
  return { tools, system, memorySections: memory.sections, fixedTokens: fixed, tokenBudget };
}

/** The tools of a turn, for display. */
export function hostTools(
  host: AgentHost,
  { cwd, sessionKey, model }: { cwd: string; sessionKey: string; model?: { contextWindow: number } },
  own: readonly ExtraTool[],
  harness?: AgentHarness,
): HostTools {
  const options: ToolSetOptions = {
    cwd,
    permission: host.settings.permission,
    extra: [...host.pluginTools, ...offerForLook(host, model?.contextWindow).tools, ...own],
    more: surfaceToolsOf(host),
    context: { sessionKey, sessionId: "" },
    env: host.env,
    home: host.home,
    closedFiles: closedFiles(host.config, host.home, host.env),
  };
  return toolSetFor(harness, options, host.engineTools);
}

function lastReceipt(host: AgentHost, sessionKey: string): Receipt | undefined {
  const reader = sessionReader(host, sessionKey);
  try {
    return reader && host.receipts(reader.record).lastOwn();
  } finally {
    reader?.close();
  }
}
