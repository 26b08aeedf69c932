/** What a view (preview, status) or a manual compaction needs of a session, without a turn. */
import type { ContextEngine } from "../contract/engine.ts";
import { PagurusError } from "../contract/errors.ts";
import type { AgentHarness } from "../contract/harness.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { SessionReader } from "../contract/store.ts";
import type { TranscriptCursor } from "../contract/transcript.ts";
import { createToolSet } from "../tool/toolset.ts";
import { budgetFor, fixedTokens, systemPieces } from "./prepare.ts";
import type { SystemPiece } from "./receipt-parts.ts";
import {
  buildRuntimeContext,
  buildRuntimeSettings,
  type OnCompletion,
  type RuntimeContextInput,
} from "./runtime-context.ts";
import type { AgentHost } from "./scope.ts";
import { selectRuntime } from "./select.ts";

type HostTools = ReturnType<typeof createToolSet>;

export interface Surroundings {
  cwd: string;
  model: ModelInfo;
  modelSource: string;
  harness: AgentHarness;
  runtimeRule: string;
  engine: ContextEngine;
  tools: HostTools;
  system: SystemPiece[];
  tokenBudget: number;
}

export async function surroundings(
  host: AgentHost,
  request: { cwd?: string | undefined; sessionKey: string },
): Promise<Surroundings> {
  const cwd = request.cwd ?? host.settings.workspace ?? process.cwd();
  const { ref, source } = await host.defaultModel();
  const model = host.modelInfo(ref);
  const { harness, rule } = selectRuntime({ ...host, model });
  const engine = await host.slot.get();
  const tools = hostTools(host, cwd, request.sessionKey);
  const system = systemPieces(cwd);
  const tokenBudget = budgetFor(host, model.contextWindow, fixedTokens(system, tools));
  return { cwd, model, modelSource: source, harness, runtimeRule: rule, engine, tools, system, tokenBudget };
}

/** The tools as a turn would have them, to look at. */
export function hostTools(host: AgentHost, cwd: string, sessionKey: string): HostTools {
  const mode = host.settings.permission.mode ?? "ask";
  return createToolSet({
    cwd,
    permission: { ...host.settings.permission, mode },
    extra: [...host.pluginTools],
    context: { sessionKey, sessionId: "" },
    env: host.env,
  });
}

/** Runtime context and settings of a call outside a turn. */
export function outsideTurn(
  host: AgentHost,
  around: Surroundings,
  session: { sessionId: string; transcript: TranscriptCursor; onCompletion?: OnCompletion },
): {
  runtimeContext: ReturnType<typeof buildRuntimeContext>;
  runtimeSettings: ReturnType<typeof buildRuntimeSettings>;
} {
  const input: RuntimeContextInput = {
    host,
    sessionId: session.sessionId,
    model: around.model,
    harnessId: around.harness.id,
    cwd: around.cwd,
    tokenBudget: around.tokenBudget,
    transcript: session.transcript,
    onCompletion: session.onCompletion,
  };
  return { runtimeContext: buildRuntimeContext(input), runtimeSettings: buildRuntimeSettings(input) };
}

/** A cursor over nothing, for a session that does not exist yet. */
export const emptyCursor: TranscriptCursor = {
  async *forward() {},
  async *backward() {},
  get: () => Promise.resolve(undefined),
};

/** The session's reader; undefined where the key has no session. */
export function readerOf(host: AgentHost, sessionKey: string): SessionReader | undefined {
  try {
    return host.store.openReader(sessionKey);
  } catch (error) {
    if (error instanceof PagurusError && error.code === "session_not_found") return undefined;
    throw error;
  }
}
