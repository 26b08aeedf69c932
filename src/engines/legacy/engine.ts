/**
 * The built-in engine: everything is sent as it is, and a compaction makes one summary of the older messages.
 * Source: context-engine page, "The legacy engine". No tools, no system prompt addition.
 */
import type { ContextEngine } from "../../contract/engine.ts";
import type { CompactParams, CompactResult } from "../../contract/engine-params.ts";
import type { RuntimeContext } from "../../contract/runtime-context.ts";
import type { LlmComplete } from "../../contract/model.ts";
import { ENGINE_CONTRACT } from "../../contract/version.ts";
import { contextFromPath } from "../../compaction/context.ts";
import { compactByRuntime } from "../../compaction/runtime-compaction.ts";
import { messagesTokens } from "../../tokens/messages.ts";
import { compactionSettings, type CompactionSettings } from "./settings.ts";

/** A context smaller than this is not worth a forced compaction. Tokens. */
const SMALLEST_FORCED = 1_000;
/** The host ends a compaction at its deadline; the rest of that time is for the extract when the model hangs. */
const MODEL_SHARE_OF_DEADLINE = 0.9;

/** The summarizing model; undefined where only the offline model is configured. */
function summarizer(context: RuntimeContext, settings: CompactionSettings): LlmComplete | undefined {
  const { model } = settings;
  const provider = model?.split("/")[0] ?? context.provider;
  if (provider === "offline") return undefined;
  return (request) => context.llm.complete(model === undefined ? request : { ...request, model });
}

async function compact(params: CompactParams): Promise<CompactResult> {
  const context = params.runtimeContext;
  if (!context) {
    const reason = "The legacy engine cannot compact without the host's runtime context.";
    return { ok: false, compacted: false, reason };
  }
  const settings = compactionSettings(context.config);
  const { messages, liveStart, fragments } = await contextFromPath(context.transcript, context.turnId);
  const total = context.tokens(messages);
  const tokenBudget = params.tokenBudget ?? context.tokenBudget;
  const forced = (params.force ?? context.manualCompaction ?? false) && total >= SMALLEST_FORCED;
  // Who asks for a compaction wants one, also where all of the context would fit in what stays verbatim.
  const most = forced ? Math.floor(total / 2) : settings.keepRecentTokens;
  const llm = summarizer(context, settings);
  const instructions = [settings.customInstructions, params.customInstructions].filter((text) => text);
  return await compactByRuntime({
    messages,
    liveStart,
    fragments,
    keepRecentTokens: Math.min(settings.keepRecentTokens, most),
    tokenBudget,
    windowTokens: context.tokenBudget,
    timeoutMs: Math.floor(settings.timeoutSeconds * 1_000 * MODEL_SHARE_OF_DEADLINE),
    tokens: (message) => context.tokens(message),
    ...(llm ? { llm } : {}),
    ...(instructions.length > 0 ? { customInstructions: instructions.join("\n") } : {}),
    ...(params.abortSignal ? { signal: params.abortSignal } : {}),
  });
}

/** Engine `legacy`. `compact` throws `turn_aborted` when its signal fires, and what the transcript cursor throws. */
export function createLegacyEngine(): ContextEngine {
  return {
    info: { id: "legacy", name: "Legacy", version: "1.0.0", contract: ENGINE_CONTRACT },
    /** The session store keeps every message; there is nothing to add. */
    ingest: async () => ({ ingested: false }),
    assemble: async ({ messages, runtimeContext }) => ({
      messages,
      estimatedTokens: runtimeContext?.tokens(messages) ?? messagesTokens(messages),
    }),
    compact,
  };
}
