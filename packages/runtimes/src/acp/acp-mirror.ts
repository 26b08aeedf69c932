/**
 * Converts an agent's updates into our messages: text, thoughts and tool calls as they arrive. An agent does not mark where
 * one answer of its model ends; a new one begins with the first update after the result of a call.
 */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  StopReason,
  TextPart,
  ToolCallPart,
  Usage,
} from "@pagurus/contract/message";
import { defined } from "@pagurus/core/data/defined";

interface Result {
  content: (TextPart | ImagePart)[];
  isError: boolean;
}

/** One answer of the model, with the results of its calls. */
interface Answer {
  parts: AssistantMessage["content"];
  /** Calls that belong after all of the answer's words, whenever they are reported. */
  last: ToolCallPart[];
  calls: Map<string, ToolCallPart>;
  results: Map<string, Result>;
  /** The assistant's message was emitted. */
  isEmitted: boolean;
  /** Ids of emitted results. */
  emitted: Set<string>;
}

const UNKNOWN_OUTCOME = "The turn ended before this tool call finished; its outcome is unknown.";

function newAnswer(): Answer {
  return { parts: [], last: [], calls: new Map(), results: new Map(), isEmitted: false, emitted: new Set() };
}

export class AcpTurnMirror {
  /** Model of the messages that are emitted from now on. */
  identity: { provider: string; model: string };
  readonly #emit: (message: AgentMessage) => void;
  /** The first one's messages are being emitted; a late result delays those after it. */
  #answers: Answer[] = [];
  /** Id of the message that the newest text belongs to, as the agent sends it. */
  #wordsOf: string | undefined;
  /** Id of the message of the newest answer's words or thoughts; empty for words without one. */
  #answerOf: string | undefined;
  /** Nothing came after the newest words or thoughts. */
  #continues = false;
  #begun = 0;

  /** `emit` is called for each complete message, in order. */
  constructor(identity: { provider: string; model: string }, emit: (message: AgentMessage) => void) {
    this.identity = identity;
    this.#emit = emit;
  }

  /** Answers of the model so far. */
  get answers(): number {
    return this.#begun;
  }

  /**
   * Whether words of this message can be part of the newest answer: it has none yet, or those of the same message. Without an id only what
   * directly continues them is.
   */
  mayBelong(messageId: string): boolean {
    if (this.#answerOf === undefined) return true;
    return messageId === "" ? this.#continues : messageId === this.#answerOf;
  }

  words(delta: string, messageId: string): void {
    const { parts } = this.#current();
    const last = parts.at(-1);
    if (last?.type === "text" && messageId === this.#wordsOf) last.text += delta;
    else parts.push({ type: "text", text: delta });
    this.#wordsOf = messageId;
    this.#answerOf = messageId;
    this.#continues = true;
  }

  thought(delta: string, messageId: string): void {
    const { parts } = this.#current();
    if (messageId !== "") this.#answerOf = messageId;
    this.#continues = true;
    const last = parts.at(-1);
    if (last?.type === "thinking") last.thinking += delta;
    else parts.push({ type: "thinking", thinking: delta });
  }

  /** The part may be filled in until a result of its answer arrives. `isLast`: words of its answer may be reported after it. */
  call(part: ToolCallPart, isLast = false): void {
    const answer = this.#current();
    this.#continues = false;
    (isLast ? answer.last : answer.parts).push(part);
    answer.calls.set(part.id, part);
  }

  result(callId: string, result: Result): void {
    const answer = this.#answers.find(({ calls, results }) => calls.has(callId) && !results.has(callId));
    if (!answer) return;
    answer.results.set(callId, result);
    this.#emitComplete();
  }

  /** Input joins the turn here: earlier text belongs before it. */
  split(): void {
    const last = this.#answers.at(-1);
    if (last && last.calls.size === last.results.size) this.#close("stop");
  }

  /** Drops the newest answer when its text only repeats `error`. */
  dropRepeated(error: string): void {
    const last = this.#answers.at(-1);
    const words = last?.parts
      .map((part) => (part.type === "text" ? part.text : ""))
      .join("")
      .trim();
    if (!last || last.isEmitted || last.calls.size > 0 || words === undefined || words === "") return;
    if (error.includes(words)) last.parts = [];
  }

  /** Ends the turn: emits the last text and closes calls without a result. */
  end(how: "stop" | "length" | "aborted" | "error", usage?: Usage): void {
    this.#close(how, usage);
  }

  #current(): Answer {
    const last = this.#answers.at(-1);
    if (last && last.results.size === 0) return last;
    const answer = newAnswer();
    this.#begun += 1;
    this.#wordsOf = undefined;
    this.#answerOf = undefined;
    this.#answers.push(answer);
    this.#emitComplete();
    return answer;
  }

  /** Emits what is complete, in order. */
  #emitComplete(): void {
    for (;;) {
      const [answer, next] = this.#answers;
      if (!answer) return;
      const isComplete = answer.results.size === answer.calls.size;
      if (answer.results.size === 0 && !(next && isComplete)) return;
      this.#emitAnswer(answer, "stop");
      this.#emitResults(answer);
      if (!isComplete || !next) return;
      this.#answers.shift();
    }
  }

  #close(how: StopReason, usage?: Usage): void {
    const last = this.#answers.at(-1);
    for (const answer of this.#answers) {
      this.#emitAnswer(answer, answer === last ? how : "stop", answer === last ? usage : undefined);
      for (const id of answer.calls.keys())
        if (!answer.results.has(id))
          answer.results.set(id, { content: [{ type: "text", text: UNKNOWN_OUTCOME }], isError: true });
      this.#emitResults(answer);
    }
    this.#answers = [];
    this.#wordsOf = undefined;
    this.#answerOf = undefined;
  }

  #emitAnswer(answer: Answer, how: StopReason, usage?: Usage): void {
    const content = [...answer.parts, ...answer.last];
    if (answer.isEmitted || content.length === 0) return;
    answer.isEmitted = true;
    this.#emit({
      role: "assistant",
      content,
      ...this.identity,
      ...defined({ usage }),
      stopReason: answer.calls.size > 0 && how === "stop" ? "toolUse" : how,
      timestamp: Date.now(),
    });
  }

  #emitResults({ calls, results, emitted }: Answer): void {
    for (const [toolCallId, { content, isError }] of results) {
      if (emitted.has(toolCallId)) continue;
      emitted.add(toolCallId);
      const toolName = calls.get(toolCallId)?.name ?? "";
      this.#emit({ role: "toolResult", toolCallId, toolName, content, isError, timestamp: Date.now() });
    }
  }
}
