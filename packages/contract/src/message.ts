/**
 * Messages as engines, harnesses and transcripts exchange them: the shape that existing OpenClaw engines use.
 */
export interface TextPart {
  type: "text";
  text: string;
  /**
   * Origin of an input's text when it is data and not the person's own (+): `file src/a.ts`, `standard input`. Kept in the
   * transcript, never sent to a model.
   */
  source?: string;
}

export interface ImagePart {
  type: "image";
  /** Base64 without a data-URL prefix. */
  data: string;
  mimeType: string;
}

export interface ThinkingPart {
  type: "thinking";
  thinking: string;
  /** Opaque provider signature; a signed part is never edited. */
  signature?: string;
  /** True when the provider sent the reasoning encrypted; `signature` then holds the opaque data. */
  redacted?: boolean;
}

export interface ToolCallPart {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  /** Opaque provider data that must be sent back with the call (Google thought signatures). */
  signature?: string;
}

/** Tokens and cost of one model call, as the provider reported them. */
export interface Usage {
  /** Input tokens that were not read from a cache. */
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
  reasoning?: number;
  /** input + cacheRead + cacheWrite + output. */
  totalTokens: number;
  /** US dollars; absent where the model's prices are unknown. */
  cost?: number;
}

export type StopReason = "stop" | "toolUse" | "length" | "aborted" | "error";

interface MessageBase {
  /** Milliseconds since the epoch. */
  timestamp?: number;
  /** Id of the transcript entry that holds this message (+). Set by the host, never sent to a model. */
  entryId?: string;
}

export interface UserMessage extends MessageBase {
  role: "user";
  content: string | (TextPart | ImagePart)[];
  /**
   * Set by the host on a fragment of additional context (+): not the user's text, and for `application` the developer's. Only
   * in assembled contexts, never in entries or engines.
   */
  fragment?: { key: string; kind: "untrusted" | "application" };
}

export interface AssistantMessage extends MessageBase {
  role: "assistant";
  content: (TextPart | ThinkingPart | ToolCallPart)[];
  provider?: string;
  model?: string;
  usage?: Usage;
  stopReason?: StopReason;
  errorMessage?: string;
}

export interface ToolResultMessage extends MessageBase {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextPart | ImagePart)[];
  isError: boolean;
}

export type AgentMessage = UserMessage | AssistantMessage | ToolResultMessage;
