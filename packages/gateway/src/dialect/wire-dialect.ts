/**
 * Interface of the protocols between a harness and its model: the structure of a request, the content of its elements, and how
 * messages are encoded. A dialect has no state: the same bytes give the same results, but for ids and times of answers.
 */
import type { AgentMessage, AssistantMessage, Usage } from "@pagurus/contract/message";
import type { CacheReport } from "@pagurus/contract/session/receipt";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { ModelPart } from "@pagurus/core/model/provider-types";
import type { Span } from "../json/scan.ts";

export type { WireApi } from "@pagurus/contract/harness/wire";

/** Lower-case names, as Node returns them. */
export type WireHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Purpose of a request. `main`: the conversation; `side`: a title or a suggestion; `count`: counts tokens, no model answers;
 * `unknown` passes unchanged, as all but `main` and `compaction` do.
 */
export type RequestKind = "main" | "subagent" | "side" | "compaction" | "count" | "unknown";

/** An element of a request's message list, with its place in the body. */
export interface WireItem extends Span {
  /** `setting`: surroundings or rules (an environment, developer text), which are not part of the conversation. */
  readonly kind: "message" | "setting";
  /** A setting that is only valid for its moment (a reminder, a summary of the harness's own); not repeated once it is old. */
  readonly isPassing?: boolean;
  /** Bytes sent in its place wherever it is kept, also in a request that passes: only the gateway can read the element itself. */
  readonly replacement?: Buffer | undefined;
  /** Name of the conversation that a compaction of the gateway left this element of. */
  readonly compactedFrom?: string | undefined;
  /**
   * Its content as our messages, without entry ids; computed on demand. If several elements make up one answer, each has its share.
   * Empty for a setting, and for elements without text of their own, such as encrypted reasoning.
   */
  readonly messages: readonly AgentMessage[];
  /**
   * The surroundings that it contains besides its text, as an element of its own, sent if the element itself is dropped; absent if
   * it contains none.
   */
  readonly surroundings?: Buffer | undefined;
}

export interface WireRequest {
  readonly api: WireApi;
  readonly kind: RequestKind;
  /** Reason for the kind `unknown`, as a clause: "it has no message of a user". */
  readonly unknownBecause?: string;
  readonly body: Buffer;
  readonly model: string;
  readonly stream: boolean;
  /** The stream is one JSON list of chunks instead of events. */
  readonly isListStream?: boolean;
  /** The list of messages, including the brackets. */
  readonly list: Span;
  readonly items: readonly WireItem[];
  /** Number of leading items that belong to the fixed prefix. */
  readonly prefixCount: number;
  /** Index of the first item of the live turn: the user's last input, and what followed it. Never below `prefixCount`. */
  readonly liveFrom: number;
  readonly native: {
    /** The harness's own name for the conversation. */
    threadId?: string;
    /** A name made from the conversation's first words, for a program that has none. Several conversations may share it. */
    contentId?: string;
    turnId?: string;
    /** Changes when the harness has compacted. */
    window?: string;
    /** Set for requests of a subagent. */
    agentId?: string;
  };
  /**
   * Of a compaction: who started it, and what the user wants the summary to focus on. `isWhole`: the request asks by its address or a
   * member, so all its elements are the conversation, and none is a prompt. `otherwise`: what the request is if the engine makes no
   * summary.
   */
  readonly compaction?: { trigger: "manual" | "auto"; focus?: string; isWhole?: true; otherwise?: "main" };
  /** A summary that a side request asks to check; the answer repeats it if nothing is missing. */
  readonly checked?: string;
}

/** A response that the gateway creates itself. */
export interface WireReply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Codes of the gateway's own failures; each dialect formats them in its own way. */
export type WireFault =
  | "bad_request"
  | "unauthorized"
  | "not_found"
  | "too_large"
  | "overloaded"
  | "context_overflow"
  /** A cost limit refuses the request. */
  | "cost_limit"
  | "upstream_failed"
  | "internal";

/** A model's answer, as far as it has come. */
export interface WireAnswer {
  /** Text, thinking and calls in order; `usage` and `stopReason` if known. */
  message: AssistantMessage;
  /** The answer ended properly. */
  isComplete: boolean;
  usage?: Usage;
  /** The provider's id of the answer, and its diagnosis of a cache miss; absent for protocols without one. */
  cache?: CacheReport;
  /** The provider answered with an error. `overflow`: it rejected the context as too long. */
  error?: { message: string; code?: string; overflow: boolean };
  /** Things that the answer carried and the message does not have, for example `an image of 2,048 bytes`; absent if it has all. */
  degraded?: readonly string[];
}

/** Reads an answer while it passes. Never throws; skips what it cannot read. */
export interface AnswerReader {
  /**
   * State of a stream so far: only that an answer has begun, that it failed, or anything else. Absent if it is not known before the
   * end.
   */
  readonly opening?: "begun" | "failed" | "over";
  take(chunk: Buffer): void;
  end(): WireAnswer;
  /** After the end: the answer's items as they came; absent for protocols whose clients cannot name them by id. */
  output?(): readonly Record<string, unknown>[];
}

/** Writes a model's answer in the dialect, as it comes. */
export interface AnswerWriter {
  readonly head: { status: number; headers: Record<string, string> };
  /** Bytes for a part; may be empty. A `retry` part before any output has none. */
  write(part: ModelPart): Buffer;
  /** The answer fails here: an error event, or nothing if the dialect has none. */
  fail(message: string): Buffer;
}

export interface EncodeOptions {
  request: WireRequest;
  /** A provider's cache mark may be set after the encoded messages. */
  mayMark: boolean;
  /** An element of the list precedes the encoded messages, so that an answer may come first. */
  isContinued?: boolean;
}

/** Rule text that is inserted into a body, outside the list, before the byte at `at`. */
export interface Rules {
  at: number;
  bytes: Buffer;
}

export interface Dialect {
  readonly api: WireApi;
  /** Reads a request. `path` without the base, such as `/responses`. Throws `JsonScanError`; the request is then passed on unread. */
  read(path: string, headers: WireHeaders, body: Buffer): WireRequest;
  /**
   * Encodes messages as elements of the list, joined by commas; empty for none. The same messages give the same bytes. Omits
   * thinking. `addition` is text of the engine for the model, encoded before them as rules.
   */
  encode(messages: readonly AgentMessage[], addition: string | undefined, options: EncodeOptions): Buffer;
  /**
   * An addition next to the harness's own rules; undefined (or no method): the request has no place for it, and it is encoded with
   * the messages.
   */
  rules?(request: WireRequest, addition: string): Rules | undefined;
  /** `request`: the one that is answered, if the answer is recorded: ids of its calls may depend on the conversation. */
  reader(status: number, headers: WireHeaders, request?: WireRequest): AnswerReader;
  /** An answer as the model would send it, with the usage to report to the harness. */
  answer(request: WireRequest, text: string, usage: Usage): WireReply;
  writer(request: WireRequest): AnswerWriter;
  /** `status`: the HTTP status of the reply, if another than the fault's own; for dialects whose body has it too. */
  fault(code: WireFault, message: string, status?: number): WireReply;
}
