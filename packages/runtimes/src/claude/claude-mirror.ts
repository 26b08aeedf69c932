/**
 * Converts Claude Code's stream of a turn into our messages, in the order in which the model sees them: each complete answer,
 * then the results of its calls. Source: facts of other runtimes, section 1.
 */
import type {
  AgentMessage,
  AssistantMessage,
  StopReason,
  ToolResultMessage,
  Usage,
} from "@pagurus/contract/message";
import {
  countOf,
  type Fields,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "@pagurus/core/data/record-fields";
import {
  answerPart,
  blocksOf,
  contentPart,
  isResult,
  resultMessage,
} from "@pagurus/core/protocols/messages/messages-blocks";
import {
  addDelta,
  streamedBlock,
  type StreamedBlock,
} from "@pagurus/core/protocols/messages/messages-stream";
import { readUsage } from "@pagurus/core/protocols/messages/messages-usage";
import { hostToolName } from "./claude-history.ts";
import { defined } from "@pagurus/core/data/defined";

interface Answer {
  id: string;
  blocks: StreamedBlock[];
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
const INTERRUPTED_RESULT =
  /^The user doesn't want to (?:proceed with this tool use|take this action right now)\b/;
const UNKNOWN = "The turn ended before this tool call finished; its outcome is unknown.";

export class ClaudeTurnMirror {
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
      if (block) this.#call(block);
      return;
    }
    if (this.#streamed.has(id)) return;
    this.#begin(message);
    for (const block of recordsOf(message["content"])) this.#start(block);
    if (this.#answer) this.#answer.whole = this.#answer.blocks.length;
    for (const block of this.#answer?.blocks ?? []) this.#call(block);
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
    for (const block of recordsOf(content).filter(isResult)) this.#result(block);
  }

  /** Ends the turn: emits text that only streamed and closes calls without a result. */
  end(how: "stop" | "aborted" | "error"): void {
    if (this.#answer) {
      const { blocks, whole } = this.#answer;
      this.#answer.blocks = blocks.filter(
        ({ fields }, at) => at < whole || (fields["type"] === "text" && stringOf(fields["text"]) !== ""),
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
    this.#answer?.blocks.push(streamedBlock(block));
  }

  #delta(delta: Fields): void {
    const block = this.#answer?.blocks.at(-1);
    if (!block) return;
    addDelta(block, delta);
    const [words, thought] = [stringOf(delta["text"]), stringOf(delta["thinking"])];
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

  #call(block: StreamedBlock): void {
    for (const part of partsOf(block)) {
      if (part.type !== "toolCall") continue;
      this.#calls.set(part.id, part.name);
      this.#answered.delete(part.id);
      this.#events.called({ id: part.id, name: part.name, arguments: part.arguments });
    }
  }

  #result(block: Fields): void {
    const content = blocksOf(block["content"])
      .map(contentPart)
      .filter((part) => part !== undefined);
    const result = resultMessage(block, content, (id) => this.#calls.get(id));
    const { toolCallId, isError } = result;
    if (!this.#calls.has(toolCallId) || this.#answered.has(toolCallId)) return;
    const [first] = content;
    // Dropped, since the call may have had an effect: the end of the turn closes it.
    if (isError && first?.type === "text" && INTERRUPTED_RESULT.test(first.text)) return;
    this.#answered.add(toolCallId);
    result.timestamp = Date.now();
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
    const content = blocks.flatMap(partsOf);
    if (content.length > 0) {
      const isCall = content.some(({ type }) => type === "toolCall");
      this.#events.message({
        role: "assistant",
        content,
        ...this.#identity,
        ...defined({ usage }),
        stopReason: isCall && how === "stop" ? "toolUse" : how,
        timestamp: Date.now(),
      });
    }
    for (const result of this.#results.splice(0)) this.#events.message(result);
  }
}

/** As in Claude Code: invalid JSON counts as no arguments. */
function partsOf({ fields, json }: StreamedBlock): AssistantMessage["content"] {
  const part = answerPart(json === "" ? fields : { ...fields, input: parseRecord(json) ?? {} });
  if (!part || (part.type === "text" && part.text === "")) return [];
  return [part.type === "toolCall" ? { ...part, name: hostToolName(part.name) } : part];
}

/** Tokens as the provider reported them; undefined when it reported none. */
function usageOf(fields: Fields): Usage | undefined {
  const isReported = ["input_tokens", "output_tokens"].every((name) => countOf(fields[name]) !== undefined);
  const usage = isReported ? readUsage(fields) : undefined;
  return usage && usage.totalTokens > 0 ? usage : undefined;
}
