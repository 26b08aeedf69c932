/**
 * Where things of the host reach the helpers of `plugin-sdk` that an engine calls without naming the host:
 * `buildMemorySystemPromptAddition({availableTools})` does not say of which turn. The host runs each call of an
 * engine in a frame; the helpers read the frame of the call they were made in. This is the only such place.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { CompactParams, CompactResult } from "../contract/engine-compaction.ts";
import type { CitationsMode } from "../contract/memory.ts";

export interface EngineFrame {
  /** What the slot's memory said for this turn, with all of the turn's tools. */
  memorySections: readonly string[];
  /** Runs the built-in compaction; absent where there is none to run. */
  delegateCompaction?: ((params: CompactParams) => Promise<CompactResult>) | undefined;
}

/** Name of the tool that asks the slot's memory. */
export const MEMORY_SEARCH = "memory_search";

// On the process and not in this module: a plugin often brings its own copy of the package, whose helpers must
// find the frame that the host's copy has opened.
const KEY = Symbol.for("pagurus.engine-frame/1");

function storage(): AsyncLocalStorage<EngineFrame> {
  const holder = globalThis as { [KEY]?: AsyncLocalStorage<EngineFrame> };
  return (holder[KEY] ??= new AsyncLocalStorage<EngineFrame>());
}

/** Runs `work` in a frame, with all that it awaits; frames nest, the inner one counts. */
export function runInEngineFrame<T>(frame: EngineFrame, work: () => T): T {
  return storage().run(frame, work);
}

/** What `assemble` was given; the tools decide which lines apply. */
export interface MemoryPromptParams {
  /** Absent means none. */
  availableTools?: ReadonlySet<string> | undefined;
  /** Accepted for engines that pass it on; the host asked the memory with the configured mode already. */
  citationsMode?: CitationsMode | undefined;
}

/**
 * The active memory's lines for the system prompt of this turn, as the memory gave them; empty outside a turn and
 * where there is no memory. A line that speaks of `memory_search` is left out for a turn without that tool (a
 * section of several lines is quoted text and stays). Never throws.
 */
export function buildActiveMemoryPromptSection(params: MemoryPromptParams = {}): string[] {
  const sections = storage().getStore()?.memorySections ?? [];
  if (params.availableTools?.has(MEMORY_SEARCH)) return [...sections];
  return sections.filter((section) => section.includes("\n") || !section.includes(MEMORY_SEARCH));
}

/** The same lines as one text, ready to be an engine's `systemPromptAddition`; undefined where there are none. */
export function buildMemorySystemPromptAddition(params: MemoryPromptParams = {}): string | undefined {
  const text = buildActiveMemoryPromptSection(params).join("\n").trim();
  return text === "" ? undefined : text;
}

/**
 * Lets the host's built-in compaction do what an engine's `compact` was asked. Where the host cannot, the result
 * says so. Throws what the compaction throws.
 */
export async function delegateCompactionToRuntime(params: CompactParams): Promise<CompactResult> {
  const frame = storage().getStore();
  if (frame?.delegateCompaction) return await frame.delegateCompaction(params);
  const reason = frame
    ? "The built-in compaction cannot be called from here; call delegateCompactionToRuntime in compact()."
    : "delegateCompactionToRuntime was called outside a call of the host; call it in the engine's compact().";
  return { ok: false, compacted: false, reason };
}
