/** `pagurus/plugin-sdk`: what the author of an engine, harness, memory, tool or hook needs. */
export { ENGINE_CONTRACT, HARNESS_CONTRACT } from "../contract/version.ts";
export { PagurusError, type ErrorCode } from "../contract/errors.ts";
export { HOOK_RULES } from "../contract/host/hook-rules.ts";
export { readSummary, renderSummary } from "../contract/engine/summary.ts";
export type * from "../contract/channel/channel.ts";
export type * from "../contract/channel/channel-kind.ts";
export type * from "../contract/engine/engine.ts";
export type * from "../contract/engine/engine-params.ts";
export type * from "../contract/engine/engine-compaction.ts";
export type * from "../contract/engine/runtime-context.ts";
export type * from "../contract/harness/runtimes.ts";
export type * from "../contract/harness/harness.ts";
export type * from "../contract/host/hook-parts.ts";
export type { HookContext, HookHandler, HookMap, HookName } from "../contract/host/hooks.ts";
export type * from "../contract/engine/memory.ts";
export type * from "../contract/message.ts";
export type * from "../contract/host/plugin.ts";
export type * from "../contract/host/tool-middleware.ts";
export type * from "../contract/harness/tool.ts";
export type * from "../contract/harness/wrap.ts";
export type * from "../contract/harness/wrap-rules.ts";
export type * from "../contract/session/transcript.ts";
export {
  buildActiveMemoryPromptSection,
  buildMemorySystemPromptAddition,
  delegateCompactionToRuntime,
  type MemoryPromptParams,
} from "../plugin/engine-frame.ts";
