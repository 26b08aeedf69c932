/** Differences from OpenClaw's hooks that are meant, or not closed yet; the check fails where one is gone. */

/** Hooks of OpenClaw that are accepted and never called here. */
export type NotCalled =
  | "before_agent_reply"
  | "model_call_started"
  | "model_call_ended"
  | "llm_input"
  | "inbound_claim"
  | "channel_pairing_requested"
  | "message_sent"
  | "before_message_write"
  | "subagent_delivery_target"
  | "subagent_progress"
  | "heartbeat_prompt_contribution"
  | "cron_reconciled"
  | "cron_changed"
  | "skill_proposal_evaluate"
  | "skill_proposal_changed"
  | "skill_changed"
  | "before_dispatch"
  | "reply_dispatch"
  | "before_install"
  | "resolve_exec_env";

/** Members about a message of a transport: its sender, its thread, the message that it answers, its files and traces. */
type OfTransport =
  | "messageId"
  | "senderId"
  | "threadId"
  | "replyToId"
  | "replyToIdFull"
  | "replyToBody"
  | "replyToSender"
  | "replyToIsQuote"
  | "location"
  | "providerUpdate"
  | "media"
  | "originalMedia"
  | "mediaStagingPending"
  | "trace"
  | "traceId"
  | "spanId"
  | "parentSpanId";
/** An answer is text here. */
type OfPayload =
  | "attachments"
  | "audioAsVoice"
  | "btw"
  | "channelData"
  | "delivery"
  | "fallbackText"
  | "interactive"
  | "isCommentary"
  | "isCompactionNotice"
  | "isError"
  | "isFallbackNotice"
  | "isReasoning"
  | "isReasoningSnapshot"
  | "isStatusNotice"
  | "location"
  | "mediaUrl"
  | "mediaUrls"
  | "presentation"
  | "presentationTextMode"
  | "replyToCurrent"
  | "replyToId"
  | "replyToTag"
  | "sensitiveMedia"
  | "spokenText"
  | "ttsSupplement"
  | "videoAsNote";
type NotInEvents = {
  message_received: OfTransport;
  message_sending: "replyToId";
  reply_payload_sending: "usageState" | `payload.${OfPayload}`;
  before_prompt_build: "currentUserMessage" | "currentUserMessageId";
  before_agent_run: "systemPrompt" | "accountId" | "channelId" | "senderId" | "senderIsOwner";
  before_tool_call: "toolKind" | "toolInputKind" | "derivedPaths";
  tool_result_persist: "isSynthetic";
  before_compaction: "compactingCount" | "sessionFile";
  after_compaction: "sessionFile" | "previousSessionId";
  before_reset: "sessionFile";
  session_start: "resumedFrom";
  session_end: "durationMs" | "sessionFile" | "transcriptArchived";
  llm_output:
    | "harnessId"
    | "lastAssistant"
    | "reasoningEffort"
    | "fastMode"
    | "contextTokenBudget"
    | "contextWindowSource"
    | "contextWindowReferenceTokens";
  before_agent_finalize: "transcriptPath";
  subagent_spawned: "label" | "requester" | "resolvedModel" | "resolvedProvider";
  subagent_ended: "accountId" | "error" | "sendFarewell";
  /** The host may run without a server. */
  gateway_start: "port";
  gateway_stop: "reason";
};

export type OfEvents =
  | { [K in keyof NotInEvents]: `${K}().${NotInEvents[K]}: not given` }[keyof NotInEvents]
  /** Absent if the session cannot be read any more, as after a deletion. */
  | `${"before_compaction" | "after_compaction" | "session_end"}().messageCount: may be absent`
  /** Absent if the engine keeps its own summaries. */
  | "after_compaction().compactedCount: may be absent"
  /** Always there in turns. */
  | `${"llm_output" | "subagent_spawned"}().runId: may be absent`;

type AgentHook =
  | "before_model_resolve"
  | "before_prompt_build"
  | "agent_turn_prepare"
  | "before_agent_run"
  | "llm_output"
  | "before_agent_finalize"
  | "agent_end"
  | "before_compaction"
  | "after_compaction"
  | "before_reset";
type NotInAgentContexts =
  | "accountId"
  | "activeProjectKeys"
  | "channel"
  | "channelContext"
  | "channelId"
  | "chatId"
  | "contextTokenBudget"
  | "contextWindowReferenceTokens"
  | "contextWindowSource"
  | "hookInvocation"
  | "inputProvenance"
  | "jobId"
  | "messageProvider"
  | "modelId"
  | "modelProviderId"
  | "senderExternalId"
  | "senderId"
  | "toolAuthority"
  | "trace"
  | "trigger"
  | "workspaceDir";
type NotInMessageContexts =
  | "accountId"
  | "callDepth"
  | "messageId"
  | "senderId"
  | "replyToId"
  | "replyToIdFull"
  | "replyToBody"
  | "replyToSender"
  | "replyToIsQuote"
  | "trace"
  | "traceId"
  | "spanId"
  | "parentSpanId";
type NotInToolContexts =
  | "abortSignal"
  | "channelId"
  | "getSessionExtension"
  | "requester"
  | "toolInputKind"
  | "toolKind"
  | "trace";

export type OfContexts =
  | `${AgentHook}(,).${NotInAgentContexts}: not given`
  | `${"message_received" | "message_sending" | "reply_payload_sending"}(,).${NotInMessageContexts}: not given`
  /** The input of a turn names no channel. */
  | `message_received(,).${"channelId" | "conversationId"}: not given`
  | `${"before_tool_call" | "after_tool_call"}(,).${NotInToolContexts}: not given`
  | "subagent_ended(,).requesterSessionKey: not given"
  | `${"gateway_start" | "gateway_stop"}(,).${"abortSignal" | "getCron" | "port" | "workspaceDir"}: not given`;

export type OfAnswers =
  | `reply_payload_sending =>.payload.${OfPayload}: not read`
  | "message_sending =>.metadata: not read";
