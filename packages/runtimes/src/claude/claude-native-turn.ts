/** Converts a program's output during a turn of the host into our events as it arrives. */
import type { PagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage, Usage } from "@pagurus/contract/message";
import { answerRequest } from "./claude-approvals.ts";
import { asResult, isRefusedKey } from "./claude-failure.ts";
import { SERVER } from "./claude-history.ts";
import { ClaudeTurnMirror } from "./claude-mirror.ts";
import type { Listener } from "./claude-process.ts";
import { firstVersionNote } from "@pagurus/core/platform/version-notes";
import type { LiveSession } from "./claude-sessions.ts";
import { countOf, type Fields, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";

const BACKEND = "claude-cli";

/** Why the native turn has to be stopped. */
export type Stop = "length" | "max_steps" | "refused";

export interface NativeTurnWatcher {
  /** A message of the turn, before the host gets it. */
  onMessage(message: AgentMessage): void;
  /** The context was compacted inside the turn. */
  onCompacted(): void;
  /** The calls of a round have their results, or an answer has ended: input may join now. */
  onRest(): void;
}

export class ClaudeNativeTurn implements Listener {
  /** Result line of the last input. Rejects when the program ends. */
  readonly ended: Promise<Fields>;
  readonly stops: Promise<Stop>;
  /** Claude Code has added text of its own to the conversation, or has compacted it. */
  hasStrayed = false;
  /** The session lacks the result of a call. */
  hasLost = false;
  /** The model has answered, or begun to. */
  hasAnswered = false;
  /** Part of an answer was dropped for a retry. */
  wasCut = false;
  usage: Usage | undefined;
  /** Result of a turn that is stopped without waiting for its end. */
  refusal: Fields | undefined;
  readonly #turn: HarnessTurn;
  readonly #session: LiveSession;
  readonly #watcher: NativeTurnWatcher;
  readonly #mirror: ClaudeTurnMirror;
  readonly #end = Promise.withResolvers<Fields>();
  readonly #stop = Promise.withResolvers<Stop>();
  /** Ids of sent input that the program has not accepted yet. */
  readonly #sent = new Set<string>();
  #written: Promise<void> = Promise.resolve();
  #answers = 0;
  #counted = 0;
  #onLine: (() => void) | undefined;
  #compacting = false;
  /** Later output is not part of the turn. */
  #isOver = false;

  constructor(turn: HarnessTurn, session: LiveSession, watcher: NativeTurnWatcher) {
    this.#turn = turn;
    this.#session = session;
    this.#watcher = watcher;
    this.ended = this.#end.promise;
    this.ended.catch(() => undefined);
    this.stops = this.#stop.promise;
    const { provider, id: model } = turn.model;
    this.#mirror = new ClaudeTurnMirror(
      { provider, model },
      {
        message: (message) => {
          watcher.onMessage(message);
          this.#emit({ type: "message", message });
          if (message.role === "toolResult") this.#resulted(message);
        },
        delta: (type, delta) => this.#emit({ type, delta }),
        called: ({ id, name, arguments: args }) => {
          this.#knownCall(id);
          this.#emit({ type: "tool.started", toolCallId: id, toolName: name, arguments: args });
        },
        answered: (usage, reason) => this.#answered(usage, reason),
      },
    );
  }

  /** Input may join without splitting a call from its result, or an answer. */
  get isAtRest(): boolean {
    return this.#mirror.isAtRest;
  }

  get isAnswering(): boolean {
    return this.#mirror.isAnswering;
  }

  /** Complete answers of the model, with known tokens. */
  get answers(): number {
    return this.#counted;
  }

  /** Resolves when the program has reported that many answers and the results of their calls; false on timeout. */
  async reported(answers: number, ms: number): Promise<boolean> {
    const isReported = (): boolean => this.#counted >= answers && this.#mirror.isAtRest;
    const until = performance.now() + ms;
    while (!isReported()) {
      const left = until - performance.now();
      if (left <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#onLine = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return true;
  }

  /** Resolves when the reported messages are written. */
  written(): Promise<void> {
    return this.#written;
  }

  /** Input that joins the turn was sent to the program. */
  sent(id: string): void {
    this.#sent.add(id);
  }

  /** Ends the run: text that only streamed and calls without a result become messages. */
  close(how: "stop" | "aborted" | "error"): Promise<void> {
    this.#mirror.end(how);
    return this.#written;
  }

  closed(error: PagurusError): void {
    this.#end.reject(error);
  }

  asked(request: Fields): Promise<object> {
    return answerRequest(this.#turn, request);
  }

  line(line: Fields): void {
    this.#take(line);
    this.#onLine?.();
  }

  #take(line: Fields): void {
    // From an agent that Claude Code started itself; its work is reported by the parent's call.
    if (typeof line["parent_tool_use_id"] === "string") return;
    if (this.#isOver && line["type"] !== "result") return;
    switch (line["type"]) {
      case "stream_event":
        return this.#streamed(line);
      case "assistant":
        return this.#assistant(recordOf(line["message"]));
      case "user":
        return this.#user(line);
      case "system":
        return this.#system(stringOf(line["subtype"]), line);
      case "result":
        return this.#result(line);
      default:
        return undefined;
    }
  }

  #streamed(line: Fields): void {
    this.hasAnswered = true;
    const abandoned = countOf(recordOf(line["abandoned_blocks"])["from_block_index"]);
    if (abandoned !== undefined) this.wasCut = true;
    this.#mirror.stream(recordOf(line["event"]), abandoned);
  }

  #emit(event: TurnEvent): void {
    const before = this.#written;
    const done = this.#turn.io.emit(event);
    this.#written = before.then(() => done);
  }

  #notice(detail: string): void {
    this.#emit({ type: "notice", kind: "claude", detail });
  }

  #assistant(message: Fields): void {
    // Claude Code's own text, which the result line repeats.
    if (message["model"] === "<synthetic>") return;
    this.#mirror.whole(message);
  }

  #user(line: Fields): void {
    if (line["isReplay"] === true) return void this.#sent.delete(stringOf(line["uuid"]));
    const { content } = recordOf(line["message"]);
    this.#mirror.results(content);
    if (line["isSynthetic"] === true) this.hasStrayed = true;
    if (recordsOf(content).some(({ type }) => type === "tool_result") && this.#mirror.isAtRest)
      this.#watcher.onRest();
  }

  /** Some servers count from 0 in each answer, and Claude Code does not show the model the result of a call whose id it knows. */
  #knownCall(id: string): void {
    const { calls } = this.#session;
    if (calls.has(id) && !this.hasLost) {
      this.hasLost = true;
      this.#notice(
        "The model server reused the id of a tool call, and Claude Code does not show its model the result; the next turn shows it. Configure the server to give each call an id of its own.",
      );
    }
    calls.add(id);
  }

  #resulted({ toolCallId, toolName, content, isError }: Extract<AgentMessage, { role: "toolResult" }>): void {
    this.#emit({ type: "tool.completed", toolCallId, toolName, outcome: { content, isError } });
  }

  #answered(usage: Usage | undefined, reason: string): void {
    this.#answers += 1;
    // The gateway reports its own requests; without it the first was reported before the turn began.
    const reports = !this.#session.route;
    if (reports && this.#answers > 1) this.#turn.context.receipt({});
    if (usage) {
      this.#counted += 1;
      this.usage = usage;
      this.#session.tokens = usage.totalTokens;
      if (reports) this.#turn.context.receipt({ usage });
      this.#emit({ type: "usage", usage });
    }
    // A call may have its result before its answer is complete.
    if (reason === "tool_use" && this.#mirror.isAtRest) this.#watcher.onRest();
    // Otherwise it would ask the model to continue, with text of its own.
    if (reason === "max_tokens") {
      this.#isOver = true;
      this.#stop.resolve("length");
    } else if (this.#answers > this.#turn.maxSteps) this.#stop.resolve("max_steps");
  }

  #system(subtype: string, line: Fields): void {
    if (subtype === "init") return this.#begun(line);
    if (subtype === "api_retry") return this.#retry(line);
    if (subtype === "status" && line["status"] === "compacting") return this.#compaction();
    if (subtype === "status" && line["compact_result"] === "failed") this.#compacting = false;
    if (subtype === "compact_boundary") return this.#compacted(recordOf(line["compact_metadata"]));
  }

  #begun(line: Fields): void {
    const note = firstVersionNote(this.#session.home, "claude", stringOf(line["claude_code_version"]));
    if (note !== undefined) this.#notice(note);
    for (const { name, status } of recordsOf(line["mcp_servers"]))
      if (name === SERVER && status !== "connected")
        this.#notice(`The tools of the host are not connected to Claude Code (${stringOf(status)}).`);
  }

  #retry(line: Fields): void {
    if (this.#mirror.isAnswering) this.wasCut = true;
    this.#mirror.retry();
    if (isRefusedKey(line)) {
      this.refusal = asResult(line);
      return this.#stop.resolve("refused");
    }
    const status = countOf(line["error_status"]);
    this.#emit({
      type: "model.retry",
      attempt: countOf(line["attempt"]) ?? 1,
      delayMs: countOf(line["retry_delay_ms"]) ?? 0,
      reason: status === undefined ? stringOf(line["error"]) : `HTTP ${status}`,
    });
  }

  /** Never attributed to the engine. */
  #compaction(): void {
    if (this.#compacting) return;
    this.#compacting = true;
    const tokensBefore = this.#session.tokens ?? 0;
    this.#emit({ type: "compaction.started", ...this.#native("threshold"), tokensBefore });
  }

  #native(trigger: "threshold" | "manual"): {
    lane: "harness";
    trigger: "threshold" | "manual";
    backend: string;
    ownsCompaction: boolean;
  } {
    const { ownsCompaction } = this.#turn.engine;
    return { lane: "harness", trigger, backend: BACKEND, ownsCompaction };
  }

  #compacted(about: Fields): void {
    this.#compaction();
    this.#compacting = false;
    this.hasStrayed = true;
    const tokensBefore = countOf(about["pre_tokens"]) ?? this.#session.tokens ?? 0;
    const tokensAfter = countOf(about["post_tokens"]) ?? 0;
    this.#session.tokens = tokensAfter;
    const facts = { ...this.#native("threshold"), tokensBefore, tokensAfter };
    this.#emit({ type: "compaction.completed", ...facts, handledBy: BACKEND });
    if (this.#turn.engine.governs)
      this.#notice(
        `Claude Code compacted its context by itself, which the engine ${this.#turn.engine.id} did not request; the next turn begins a new session from the engine's context.`,
      );
    this.#watcher.onCompacted();
  }

  #result(line: Fields): void {
    // More input was sent after the one that this result ends.
    if (this.#sent.size > 0 && line["is_error"] !== true) return;
    this.#end.resolve(line);
  }
}
