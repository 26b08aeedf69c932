/**
 * What Claude Code streams of a turn, as our messages, in the order in which the model sees them: an answer when it is whole,
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
import { count, fields, list, text, type Fields } from "./fields.ts";
import { hostName } from "./history.ts";

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
  /** How many of the blocks are whole: Claude Code shows these to the model again, whatever becomes of the answer. */
  whole: number;
  usage: Fields;
  stopReason: string;
}

export interface MirrorEvents {
  message(message: AgentMessage): void;
  delta(type: "text.delta" | "thinking.delta", delta: string): void;
  /** A call as it is made, before its answer is whole. */
  called(call: { id: string; name: string; arguments: Record<string, unknown> }): void;
  /** The model's answer is whole; `reason` as the provider says it. */
  answered(usage: Usage | undefined, reason: string): void;
}

/** What Claude Code tells of calls that an interruption met, those that had begun to run too. */
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
  /** Of calls whose answer is not whole yet. */
  #results: ToolResultMessage[] = [];

  constructor(identity: { provider: string; model: string }, events: MirrorEvents) {
    this.#identity = identity;
    this.#events = events;
  }

  /** No call is without its result, and no answer is under way. */
  get isAtRest(): boolean {
    return !this.#answer && [...this.#calls.keys()].every((id) => this.#answered.has(id));
  }

  /** Text or a call of an answer that is not whole has come. */
  get isAnswering(): boolean {
    return (this.#answer?.blocks.length ?? 0) > 0;
  }

  /** An event of the Messages API; `abandoned`: index of the first block that Claude Code gives up with it. */
  stream(event: Fields, abandoned?: number): void {
    if (abandoned !== undefined) return this.#abandon(abandoned);
    switch (event["type"]) {
      case "message_start":
        this.retry();
        return this.#begin(fields(event["message"]));
      case "content_block_start":
        return this.#start(fields(event["content_block"]));
      case "content_block_delta":
        return this.#delta(fields(event["delta"]));
      case "message_delta":
        return this.#closing(event);
      case "message_stop":
        return this.#stop();
      default:
        return undefined;
    }
  }

  /** A block that is whole, or an answer that was not streamed. */
  whole(message: Fields): void {
    const id = text(message["id"]);
    if (this.#answer?.id === id) {
      this.#answer.whole += 1;
      const block = this.#answer.blocks[this.#answer.whole - 1];
      if (block?.type === "tool_use") this.#call(block);
      return;
    }
    if (this.#streamed.has(id)) return;
    this.#begin(message);
    for (const block of list(message["content"])) this.#start(block);
    if (this.#answer) this.#answer.whole = this.#answer.blocks.length;
    for (const block of this.#answer?.blocks ?? []) if (block.type === "tool_use") this.#call(block);
    this.#stop();
  }

  /** The answer broke off and is asked for again: what was not whole is dropped, as Claude Code does. */
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

  /** Content of a user's message of Claude Code's own: results of tools. */
  results(content: unknown): void {
    for (const block of list(content)) if (block["type"] === "tool_result") this.#result(block);
  }

  /** What the turn left: words that only streamed, calls that nothing answered. */
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
      this.#tell({ toolCallId, toolName, content: [{ type: "text", text: UNKNOWN }], isError: true });
    }
  }

  #begin(message: Fields): void {
    const id = text(message["id"]);
    this.#streamed.add(id);
    this.#answer = { id, blocks: [], whole: 0, usage: fields(message["usage"]), stopReason: "" };
  }

  #start(block: Fields): void {
    const type = text(block["type"]);
    const words = text(block["text"]) || text(block["thinking"]);
    this.#answer?.blocks.push({ type, words, signature: text(block["signature"]), start: block });
  }

  #delta(delta: Fields): void {
    const block = this.#answer?.blocks.at(-1);
    if (!block) return;
    const [said, thought] = [text(delta["text"]), text(delta["thinking"])];
    block.words += said + thought + text(delta["partial_json"]);
    block.signature += text(delta["signature"]);
    if (said !== "") this.#events.delta("text.delta", said);
    if (thought !== "") this.#events.delta("thinking.delta", thought);
  }

  #closing(event: Fields): void {
    const answer = this.#answer;
    if (!answer) return;
    answer.usage = { ...answer.usage, ...fields(event["usage"]) };
    answer.stopReason = text(fields(event["delta"])["stop_reason"]);
  }

  #stop(): void {
    const answer = this.#answer;
    if (!answer) return;
    const usage = usageOf(answer.usage);
    this.#flush(answer.stopReason === "max_tokens" ? "length" : "stop", usage);
    this.#events.answered(usage, answer.stopReason);
  }

  #call(block: Streamed): void {
    const { id, name, arguments: given } = callOf(block);
    this.#calls.set(id, name);
    this.#answered.delete(id);
    this.#events.called({ id, name, arguments: given });
  }

  #result(block: Fields): void {
    const toolCallId = text(block["tool_use_id"]);
    const toolName = this.#calls.get(toolCallId);
    if (toolName === undefined || this.#answered.has(toolCallId)) return;
    const content = partsOf(block["content"]);
    const [first] = content;
    // That nothing was done is not known: the turn's end says so.
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
    // A call may run before the answer that it is of is whole.
    if (this.#answer) this.#results.push(result);
    else this.#events.message(result);
  }

  #tell(result: Omit<ToolResultMessage, "role" | "timestamp">): void {
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
  let given: Fields = fields(start["input"]);
  try {
    if (words !== "") given = fields(JSON.parse(words));
  } catch {
    // As Claude Code: arguments that are no JSON are none.
    given = {};
  }
  return { id: text(start["id"]), name: hostName(text(start["name"])), arguments: { ...given } };
}

function partOf(block: Streamed): AssistantMessage["content"] {
  const { type, words, signature, start } = block;
  if (type === "text") return words === "" ? [] : [{ type: "text", text: words }];
  if (type === "tool_use") return [{ type: "toolCall", ...callOf(block) }];
  if (type === "thinking")
    return [{ type: "thinking", thinking: words, ...(signature === "" ? {} : { signature }) }];
  if (type === "redacted_thinking")
    return [{ type: "thinking", thinking: "", signature: text(start["data"]), redacted: true }];
  return [];
}

function partsOf(content: unknown): (TextPart | ImagePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return list(content).flatMap((block): (TextPart | ImagePart)[] => {
    if (block["type"] === "text") return [{ type: "text", text: text(block["text"]) }];
    const { data, media_type } = fields(block["source"]);
    if (block["type"] !== "image" || typeof data !== "string") return [];
    return [{ type: "image", data, mimeType: text(media_type) }];
  });
}

/** Tokens as the provider reported them; undefined where it reported none. */
function usageOf(usage: Fields): Usage | undefined {
  const [input, output] = [count(usage["input_tokens"]), count(usage["output_tokens"])];
  if (input === undefined || output === undefined) return undefined;
  const [cacheRead, cacheWrite] = [
    count(usage["cache_read_input_tokens"]),
    count(usage["cache_creation_input_tokens"]),
  ];
  const reasoning = count(fields(usage["output_tokens_details"])["thinking_tokens"]);
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
