/**
 * The built-in engine: sends the history unchanged, and compacts the older messages into one summary.
 * Source: context-engine page, "The legacy engine". No tools, no system prompt addition.
 */
import { builtInCompaction } from "@pagurus/core/compaction/built-in";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import { ENGINE_CONTRACT } from "@pagurus/contract/version";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";

async function compactLegacy(params: CompactParams): Promise<CompactResult> {
  if (params.runtimeContext) return await builtInCompaction(params, params.runtimeContext);
  const reason = "The legacy engine cannot compact without the host's runtime context.";
  return { ok: false, compacted: false, reason };
}

/** Engine `legacy`. `compactLegacy` throws `turn_aborted` when its signal fires, and any error of the transcript cursor. */
export function createLegacyEngine(): ContextEngine {
  return {
    info: {
      id: "legacy",
      name: "Legacy",
      version: "1.0.0",
      contract: ENGINE_CONTRACT,
      governsContext: false,
    },
    /** No-op: the session store keeps every message. */
    ingest: async () => ({ ingested: false }),
    assemble: async ({ messages, runtimeContext }) => ({
      messages,
      estimatedTokens: runtimeContext?.tokens(messages) ?? messagesTokens(messages),
    }),
    compact: compactLegacy,
  };
}
