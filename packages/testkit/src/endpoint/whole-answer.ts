/** Answers of requests without a stream: the events that a stream would have had, as one JSON body. */
import { wholeGoogle } from "./google.ts";
import type { Frame, Protocol } from "./script.ts";
import { defined } from "@pagurus/core/data/defined";

type Fields = Record<string, unknown>;

const WHOLE: Readonly<Record<Protocol, (frames: readonly Frame[]) => Fields>> = {
  "openai-responses": (frames) => wholeResponse(eventsOf(frames)),
  "openai-completions": (frames) => wholeCompletion(eventsOf(frames)),
  "anthropic-messages": (frames) => wholeMessage(eventsOf(frames)),
  google: wholeGoogle,
};

/** The body of an answer whose stream is `frames`; without the end of the stream the body has no reason for the end either. */
export function wholeAnswer(protocol: Protocol, frames: readonly Frame[]): Fields {
  return WHOLE[protocol](frames);
}

function eventsOf(frames: readonly Frame[]): Fields[] {
  return frames.filter(({ data }) => data !== "[DONE]").map(({ data }) => JSON.parse(data) as Fields);
}

/** The response of the last event that has one, with the elements that were complete before it. */
function wholeResponse(events: readonly Fields[]): Fields {
  const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  const response = events.findLast(({ response }) => response !== undefined)?.["response"] as Fields;
  return { ...response, output: done };
}

interface Delta {
  content?: string;
  reasoning_content?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
}

interface Chunk {
  choices: { delta: Delta; finish_reason: string | null }[];
  usage?: unknown;
}

function wholeCompletion(events: readonly Fields[]): Fields {
  const chunks = events as unknown as Chunk[];
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  const text = deltas.map(({ content = "" }) => content).join("");
  const thinking = deltas.map(({ reasoning_content: piece = "" }) => piece).join("");
  const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
  for (const { index, id = "", function: piece } of deltas.flatMap(({ tool_calls = [] }) => tool_calls)) {
    const call = (calls[index] ??= {
      id,
      type: "function",
      function: { name: piece.name ?? "", arguments: "" },
    });
    call.function.arguments += piece.arguments;
  }
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    refusal: null,
    annotations: [],
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const finish_reason = chunks.flatMap(({ choices }) => choices).at(-1)?.finish_reason ?? null;
  const usage = chunks.find((chunk) => chunk.usage !== undefined)?.usage;
  return {
    ...events[0],
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    ...defined({ usage }),
  };
}

interface MessageEvent {
  type: string;
  message?: Fields;
  index: number;
  content_block?: Fields;
  delta?: Fields;
  usage?: Fields;
}

/** Deltas of a block, and the member that each adds to. */
const GROWING: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json",
};

function wholeMessage(events: readonly Fields[]): Fields {
  let message: Fields = {};
  const content: Fields[] = [];
  const inputs = new Map<number, string>();
  for (const event of events as unknown as MessageEvent[]) {
    const { type, index, delta = {} } = event;
    if (type === "message_start") message = { ...event.message };
    if (type === "content_block_start") content[index] = { ...event.content_block };
    if (type === "content_block_delta") {
      const member = GROWING[String(delta["type"])] ?? "";
      const piece = String(delta[member]);
      const block = content[index] ?? {};
      if (member === "partial_json") inputs.set(index, (inputs.get(index) ?? "") + piece);
      else block[member] = String(block[member]) + piece;
    }
    if (type === "message_delta") {
      const usage = { ...(message["usage"] as Fields), ...event.usage };
      message = { ...message, ...delta, usage };
    }
  }
  for (const [index, text] of inputs) {
    const block = content[index];
    if (block) block["input"] = JSON.parse(text) as unknown;
  }
  return { ...message, content };
}
