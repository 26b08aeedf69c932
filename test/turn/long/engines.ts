/** Engines of the long runs: like `legacy`, with one or both of the two flags that decide who compacts. */
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type {
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { ORDER_CODE } from "./words.ts";

export type EngineKind = "legacy" | "intercepting" | "owning";

/** Undefined for the built-in engine, which is always registered. */
export function engineOf(kind: EngineKind): ContextEngine | undefined {
  if (kind === "legacy") return undefined;
  const { info: _info, ...legacy } = createLegacyEngine();
  if (kind === "owning") {
    return { ...legacy, info: { id: kind, name: kind, ownsCompaction: true } };
  }
  return {
    ...legacy,
    info: { id: kind, name: kind, interceptsCompaction: true },
    interceptCompaction: async (request) => intercepted(request),
  };
}

function intercepted(request: CompactionInterceptRequest): CompactionInterceptResult {
  const { firstKeptEntryId, tokensBefore, messages } = request;
  const inputs = messages.filter((message) => message.role === "user").length;
  const summary = [
    `The log is kept under ${ORDER_CODE}.`,
    `The engine stands for ${messages.length} messages, ${inputs} of them inputs, before ${firstKeptEntryId}.`,
  ].join("\n");
  return { handled: true, summary, firstKeptEntryId, tokensBefore };
}
