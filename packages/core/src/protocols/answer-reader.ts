/**
 * Interface of the readers of model answers, one per protocol. A reader skips events, blocks, items, deltas and fields that it does not
 * know, reads values whose meaning is plain in any type, and names the rest. It never throws.
 */
import type { TextPart, ThinkingPart, ToolCallPart, Usage } from "@pagurus/contract/message";
import type { CacheReport } from "@pagurus/contract/session/receipt";
import type { AnswerHeaders } from "./answer-bytes.ts";

/** Progress of an answer, for whoever shows it while it comes. `call`: bytes of a call came. */
export type AnswerPiece =
  | { type: "text"; delta: string }
  | { type: "thinking"; delta: string }
  | { type: "call" };

export interface ReadCall extends ToolCallPart {
  /** The text of arguments that were no JSON object, as the model wrote it; `arguments` is then empty. */
  unparsed?: string;
}

export type ReadPart = TextPart | ThinkingPart | ReadCall;

/**
 * How an answer ended. `refusal`: the model refused; `filter`: the provider's filter ended it; `overflow`: no tokens were left for an
 * answer; `error`: the model wrote a call that is none, or the server reports a failure without an error.
 */
export interface AnswerEnd {
  reason: "stop" | "toolUse" | "length" | "refusal" | "filter" | "overflow" | "error";
  /** The provider's own word. */
  raw?: string;
}

export interface AnswerError {
  /** The server's own words; empty if it gave none. */
  message: string;
  code?: string;
  type?: string;
  /** Status of the answer, if it is one of a failure, else a status in the error itself. */
  status?: number;
  /** The beginning of a body that has no words of its own, such as a proxy's page: for tests on it, never shown. */
  page?: string;
}

export interface ReadAnswer {
  /** In the order of the answer. */
  content: ReadPart[];
  model?: string;
  responseId?: string;
  /** Without a cost. */
  usage?: Usage;
  cache?: CacheReport;
  /** Absent if no end was reported. */
  end?: AnswerEnd;
  /** The model's own words of a refusal; they are in `content` too, if they came as content. */
  refusal?: string;
  error?: AnswerError;
  /** Any sign of a complete answer came, and no error. */
  isComplete: boolean;
  /** Things that the answer carried and `content` does not have, each as a noun phrase, for example `an image of 2,048 bytes`. */
  degraded: string[];
  /** Names of the events and members that were skipped because they are unknown. */
  skipped: string[];
  /** Set if nothing in the bytes belongs to the protocol: describes them in a few words, without their content. */
  unreadable?: string;
}

export interface ProtocolReader {
  /**
   * State of a stream so far: only that an answer has begun, that it failed, or anything else. Stays `begun` for an answer that is no
   * stream.
   */
  readonly opening: "begun" | "failed" | "over";
  /** A sign of a complete answer came, or an error: nothing but counts can follow. */
  readonly isEnded: boolean;
  take(chunk: Uint8Array): readonly AnswerPiece[];
  /** The answer as far as it came. Called once. */
  end(): ReadAnswer;
  /** After the end: the whole items of the answer as they came. Only for a protocol whose clients may name them by id. */
  output?(): readonly Record<string, unknown>[];
}

export interface AnswerHead {
  /** HTTP status. */
  status: number;
  headers: AnswerHeaders;
}
