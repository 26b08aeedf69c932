/**
 * Messages in OpenClaw's form. Its engines read fields that messages of this host lack, such as `usage.cost.total` and
 * `thinkingSignature`, and answer with roles that no model has, such as
 * `{"role":"compactionSummary","summary":"Two files were written.","tokensBefore":90000,"timestamp":1764480000000}`.
 */
import type {
  AgentMessage,
  AssistantMessage,
  StopReason,
  ToolResultMessage,
  Usage,
  UserMessage,
} from "@pagurus/contract/message";
import { filledString, isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { shellText } from "@pagurus/core/data/shell-text";

export interface ForeignUsage extends Omit<Usage, "cost"> {
  cacheRead: number;
  cacheWrite: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

export type ForeignPart = AssistantMessage["content"][number] & {
  thinkingSignature?: string;
  thoughtSignature?: string;
};

export interface ForeignAssistant extends Omit<AssistantMessage, "usage" | "content"> {
  timestamp: number;
  content: ForeignPart[];
  api: string;
  provider: string;
  model: string;
  stopReason: StopReason;
  usage: ForeignUsage;
}

export type ForeignMessage = ((UserMessage | ToolResultMessage) & { timestamp: number }) | ForeignAssistant;

/** Names of a signature there, by the type of its part. */
const SIGNATURES = { thinking: "thinkingSignature", toolCall: "thoughtSignature" } as const;
const UNKNOWN = "unknown";

/** With the fields that every message has there; unknown amounts are 0, unknown names `unknown`, an unknown time is now. */
export function foreignMessage(message: AgentMessage): ForeignMessage {
  const { timestamp = Date.now() } = message;
  if (message.role !== "assistant") return { ...message, timestamp };
  const { provider = UNKNOWN, model = UNKNOWN, usage, content } = message;
  const hasCalls = content.some(({ type }) => type === "toolCall");
  const { stopReason = hasCalls ? "toolUse" : "stop" } = message;
  return {
    ...message,
    timestamp,
    api: UNKNOWN,
    provider,
    model,
    stopReason,
    usage: foreignUsage(usage),
    content: content.map(foreignPart),
  };
}

function foreignUsage(usage: Usage | undefined): ForeignUsage {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, totalTokens = 0, cost = 0 } = usage ?? {};
  const costs = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: cost };
  return { ...usage, input, output, cacheRead, cacheWrite, totalTokens, cost: costs };
}

function foreignPart(part: AssistantMessage["content"][number]): ForeignPart {
  if (part.type === "text" || part.signature === undefined) return part;
  return { ...part, [SIGNATURES[part.type]]: part.signature };
}

/** Texts of the roles that no model has; undefined: not for the model. */
export const FOREIGN_ROLES = {
  custom: ({ content }) => content,
  bashExecution: shellText,
  branchSummary: ({ summary }) =>
    summaryText("The conversation came back from a branch, of which this is a summary", summary),
  compactionSummary: ({ summary }) =>
    summaryText("The conversation up to here was compacted into this summary", summary),
} as const satisfies Record<string, (message: Record<string, unknown>) => unknown>;

function summaryText(words: string, summary: unknown): string {
  return `${words}:\n\n<summary>\n${filledString(summary) ?? ""}\n</summary>`;
}

/** Of an engine's answer; undefined for a message that is not for the model. What is no message stays, and the host reports it. */
export function hostMessage(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { role } = message;
  if (typeof role === "string" && Object.hasOwn(FOREIGN_ROLES, role)) {
    if (message["excludeFromContext"] === true) return undefined;
    const content = FOREIGN_ROLES[role as keyof typeof FOREIGN_ROLES](message);
    const { timestamp } = message;
    return { role: "user", content, ...(typeof timestamp === "number" && { timestamp }) };
  }
  return role === "assistant" ? hostAssistant(message) : message;
}

/** Without what `foreignMessage` filled in. */
function hostAssistant(message: Record<string, unknown>): unknown {
  const { api: _api, provider, model, usage, content, ...own } = message;
  return {
    ...own,
    ...(provider !== UNKNOWN && { provider }),
    ...(model !== UNKNOWN && { model }),
    ...hostUsage(recordOf(usage)),
    content: Array.isArray(content) ? content.map(hostPart) : content,
  };
}

function hostUsage({ cost, ...usage }: Record<string, unknown>): object {
  const { total } = recordOf(cost);
  if (typeof usage["totalTokens"] !== "number" || usage["totalTokens"] === 0) return {};
  return { usage: { ...usage, ...(typeof total === "number" && total > 0 && { cost: total }) } };
}

function hostPart(part: unknown): unknown {
  if (!isRecord(part)) return part;
  const { thinkingSignature, thoughtSignature, ...own } = part;
  const signature = own["signature"] ?? thinkingSignature ?? thoughtSignature;
  return signature === undefined ? own : { ...own, signature };
}

/** The messages of an engine's answer. */
export function hostMessages(messages: readonly unknown[]): unknown[] {
  return messages.map(hostMessage).filter((message) => message !== undefined);
}
