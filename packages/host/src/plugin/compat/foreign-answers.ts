/** Answers of OpenClaw's hooks, as far as they have an effect here. The kit in `test/real/openclaw` compares them with OpenClaw's types. */
import type { AnswerDecision, ModelOverride } from "@pagurus/contract/host/hook-parts";
import type { HookMap } from "@pagurus/contract/host/hooks";
import type { AgentMessage } from "@pagurus/contract/message";
import { isRecord } from "@pagurus/core/data/record-fields";

/** By OpenClaw's names; the last two are this host's own hooks. */
export interface ForeignAnswers {
  before_model_resolve: ModelOverride;
  before_prompt_build: {
    prependSystemContext?: string;
    appendSystemContext?: string;
    prependContext?: string;
    appendContext?: string;
    toolsAllow?: string[];
    /** Refused. */
    systemPrompt?: string;
  };
  agent_turn_prepare: { prependContext?: string; appendContext?: string };
  before_agent_run: {
    /** Any outcome but `pass` blocks. */
    outcome: string;
    message?: string;
    reason?: string;
    /** These two are the plugin's own in OpenClaw as well. */
    category?: string;
    metadata?: Record<string, unknown>;
  };
  message_sending: { content?: string; cancel?: boolean; cancelReason?: string };
  reply_payload_sending: { payload?: { text?: string }; cancel?: boolean; reason?: string };
  before_tool_call: {
    params?: Record<string, unknown>;
    block?: boolean;
    blockReason?: string;
    /** Blocks the call: there is no one to ask for a plugin. */
    requireApproval?: unknown;
  };
  tool_result_persist: { message?: AgentMessage };
  before_agent_finalize: AnswerDecision;
  user_prompt: NonNullable<HookMap["user_prompt"]["result"]>;
  session_before_compact: NonNullable<HookMap["session_before_compact"]["result"]>;
}

type Read = { [K in keyof ForeignAnswers]: Record<keyof ForeignAnswers[K], true> };

const READ: Read = {
  before_model_resolve: { modelOverride: true, providerOverride: true },
  before_prompt_build: {
    prependSystemContext: true,
    appendSystemContext: true,
    prependContext: true,
    appendContext: true,
    toolsAllow: true,
    systemPrompt: true,
  },
  agent_turn_prepare: { prependContext: true, appendContext: true },
  before_agent_run: { outcome: true, message: true, reason: true, category: true, metadata: true },
  message_sending: { content: true, cancel: true, cancelReason: true },
  reply_payload_sending: { payload: true, cancel: true, reason: true },
  before_tool_call: { params: true, block: true, blockReason: true, requireApproval: true },
  tool_result_persist: { message: true },
  before_agent_finalize: { action: true, reason: true, retry: true },
  user_prompt: { block: true, reason: true },
  session_before_compact: { cancel: true, compaction: true },
};

/** The fields of a hook's answers that have an effect; undefined for a hook without answers. */
export function readFields(hook: string): Readonly<Record<string, true>> | undefined {
  return Object.hasOwn(READ, hook) ? READ[hook as keyof Read] : undefined;
}

type Fields = Record<string, unknown>;

/** Of the two hooks on an answer before its delivery: on the text (`message_sending`) and on the payload (`reply_payload_sending`). */
export function deliveryAnswer(answer: Fields): Fields {
  const { content, payload, cancel, cancelReason, reason } = answer;
  const text = isRecord(payload) ? (payload["text"] ?? "") : content;
  const why = cancelReason ?? reason;
  return {
    ...(typeof text === "string" && { content: text }),
    ...(cancel === true && { cancel }),
    ...(typeof why === "string" && { cancelReason: why }),
  };
}
