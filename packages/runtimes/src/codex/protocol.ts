/**
 * Types of Codex's app-server protocol, as far as this runtime uses them. Generated from the pinned program: `node
 * scripts/codex-protocol.ts` writes the types named here and their dependencies into `protocol/generated`.
 */
export type { DynamicToolCallResponse } from "./protocol/generated/v2/DynamicToolCallResponse.ts";
export type { DynamicToolSpec } from "./protocol/generated/v2/DynamicToolSpec.ts";
export type { GetAccountParams } from "./protocol/generated/v2/GetAccountParams.ts";
export type { GetAccountResponse } from "./protocol/generated/v2/GetAccountResponse.ts";
export type { InitializeParams } from "./protocol/generated/InitializeParams.ts";
export type { InitializeResponse } from "./protocol/generated/InitializeResponse.ts";
export type { JsonValue } from "./protocol/generated/serde_json/JsonValue.ts";
export type { Thread } from "./protocol/generated/v2/Thread.ts";
export type { SandboxPolicy } from "./protocol/generated/v2/SandboxPolicy.ts";
export type { ThreadArchiveParams } from "./protocol/generated/v2/ThreadArchiveParams.ts";
export type { ThreadForkParams } from "./protocol/generated/v2/ThreadForkParams.ts";
export type { ThreadForkResponse } from "./protocol/generated/v2/ThreadForkResponse.ts";
export type { ThreadInjectItemsParams } from "./protocol/generated/v2/ThreadInjectItemsParams.ts";
export type { ThreadListParams } from "./protocol/generated/v2/ThreadListParams.ts";
export type { ThreadListResponse } from "./protocol/generated/v2/ThreadListResponse.ts";
export type { ThreadReadParams } from "./protocol/generated/v2/ThreadReadParams.ts";
export type { ThreadReadResponse } from "./protocol/generated/v2/ThreadReadResponse.ts";
export type { ThreadCompactStartParams } from "./protocol/generated/v2/ThreadCompactStartParams.ts";
export type { ThreadResumeParams } from "./protocol/generated/v2/ThreadResumeParams.ts";
export type { ThreadResumeResponse } from "./protocol/generated/v2/ThreadResumeResponse.ts";
export type { ThreadSourceKind } from "./protocol/generated/v2/ThreadSourceKind.ts";
export type { ThreadStartParams } from "./protocol/generated/v2/ThreadStartParams.ts";
export type { ThreadStartResponse } from "./protocol/generated/v2/ThreadStartResponse.ts";
export type { ThreadUnsubscribeParams } from "./protocol/generated/v2/ThreadUnsubscribeParams.ts";
export type { TurnInterruptParams } from "./protocol/generated/v2/TurnInterruptParams.ts";
export type { TurnStartParams } from "./protocol/generated/v2/TurnStartParams.ts";
export type { TurnStartResponse } from "./protocol/generated/v2/TurnStartResponse.ts";
export type { TurnSteerParams } from "./protocol/generated/v2/TurnSteerParams.ts";
export type { UserInput } from "./protocol/generated/v2/UserInput.ts";
