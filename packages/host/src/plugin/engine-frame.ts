/**
 * Passes host data to the `plugin-sdk` helpers that an engine calls without naming the host:
 * `buildMemorySystemPromptAddition({availableTools})` does not name its turn. The host runs each engine call in a frame; the
 * helpers read the frame of their call. The only such place.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { CitationsMode } from "@pagurus/contract/engine/memory";

export interface EngineFrame {
  /** The slot memory's section for this turn, with all of the turn's tools. */
  memorySections: readonly string[];
  /** Runs the built-in compaction; absent if there is none. */
  delegateCompaction?: ((params: CompactParams) => Promise<CompactResult>) | undefined;
}

/** Name of the tool that queries the slot's memory. */
export const MEMORY_SEARCH = "memory_search";

// Stored on the process instead of this module: a plugin often has its own copy of the package, whose helpers must find the
// frame of the host's copy.
const KEY = Symbol.for("pagurus.engine-frame/1");

function storage(): AsyncLocalStorage<EngineFrame> {
  const holder = globalThis as { [KEY]?: AsyncLocalStorage<EngineFrame> };
  return (holder[KEY] ??= new AsyncLocalStorage<EngineFrame>());
}

/** Runs `work` in a frame, with everything it awaits; of nested frames the inner one applies. */
export function runInEngineFrame<T>(frame: EngineFrame, work: () => T): T {
  return storage().run(frame, work);
}

/** Input of `assemble`; the tools decide which lines apply. */
export interface MemoryPromptParams {
  /** Absent means none. */
  availableTools?: ReadonlySet<string> | undefined;
  /** Accepted for engines that pass it on; the host has already queried the memory with the configured mode. */
  citationsMode?: CitationsMode | undefined;
}

/**
 * The active memory's lines for the system prompt of this turn, as the memory returned them; empty outside a turn and without a
 * memory. A line about `memory_search` is left out for a turn without that tool (a section of several lines is quoted text and
 * stays). Never throws.
 */
export function buildActiveMemoryPromptSection(params: MemoryPromptParams = {}): string[] {
  const sections = storage().getStore()?.memorySections ?? [];
  if (params.availableTools?.has(MEMORY_SEARCH)) return [...sections];
  return sections.filter((section) => section.includes("\n") || !section.includes(MEMORY_SEARCH));
}

/** The same lines as one text, ready to be an engine's `systemPromptAddition`; undefined if there are none. */
export function buildMemorySystemPromptAddition(params: MemoryPromptParams = {}): string | undefined {
  const text = buildActiveMemoryPromptSection(params).join("\n").trim();
  return text === "" ? undefined : text;
}

/**
 * Delegates an engine's `compact` to the host's built-in compaction. Where the host cannot, the result has a reason. Throws the
 * compaction's errors.
 */
export async function delegateCompactionToRuntime(params: CompactParams): Promise<CompactResult> {
  const frame = storage().getStore();
  if (frame?.delegateCompaction) return await frame.delegateCompaction(params);
  const reason = frame
    ? "The built-in compaction cannot be called from here; call delegateCompactionToRuntime in compact()."
    : "delegateCompactionToRuntime was called outside a call of the host; call it in the engine's compact().";
  return { ok: false, compacted: false, reason };
}
