/** `pagurus/plugin-sdk`: what the author of an engine, harness, memory, tool or hook needs. */
export { ENGINE_CONTRACT, HARNESS_CONTRACT } from "@pagurus/contract/version";
export { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
export { HOOK_RULES } from "@pagurus/contract/host/hook-rules";
export { readSummary, renderSummary } from "@pagurus/contract/engine/summary";
export type * from "@pagurus/contract/channel/channel";
export type * from "@pagurus/contract/channel/channel-kind";
export type * from "@pagurus/contract/engine/engine";
export type * from "@pagurus/contract/engine/engine-params";
export type * from "@pagurus/contract/engine/engine-compaction";
export type * from "@pagurus/contract/engine/runtime-context";
export type * from "@pagurus/contract/harness/runtimes";
export type * from "@pagurus/contract/harness/harness";
export type * from "@pagurus/contract/host/hook-parts";
export type { HookContext, HookHandler, HookMap, HookName } from "@pagurus/contract/host/hooks";
export type * from "@pagurus/contract/engine/memory";
export type * from "@pagurus/contract/message";
export type * from "@pagurus/contract/host/plugin";
export type * from "@pagurus/contract/host/tool-middleware";
export type * from "@pagurus/contract/harness/tool";
export type * from "@pagurus/contract/harness/wrap";
export type * from "@pagurus/contract/harness/wrap-rules";
export type * from "@pagurus/contract/session/transcript";
export {
  buildActiveMemoryPromptSection,
  buildMemorySystemPromptAddition,
  delegateCompactionToRuntime,
  type MemoryPromptParams,
} from "../plugin/engine-frame.ts";
