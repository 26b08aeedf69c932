/** Engines of the long runs: `legacy`'s way, with one or both of the two flags that decide who compacts. */
import type { ContextEngine } from "../../../src/contract/engine.ts";
import type {
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "../../../src/contract/engine-compaction.ts";
import { createLegacyEngine } from "../../../src/engines/legacy/engine.ts";
import { STANDING_ORDER } from "./words.ts";

export type EngineKind = "legacy" | "intercepting" | "owning";

/** Undefined for the built-in engine, which is there already. */
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
    `The log is kept under ${STANDING_ORDER}.`,
    `The engine stands for ${messages.length} messages, ${inputs} of them inputs, before ${firstKeptEntryId}.`,
  ].join("\n");
  return { handled: true, summary, firstKeptEntryId, tokensBefore };
}
