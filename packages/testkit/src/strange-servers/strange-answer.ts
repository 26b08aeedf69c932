/** A raw answer of a model server as strange servers send them, with the result that every client has to make of it. */
import { defined } from "@pagurus/core/data/defined";
import { anthropicMessages } from "../endpoint/anthropic-messages.ts";
import { google } from "../endpoint/google.ts";
import { openAiCompletions } from "../endpoint/openai-completions.ts";
import { openAiResponses } from "../endpoint/openai-responses.ts";
import type { Frame, Protocol, ReplyContext, ReplyStep, ReplyUsage } from "../endpoint/script.ts";

export const STRANGE_PROTOCOLS = [
  "anthropic-messages",
  "openai-responses",
  "openai-completions",
  "google",
] as const satisfies readonly Protocol[];

/** The result of an answer. A member that is absent is not compared, except `error`: without it the answer must succeed. */
export interface RightResult {
  text?: string;
  thinking?: string;
  /** Name and arguments of each call, in order. */
  calls?: readonly (readonly [name: string, args: Record<string, unknown>])[];
  usage?: { input: number; output: number };
  /** The model's words of its refusal, which are shown to the user: as text, or as the reason of the failure. */
  refusal?: string;
  /** The answer fails, and the user sees these words of the server. */
  error?: string;
}

export interface StrangeAnswer {
  /** `<kind>.<variant>.<protocol>`; stays the same between versions. */
  id: string;
  protocol: Protocol;
  /** What the server does, as the end of the sentence "The server …". */
  title: string;
  status: number;
  headers: Record<string, string>;
  body: string;
  right: RightResult;
}

/** The answers that servers make strange. */
export const REPLIES = {
  text: { text: "hello wörld 🦀, all of it" },
  call: { toolCalls: [{ id: "call_a", name: "probe", arguments: { k: "a" } }] },
  calls: {
    toolCalls: [
      { id: "call_a", name: "probe", arguments: { k: "a" } },
      { id: "call_b", name: "probe", arguments: { k: "b" } },
    ],
  },
  thinking: { thinking: { text: "think it over" }, text: "hello wörld 🦀, all of it" },
} as const satisfies Record<string, ReplyStep>;
export type ReplyName = keyof typeof REPLIES;

const WRITERS: Readonly<Record<Protocol, (step: ReplyStep, context: ReplyContext) => Frame[]>> = {
  "anthropic-messages": anthropicMessages,
  "openai-responses": openAiResponses,
  "openai-completions": openAiCompletions,
  google,
};
const REPLY_USAGE: ReplyUsage = { input: 10, output: 5 };

/** The events of an answer as the protocol's own provider sends them. */
export function plainFrames(
  protocol: Protocol,
  step: ReplyStep,
  usage: ReplyUsage | null = REPLY_USAGE,
): Frame[] {
  return WRITERS[protocol]({ chunkSize: 5, ...step }, { index: 0, model: "m", usage });
}

/** The result of a step that is read as it is. */
export function rightOf(step: ReplyStep): RightResult {
  return {
    text: step.text ?? "",
    ...defined({ thinking: step.thinking?.text }),
    calls: (step.toolCalls ?? []).map(({ name, arguments: args }) => [name, args] as const),
  };
}

/** Results that several answers have: a text, one call, two calls, thinking before a text. */
export const TEXT = { text: "hello", calls: [] };
export const ONE = rightOf(REPLIES.call);
export const TWO = rightOf(REPLIES.calls);
export const THOUGHT = { ...TEXT, thinking: "think" };

export type Json = Record<string, unknown>;

/** The event's object; undefined for `[DONE]`. */
function eventObject({ data }: Frame): Json | undefined {
  return data.startsWith("{") ? (JSON.parse(data) as Json) : undefined;
}

/** Each event's object replaced by what `edit` returns; undefined drops the event. */
export function edited(
  frames: readonly Frame[],
  edit: (object: Json, index: number) => Json | undefined,
): Frame[] {
  return frames.flatMap((frame, index): Frame[] => {
    const object = eventObject(frame);
    if (!object) return [frame];
    const changed = edit(object, index);
    return changed ? [{ ...frame, data: JSON.stringify(changed) }] : [];
  });
}

export function eventText({ event, data }: Frame, end = "\n"): string {
  return `${event === undefined ? "" : `event: ${event}${end}`}data: ${data}${end}${end}`;
}

/** The usual bytes of a stream. */
export function streamText(frames: readonly Frame[]): string {
  return frames.map((frame) => eventText(frame)).join("");
}

export const STREAM = { "content-type": "text/event-stream" };
export const JSON_BODY = { "content-type": "application/json" };

export interface Variant {
  name: string;
  title: string;
  status?: number;
  headers?: Record<string, string>;
  body: string;
  right: RightResult;
}

/** The answers of a kind for one protocol. */
export function ofKind(kind: string, protocol: Protocol, variants: readonly Variant[]): StrangeAnswer[] {
  return variants.map(({ name, title, status = 200, headers = STREAM, body, right }) => ({
    id: `${kind}.${name}.${protocol}`,
    protocol,
    title,
    status,
    headers,
    body,
    right,
  }));
}

/** A variant whose frames come as a usual stream. */
export function streamed(name: string, title: string, frames: readonly Frame[], right: RightResult): Variant {
  return { name, title, body: streamText(frames), right };
}
