/** The script of a model server. One step answers one request. */

export type Protocol = "openai-responses" | "openai-completions" | "anthropic-messages" | "google";

export interface ReplyUsage {
  /** Tokens that were not read from a cache. */
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
  reasoning?: number;
  /** Anthropic: tokens of the provider's own compaction, which only its `iterations` have. */
  compaction?: { input: number; output: number };
}

export interface ReplyToolCall {
  id: string;
  name: string;
  /** Namespace of the tool, if any: a field of OpenAI's Responses API, a part of the name in Anthropic's Messages. */
  namespace?: string;
  arguments: Record<string, unknown>;
  /** Google: the thought signature of the call. */
  signature?: string;
}

export interface ReplyStep {
  /** Sent before the text. `redacted`: the provider keeps it encrypted, `signature` is the data. */
  thinking?: { text: string; signature?: string; redacted?: boolean };
  text?: string;
  toolCalls?: ReplyToolCall[];
  /** Raw arguments of the last tool call, instead of valid JSON. */
  rawArguments?: string;
  /** Default: counted from the sizes of request and reply. `null`: the server reports none. */
  usage?: ReplyUsage | null;
  /** The provider's diagnosis of its cache: Anthropic's `diagnostics`, OpenAI's `prompt_cache_diagnostics`. Default: absent. */
  cacheDiagnostics?: unknown;
  /** Default: `toolUse` with tool calls, else `stop`. */
  stop?: "stop" | "toolUse" | "length" | "refused";
  /** An HTTP error instead of a stream. */
  status?: number;
  /** Default: a body as the provider sends it for that status. */
  errorBody?: unknown;
  headers?: Record<string, string>;
  /** A page instead of a stream, as a proxy or a login wall sends it with status 200. */
  page?: string;
  /** Characters of one delta of text, thinking or arguments. Default 20. */
  chunkSize?: number;
  /** Pause before each event, ms. */
  delayMs?: number;
  /** Destroys the socket after so many events. */
  cutAfterChunks?: number;
  /** Sends nothing more after so many events, until the client disconnects. */
  hangAfterChunks?: number;
  /** An error event in the stream instead of its end. */
  errorEvent?: { code: string; message: string };
  /** An invalid JSON event after the first one. */
  malformed?: boolean;
  /** Ends the response properly, but without the events that end an answer. */
  omitEnd?: boolean;
}

export interface RecordedRequest {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  /** The parsed JSON body. */
  body: Record<string, unknown>;
  /** The raw body. */
  text: string;
}

/** Steps in order; a request after the last one is refused with an error. Or a function of the request. */
export type ReplyScript =
  | readonly ReplyStep[]
  | ((request: RecordedRequest, index: number) => ReplyStep | Promise<ReplyStep>);

/** One server-sent event: with a name (OpenAI Responses, Anthropic) or without. */
export interface Frame {
  event?: string;
  data: string;
}

/** Context of a protocol's writer. */
export interface ReplyContext {
  /** Number of the request; ids are made from it, so that replies are deterministic. */
  index: number;
  model: string;
  usage: ReplyUsage | null;
}

export function jsonFrame(data: unknown, event?: string): Frame {
  return event === undefined ? { data: JSON.stringify(data) } : { event, data: JSON.stringify(data) };
}

/** Splits a text into deltas. */
export function deltas(text: string, step: ReplyStep): string[] {
  const size = step.chunkSize ?? 20;
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces;
}

export function stepArguments(step: ReplyStep, index: number): string {
  const calls = step.toolCalls ?? [];
  if (step.rawArguments !== undefined && index === calls.length - 1) return step.rawArguments;
  return JSON.stringify(calls[index]?.arguments ?? {});
}

export function stopOfStep(step: ReplyStep): "stop" | "toolUse" | "length" | "refused" {
  return step.stop ?? ((step.toolCalls?.length ?? 0) > 0 ? "toolUse" : "stop");
}
