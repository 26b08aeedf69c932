/** `pagurus/contract`: the whole contract, the host's own side included. */
export { ENGINE_CONTRACT, HARNESS_CONTRACT, TRANSCRIPT_VERSION } from "./contract/version.ts";
export { ERROR_CODES, PagurusError, toPagurusError, type ErrorCode } from "./contract/errors.ts";
export { HOOK_RULES } from "./contract/host/hook-rules.ts";
export { readSummary, renderSummary } from "./contract/engine/summary.ts";
export type * from "./contract/channel/channel.ts";
export type * from "./contract/channel/channel-kind.ts";
export type * from "./contract/engine/engine.ts";
export type * from "./contract/engine/engine-params.ts";
export type * from "./contract/engine/engine-compaction.ts";
export type * from "./contract/host/cost.ts";
export type * from "./contract/host/events.ts";
export type * from "./contract/fallback.ts";
export type * from "./contract/fragment.ts";
export type * from "./contract/harness/harness.ts";
export type {
  HookContext,
  HookHandler,
  HookMap,
  HookName,
  SessionBeforeCompact,
} from "./contract/host/hooks.ts";
export type * from "./contract/host/authority.ts";
export type * from "./contract/host/host.ts";
export type * from "./contract/host/pagurus-host.ts";
export type * from "./contract/host/run.ts";
export type * from "./contract/host/status.ts";
export type * from "./contract/engine/memory.ts";
export type * from "./contract/message.ts";
export type * from "./contract/model.ts";
export type * from "./contract/harness/native.ts";
export type * from "./contract/host/running.ts";
export type * from "./contract/host/plugin.ts";
export type * from "./contract/host/tool-middleware.ts";
export type * from "./contract/session/receipt.ts";
export type * from "./contract/engine/runtime-context.ts";
export type * from "./contract/harness/runtimes.ts";
export type * from "./contract/host/skill.ts";
export type * from "./contract/session/claim.ts";
export type * from "./contract/host/reports.ts";
export type * from "./contract/session/store.ts";
export type * from "./contract/session/writer.ts";
export type * from "./contract/harness/tool.ts";
export type * from "./contract/harness/wrap.ts";
export type * from "./contract/harness/wrap-rules.ts";
export type * from "./contract/session/transcript.ts";
