/** `pagurus/plugin-sdk`: what the author of an engine, harness, memory, tool or hook needs. */
export { ENGINE_CONTRACT, HARNESS_CONTRACT } from "../contract/version.ts";
export { PagurusError, type ErrorCode } from "../contract/errors.ts";
export { HOOK_RULES } from "../contract/hooks.ts";
export { readSummary, renderSummary } from "../contract/summary.ts";
export type * from "../contract/engine.ts";
export type * from "../contract/engine-params.ts";
export type * from "../contract/engine-compaction.ts";
export type * from "../contract/runtime-context.ts";
export type * from "../contract/runtimes.ts";
export type * from "../contract/harness.ts";
export type { HookContext, HookHandler, HookMap, HookName, SessionBeforeCompact } from "../contract/hooks.ts";
export type * from "../contract/memory.ts";
export type * from "../contract/message.ts";
export type * from "../contract/plugin.ts";
export type * from "../contract/tool.ts";
export type * from "../contract/transcript.ts";
export {
  buildActiveMemoryPromptSection,
  buildMemorySystemPromptAddition,
  delegateCompactionToRuntime,
  type MemoryPromptParams,
} from "../plugin/engine-frame.ts";
