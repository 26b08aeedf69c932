/**
 * What the gateway has to know of a protocol between a harness and its model: where things stand in a request, what they say,
 * and how the same is said anew. A dialect holds no state: the same bytes give the same answers.
 */
import type { AgentMessage, AssistantMessage, Usage } from "../../../contract/message.ts";
import type { WireApi } from "../../../contract/wire.ts";
import type { ModelPart } from "../../../model/types.ts";
import type { Span } from "../json/scan.ts";

export type { WireApi } from "../../../contract/wire.ts";

/** Names in lower case, as Node gives them. */
export type WireHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * What a request is for. `main`: the conversation; `side`: a title or a suggestion; `count`: tokens are counted, no model answers;
 * `unknown` passes untouched, as all but `main` and `compaction` do.
 */
export type RequestKind = "main" | "subagent" | "side" | "compaction" | "count" | "unknown";

/** An element of a request's list of messages, as it stands in the body. */
export interface WireItem extends Span {
  /** `setting`: tells of surroundings or rules (an environment, words of the developer) and is no part of what was said. */
  readonly kind: "said" | "setting";
  /** A setting that holds for its moment only (a reminder, a summary of the harness's own): told no more once it is old. */
  readonly isPassing?: boolean;
  /** What goes on in its place wherever it is kept, also in a request that passes: only the gateway can read the element itself. */
  readonly standIn?: Buffer | undefined;
  /**
   * What it says as messages of ours, without entry ids; made when asked for. Of an answer that several elements make up
   * each has its share. Empty for a setting, and for what has no words of its own, such as encrypted reasoning.
   */
  readonly messages: readonly AgentMessage[];
  /**
   * What it tells of surroundings beside its words, as an element of its own, for where the element itself does not stay; absent
   * where it tells none.
   */
  readonly surroundings?: Buffer | undefined;
}

export interface WireRequest {
  readonly api: WireApi;
  readonly kind: RequestKind;
  readonly body: Buffer;
  readonly model: string;
  readonly stream: boolean;
  /** The list of messages, brackets included. */
  readonly list: Span;
  readonly items: readonly WireItem[];
  /** Leading items that belong to the fixed prefix. */
  readonly prefixCount: number;
  /** Index of the first item of the live turn: what the user said last, and what was said since. Never below `prefixCount`. */
  readonly liveFrom: number;
  readonly native: {
    /** The harness's own name for the conversation. */
    threadId?: string;
    turnId?: string;
    /** Changes when the harness has compacted. */
    window?: string;
    /** Set where a subagent asks. */
    agentId?: string;
  };
  /** Of a compaction: who began it, and what the user wants kept in view. */
  readonly compaction?: { trigger: "manual" | "auto"; focus?: string };
}

/** A response that the gateway makes by itself. */
export interface WireReply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Codes of the gateway's own failures; a dialect has its own words for them. */
export type WireFault =
  | "bad_request"
  | "unauthorized"
  | "not_found"
  | "too_large"
  | "overloaded"
  | "context_overflow"
  | "upstream_failed"
  | "internal";

/** What a model answered, as far as it came. */
export interface WireAnswer {
  /** Words, thinking and calls in order; `usage` and `stopReason` where they are known. */
  message: AssistantMessage;
  /** The answer has its proper end. */
  isComplete: boolean;
  usage?: Usage;
  /** The provider answered with an error. `overflow`: it refused the context as too long. */
  error?: { message: string; code?: string; overflow: boolean };
}

/** Reads an answer while it passes. Never throws: what it cannot read it leaves out. */
export interface AnswerReader {
  /**
   * What a stream has said so far: only that an answer has begun, then that it failed, or anything else. Absent where it is not
   * known before the end.
   */
  readonly opening?: "begun" | "failed" | "over";
  take(chunk: Buffer): void;
  end(): WireAnswer;
}

/** Says a model's answer in the dialect, as it comes. */
export interface AnswerWriter {
  readonly head: { status: number; headers: Record<string, string> };
  /** Bytes for a part; may be empty. A `retry` part before anything was said has none. */
  write(part: ModelPart): Buffer;
  /** The answer fails here: an error event, or nothing where the dialect has none. */
  fail(message: string): Buffer;
}

export interface EncodeOptions {
  request: WireRequest;
  /** A cache mark of the provider may be set behind what is encoded. */
  mayMark: boolean;
  /** Something of the list stands before what is encoded, so that nothing has to be put before an answer. */
  isContinued?: boolean;
}

/** Words that stand in a body, outside the list, in front of the byte at `at`. */
export interface Rules {
  at: number;
  bytes: Buffer;
}

export interface Dialect {
  readonly api: WireApi;
  /** Reads a request. `path` without the base, such as `/responses`. Throws `JsonScanError`; then the request is passed on. */
  read(path: string, headers: WireHeaders, body: Buffer): WireRequest;
  /**
   * Messages as elements of the list, joined by commas; empty for none. The same messages give the same bytes. Thinking is left
   * out. `addition` are words of the engine for the model, said before them as rules.
   */
  encode(messages: readonly AgentMessage[], addition: string | undefined, options: EncodeOptions): Buffer;
  /** An addition beside the harness's own rules; undefined (or no method): the request has no place for it, and it is encoded. */
  rules?(request: WireRequest, addition: string): Rules | undefined;
  reader(status: number, headers: WireHeaders): AnswerReader;
  /** An answer as the model would give it, with the usage that the harness is to believe. */
  answer(request: WireRequest, text: string, usage: Usage): WireReply;
  writer(request: WireRequest): AnswerWriter;
  fault(code: WireFault, message: string): WireReply;
}
