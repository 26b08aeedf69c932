/** Differences from OpenClaw's types that are meant, or not closed yet; the check fails where one is gone. */

type Members = "bootstrap" | "maintain" | "afterTurn" | "commitTurn" | "compact";

export type OfEngine =
  /** Sessions here have no thread of a transport. */
  | `engine.${Members}().sessionTarget.threadId: not given`
  | "engine.compact =>.result.sessionTarget.threadId: not read"
  /** The host reads whatever of a successor's target is there. */
  | `engine.compact =>.result.sessionTarget.${"storePath" | "sessionKey" | "sessionId" | "agentId"}: may be absent`
  /** The host's own calls always set it. */
  | "engine.compact().sessionKey: may be absent";

export type OfContext =
  | "runtimeContext.sessionTarget.threadId: not given"
  /** Its only kind says that the engine's transcript file is stale, and here it is kept up to date. */
  | "runtimeContext.transcriptStorage: not given"
  /** The provider's own name of the model is not recorded. */
  | "runtimeContext.llm.complete =>.responseModel: not given";

type MemoryHelper =
  | "core.buildMemorySystemPromptAddition"
  | "core.prepareMemorySystemPromptAddition"
  | "memory-host-core.buildActiveMemoryPromptSection";

export type OfExports =
  /** The memory is that of the turn in which an engine calls them. */
  | `${MemoryHelper}().${"agentId" | "agentSessionKey" | "sandboxed"}: not read`
  /** Optional, and of other results than a text. */
  | `core.jsonResult =>.${"terminate" | "progress" | `content[].${"textSignature" | "mimeType" | "data"}`}: not given`
  | `core.emptyPluginConfigSchema =>.${"validate" | "uiHints"}: not given`;

/** Optional, and of what this host does not record. */
export type OfMessages =
  | "user.runtimeContextCarrier: not given"
  | "toolResult.details: not given"
  | `toolCall.${"executionMode" | "async"}: not given`
  | `assistant.usage.${"cost.totalOrigin" | "contextUsage" | "cacheWrite1h" | "cacheTelemetry"}: not given`
  | `assistant.${"turnId" | "responseModel" | "responseId" | "providerReplay" | "openclawDelivery"}: not given`
  | `assistant.${"errorType" | "errorCode" | "errorBody" | "endTurn" | "diagnostics"}: not given`;
