/** Validation and inputs of a spawn, before anything exists. */
import { statSync } from "node:fs";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { RunRequest, SpawnRequest } from "@pagurus/contract/host/run";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { checkPlugins } from "../admit/admit-turn.ts";
import { usableDefault } from "../admit/resolve-model.ts";
import type { CostGate } from "../cost/cost-limits.ts";
import { checkHostRequirements } from "../selection/host-requirements.ts";
import type { Guard } from "../guard/guard.ts";
import { lookGuard } from "../agent/session-look.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { selectRuntime } from "../selection/select-runtime.ts";
import type { ParentTurn } from "../agent/subagent-port.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";
import { defined } from "@pagurus/core/data/defined";

const DEFAULT_DEPTH = 2;
const DEFAULT_CONCURRENT = 4;
const DEFAULT_TTL_SECONDS = 3_600;
/** The longest that `ttlSeconds` may be, in ms. */
const LONGEST_TTL_MS = 2_000_000_000;

export interface SpawnPlan {
  parentSessionKey: string;
  /** Undefined when the parent session does not exist. */
  parent: SessionRecord | undefined;
  contextMode: "isolated" | "fork";
  /** For a fork: the parent's last entry in it; null for an empty history. */
  forkAt: string | null;
  ttlMs: number;
  /** A turn of the parent has started it, and waits for it. */
  inTurn: boolean;
  /** The cost gate of that turn. */
  cost: CostGate | undefined;
  /** The child's turn; key and signal are added later. */
  run: RunRequest;
  engine: ContextEngine;
  guard: Guard;
  /** Each releases the child. */
  signals: readonly AbortSignal[];
  emit(event: TurnEvent): void;
}

export function subagentLimits(host: AgentHost): { depth: number; concurrent: number } {
  const { maxSpawnDepth, maxConcurrent } = host.config.agents?.defaults?.subagents ?? {};
  return { depth: maxSpawnDepth ?? DEFAULT_DEPTH, concurrent: maxConcurrent ?? DEFAULT_CONCURRENT };
}

/** A guard for engine calls outside any turn: its findings are logged. */
export function guardOutsideTurns(host: AgentHost, engine: ContextEngine): Guard {
  return lookGuard(host, engine.info.id, "subagent");
}

/** The plan of a tool call. What the call omits is taken from the parent turn. */
export async function planInTurn(
  host: AgentHost,
  parent: ParentTurn,
  asked: { task: string; contextMode: "isolated" | "fork"; model?: string | undefined },
): Promise<SpawnPlan> {
  const { task, contextMode, model } = asked;
  const { sessionKey, cwd, permission, audience, cost, engine, guard, harness } = parent;
  // The parent's model keeps the parent's runtime; another model follows its own rules.
  const runtime = model === undefined ? harness.id : undefined;
  const ref = model ?? parent.modelRef;
  const run: RunRequest = {
    prompt: task,
    ...defined({ model: ref }),
    cwd,
    agentId: host.agentId,
    ...defined({ runtime, permission, audience }),
  };
  await checkRun(host, run, engine);
  return {
    parentSessionKey: sessionKey,
    parent: host.store.find(sessionKey),
    contextMode,
    forkAt: contextMode === "fork" ? parent.forkAt() : null,
    ttlMs: ttlOf(host, undefined),
    inTurn: true,
    cost,
    run,
    engine,
    guard,
    signals: [parent.signal],
    emit: (event) => parent.emit(event),
  };
}

/** The plan of a library call. Throws `usage_invalid`, `session_not_found`, and what refuses a run. */
export async function planOutsideTurn(
  host: AgentHost,
  request: SpawnRequest & { parentSessionKey: string },
): Promise<SpawnPlan> {
  const { task, model, permission, contextMode = "isolated", parentSessionKey, signal } = request;
  const parent = host.store.find(parentSessionKey);
  const cwd = request.cwd ?? parent?.cwd ?? host.settings.workspace ?? currentFolder();
  const run: RunRequest = { prompt: task, cwd, agentId: host.agentId, ...defined({ model, permission }) };
  const engine = await host.slot.get();
  await checkRun(host, run, engine);
  return {
    parentSessionKey,
    parent,
    contextMode,
    forkAt: contextMode === "fork" ? await settledLeaf(host, parentSessionKey) : null,
    ttlMs: ttlOf(host, request.ttlMs),
    inTurn: false,
    cost: undefined,
    run,
    engine,
    guard: guardOutsideTurns(host, engine),
    signals: signal ? [signal] : [],
    emit: () => undefined,
  };
}

async function checkRun(host: AgentHost, run: RunRequest, engine: ContextEngine): Promise<void> {
  if (run.prompt.trim() === "") {
    throw new PagurusError("usage_invalid", "The task of a subagent is empty; say what it has to do.");
  }
  if (run.cwd !== undefined && !statSync(run.cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new PagurusError(
      "usage_invalid",
      `The subagent's working folder ${run.cwd} does not exist; name an existing one.`,
    );
  }
  const model = host.modelInfo(run.model ?? (await usableDefault(host)));
  const { harness } = selectRuntime({ ...host, model, requested: run.runtime });
  checkHostRequirements(engine, harness, "agent-run", { harnesses: host.harnesses, model });
  checkHostRequirements(engine, harness, "subagent-spawn", { harnesses: host.harnesses, model });
  checkPlugins(host);
}

function ttlOf(host: AgentHost, asked: number | undefined): number {
  const { ttlSeconds = DEFAULT_TTL_SECONDS } = host.config.agents?.defaults?.subagents ?? {};
  const ttlMs = asked ?? ttlSeconds * 1000;
  if (ttlMs > 0 && ttlMs <= LONGEST_TTL_MS) return ttlMs;
  throw new PagurusError(
    "usage_invalid",
    `A subagent cannot live for ${ttlMs} ms; give a ttlMs above 0 and up to ${LONGEST_TTL_MS}, or none.`,
  );
}

/**
 * The last entry of a session that belongs to no running turn: a fork in the middle of a turn would begin with tool calls without results.
 * Null when there is none.
 */
async function settledLeaf(host: AgentHost, sessionKey: string): Promise<string | null> {
  const reader = host.store.openReader(sessionKey);
  try {
    if (!reader.runningIn) return reader.leafId;
    const committed = new Set<string>();
    for await (const entry of reader.cursor.backward()) {
      if (entry.type === "turn_commit") committed.add(entry.turnId);
      if (entry.turnId === undefined || committed.has(entry.turnId)) return entry.id;
    }
    return null;
  } finally {
    reader.close();
  }
}
