/**
 * Converts Claude Code's stream of a turn into our messages, in the order in which the model sees them: each complete answer,
 * then the results of its calls. Source: facts of other runtimes, section 1.
 */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  StopReason,
  TextPart,
  ToolResultMessage,
  Usage,
} from "../../contract/message.ts";
import { hostName } from "./claude-history.ts";
import {
  countOf,
  type Fields,
  objectOrListOf,
  recordOf,
  recordsOf,
  stringOf,
} from "../../data/record-fields.ts";

interface Streamed {
  type: string;
  /** Text, thinking, or the JSON of a call's arguments. */
  words: string;
  signature: string;
  /** Of `content_block_start`. */
  start: Fields;
}

interface Answer {
  id: string;
  blocks: Streamed[];
  /** Number of complete blocks: Claude Code shows these to the model again, whatever happens to the answer. */
  whole: number;
  usage: Fields;
  stopReason: string;
}

export interface MirrorEvents {
  message(message: AgentMessage): void;
  delta(type: "text.delta" | "thinking.delta", delta: string): void;
  /** A call when it is made, before its answer is complete. */
  called(call: { id: string; name: string; arguments: Record<string, unknown> }): void;
  /** The model's answer is complete; `reason` is the provider's stop reason. */
  answered(usage: Usage | undefined, reason: string): void;
}

/** Claude Code's text for interrupted calls, including those that had begun to run. */
const INTERRUPTED = /^The user doesn't want to (?:proceed with this tool use|take this action right now)\b/;
const UNKNOWN = "The turn ended before this tool call finished; its outcome is unknown.";

export class TurnMirror {
  readonly #identity: { provider: string; model: string };
  readonly #events: MirrorEvents;
  #answer: Answer | undefined;
  /** Ids of answers that were streamed. */
  readonly #streamed = new Set<string>();
  readonly #calls = new Map<string, string>();
  readonly #answered = new Set<string>();
  /** Results of calls whose answer is not complete yet. */
  #results: ToolResultMessage[] = [];

  constructor(identity: { provider: string; model: string }, events: MirrorEvents) {
    this.#identity = identity;
    this.#events = events;
  }

  /** Every call has its result, and no answer is streaming. */
  get isAtRest(): boolean {
    return !this.#answer && [...this.#calls.keys()].every((id) => this.#answered.has(id));
  }

  /** Text or a call of an incomplete answer has arrived. */
  get isAnswering(): boolean {
    return (this.#answer?.blocks.length ?? 0) > 0;
  }

  /** An event of the Messages API; `abandoned`: index of the first block that Claude Code discards with it. */
  stream(event: Fields, abandoned?: number): void {
    if (abandoned !== undefined) return this.#abandon(abandoned);
    switch (event["type"]) {
      case "message_start":
        this.retry();
        return this.#begin(recordOf(event["message"]));
      case "content_block_start":
        return this.#start(recordOf(event["content_block"]));
      case "content_block_delta":
        return this.#delta(recordOf(event["delta"]));
      case "message_delta":
        return this.#closing(event);
      case "message_stop":
        return this.#stop();
      default:
        return undefined;
    }
  }

  /** A complete block, or an answer that was not streamed. */
  whole(message: Fields): void {
    const id = stringOf(message["id"]);
    if (this.#answer?.id === id) {
      this.#answer.whole += 1;
      const block = this.#answer.blocks[this.#answer.whole - 1];
      if (block?.type === "tool_use") this.#call(block);
      return;
    }
    if (this.#streamed.has(id)) return;
    this.#begin(message);
    for (const block of recordsOf(message["content"])) this.#start(block);
    if (this.#answer) this.#answer.whole = this.#answer.blocks.length;
    for (const block of this.#answer?.blocks ?? []) if (block.type === "tool_use") this.#call(block);
    this.#stop();
  }

  /** The answer broke off and is retried: incomplete blocks are dropped, as Claude Code does. */
  retry(): void {
    const answer = this.#answer;
    if (!answer) return;
    answer.blocks.length = Math.min(answer.blocks.length, answer.whole);
    this.#flush("stop", undefined);
  }

  #abandon(from: number): void {
    const answer = this.#answer;
    if (answer) answer.blocks.length = Math.min(answer.blocks.length, from);
    this.#flush("stop", undefined);
  }

  /** Content of Claude Code's own user message: tool results. */
  results(content: unknown): void {
    for (const block of recordsOf(content)) if (block["type"] === "tool_result") this.#result(block);
  }

  /** Ends the turn: emits text that only streamed and closes calls without a result. */
  end(how: "stop" | "aborted" | "error"): void {
    if (this.#answer) {
      const { blocks, whole } = this.#answer;
      this.#answer.blocks = blocks.filter(
        ({ type, words }, at) => at < whole || (type === "text" && words !== ""),
      );
      this.#flush(how, undefined);
    }
    for (const [toolCallId, toolName] of this.#calls) {
      if (this.#answered.has(toolCallId)) continue;
      this.#answered.add(toolCallId);
      this.#emitResult({ toolCallId, toolName, content: [{ type: "text", text: UNKNOWN }], isError: true });
    }
  }

  #begin(message: Fields): void {
    const id = stringOf(message["id"]);
    this.#streamed.add(id);
    this.#answer = { id, blocks: [], whole: 0, usage: recordOf(message["usage"]), stopReason: "" };
  }

  #start(block: Fields): void {
    const type = stringOf(block["type"]);
    const words = stringOf(block["text"]) || stringOf(block["thinking"]);
    this.#answer?.blocks.push({ type, words, signature: stringOf(block["signature"]), start: block });
  }

  #delta(delta: Fields): void {
    const block = this.#answer?.blocks.at(-1);
    if (!block) return;
    const [words, thought] = [stringOf(delta["text"]), stringOf(delta["thinking"])];
    block.words += words + thought + stringOf(delta["partial_json"]);
    block.signature += stringOf(delta["signature"]);
    if (words !== "") this.#events.delta("text.delta", words);
    if (thought !== "") this.#events.delta("thinking.delta", thought);
  }

  #closing(event: Fields): void {
    const answer = this.#answer;
    if (!answer) return;
    answer.usage = { ...answer.usage, ...recordOf(event["usage"]) };
    answer.stopReason = stringOf(recordOf(event["delta"])["stop_reason"]);
  }

  #stop(): void {
    const answer = this.#answer;
    if (!answer) return;
    const usage = usageOf(answer.usage);
    this.#flush(answer.stopReason === "max_tokens" ? "length" : "stop", usage);
    this.#events.answered(usage, answer.stopReason);
  }

  #call(block: Streamed): void {
    const { id, name, arguments: args } = callOf(block);
    this.#calls.set(id, name);
    this.#answered.delete(id);
    this.#events.called({ id, name, arguments: args });
  }

  #result(block: Fields): void {
    const toolCallId = stringOf(block["tool_use_id"]);
    const toolName = this.#calls.get(toolCallId);
    if (toolName === undefined || this.#answered.has(toolCallId)) return;
    const content = partsOf(block["content"]);
    const [first] = content;
    // Dropped, since the call may have had an effect: the end of the turn closes it.
    if (block["is_error"] === true && first?.type === "text" && INTERRUPTED.test(first.text)) return;
    this.#answered.add(toolCallId);
    const result: ToolResultMessage = {
      role: "toolResult",
      toolCallId,
      toolName,
      content,
      isError: block["is_error"] === true,
      timestamp: Date.now(),
    };
    // A call may run before its answer is complete.
    if (this.#answer) this.#results.push(result);
    else this.#events.message(result);
  }

  #emitResult(result: Omit<ToolResultMessage, "role" | "timestamp">): void {
    this.#events.message({ role: "toolResult", ...result, timestamp: Date.now() });
  }

  #flush(how: StopReason, usage: Usage | undefined): void {
    const blocks = this.#answer?.blocks ?? [];
    this.#answer = undefined;
    const content = blocks.flatMap(partOf);
    if (content.length > 0) {
      const isCall = content.some(({ type }) => type === "toolCall");
      this.#events.message({
        role: "assistant",
        content,
        ...this.#identity,
        ...(usage ? { usage } : {}),
        stopReason: isCall && how === "stop" ? "toolUse" : how,
        timestamp: Date.now(),
      });
    }
    for (const result of this.#results.splice(0)) this.#events.message(result);
  }
}

function callOf({ start, words }: Streamed): {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
} {
  let args: Fields = objectOrListOf(start["input"]);
  try {
    if (words !== "") args = objectOrListOf(JSON.parse(words));
  } catch {
    // As in Claude Code: invalid JSON counts as no arguments.
    args = {};
  }
  return { id: stringOf(start["id"]), name: hostName(stringOf(start["name"])), arguments: { ...args } };
}

function partOf(block: Streamed): AssistantMessage["content"] {
  const { type, words, signature, start } = block;
  if (type === "text") return words === "" ? [] : [{ type: "text", text: words }];
  if (type === "tool_use") return [{ type: "toolCall", ...callOf(block) }];
  if (type === "thinking")
    return [{ type: "thinking", thinking: words, ...(signature === "" ? {} : { signature }) }];
  if (type === "redacted_thinking")
    return [{ type: "thinking", thinking: "", signature: stringOf(start["data"]), redacted: true }];
  return [];
}

function partsOf(content: unknown): (TextPart | ImagePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return recordsOf(content).flatMap((block): (TextPart | ImagePart)[] => {
    if (block["type"] === "text") return [{ type: "text", text: stringOf(block["text"]) }];
    const { data, media_type } = recordOf(block["source"]);
    if (block["type"] !== "image" || typeof data !== "string") return [];
    return [{ type: "image", data, mimeType: stringOf(media_type) }];
  });
}

/** Tokens as the provider reported them; undefined when it reported none. */
function usageOf(usage: Fields): Usage | undefined {
  const [input, output] = [countOf(usage["input_tokens"]), countOf(usage["output_tokens"])];
  if (input === undefined || output === undefined) return undefined;
  const [cacheRead, cacheWrite] = [
    countOf(usage["cache_read_input_tokens"]),
    countOf(usage["cache_creation_input_tokens"]),
  ];
  const reasoning = countOf(recordOf(usage["output_tokens_details"])["thinking_tokens"]);
  const totalTokens = input + (cacheRead ?? 0) + (cacheWrite ?? 0) + output;
  if (totalTokens === 0) return undefined;
  return {
    input,
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
    totalTokens,
  };
}
