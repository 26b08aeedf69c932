/** An engine with the tools that come with it, as the replay uses them. */
import { builtInCompaction } from "@pagurus/core/compaction/built-in";
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { ContextEngineFactory } from "@pagurus/contract/engine/engine";
import type { PluginTool } from "@pagurus/contract/host/plugin";

export interface ReplayedEngine {
  /** Unique among the engines of a replay, which may be two versions of one. */
  key: string;
  id: string;
  create: ContextEngineFactory;
  /** The host's configuration. */
  config: unknown;
  /** Tools of the engine's plugin. */
  tools: readonly PluginTool[];
}

/** Name of the one parameter that a search requires. */
const QUERY_NAMES = ["query", "pattern", "q"];

/** The tool that searches older content: it requires one text, for example `query`, and nothing else. */
export function searchTool(
  tools: readonly PluginTool[],
): { tool: PluginTool; parameter: string } | undefined {
  for (const tool of tools) {
    const { required } = tool.parameters as { required?: unknown };
    const [parameter, ...others]: unknown[] = Array.isArray(required) ? required : [];
    if (typeof parameter === "string" && others.length === 0 && QUERY_NAMES.includes(parameter))
      return { tool, parameter };
  }
  return undefined;
}

/** The host's built-in compaction, for engines that delegate theirs; without a model its summary is an extract. */
export async function delegatedCompaction(params: CompactParams): Promise<CompactResult> {
  if (params.runtimeContext) return await builtInCompaction(params, params.runtimeContext);
  const reason = "The compaction was delegated without the host's runtime context.";
  return { ok: false, compacted: false, reason };
}
