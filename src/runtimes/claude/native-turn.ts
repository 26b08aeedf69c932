/** What a program says while a turn of the host runs in it: its lines become our events as they come. */
import type { PagurusError } from "../../contract/errors.ts";
import type { TurnEvent } from "../../contract/events.ts";
import type { HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage, Usage } from "../../contract/message.ts";
import { answerRequest } from "./approvals.ts";
import { asResult, isRefusedKey } from "./failure.ts";
import { count, fields, list, text, type Fields } from "./fields.ts";
import { SERVER } from "./history.ts";
import { TurnMirror } from "./mirror.ts";
import type { Listener } from "./process.ts";
import type { LiveSession } from "./sessions.ts";
import { driftOf } from "./version.ts";

const BACKEND = "claude-cli";

/** Why the native turn has to be stopped. */
export type Stop = "length" | "max_steps" | "refused";

export interface NativeTurnWatcher {
  /** A message of the turn, before the host is told. */
  onMessage(message: AgentMessage): void;
  /** The context was compacted inside the turn. */
  onCompacted(): void;
  /** The calls of a round have their results, or an answer has ended: input may join now. */
  onRest(): void;
}

export class NativeTurn implements Listener {
  /** Result line of the last thing that was asked. Rejects where the program ends. */
  readonly ended: Promise<Fields>;
  readonly stops: Promise<Stop>;
  /** Claude Code has put words of its own into the conversation, or has compacted it. */
  hasStrayed = false;
  /** The session lacks the result of a call. */
  hasLost = false;
  /** The model has answered, or begun to. */
  hasAnswered = false;
  /** A part of an answer was dropped, to be asked for again. */
  wasCut = false;
  usage: Usage | undefined;
  /** The end of a turn that is not waited for. */
  refusal: Fields | undefined;
  readonly #turn: HarnessTurn;
  readonly #session: LiveSession;
  readonly #watcher: NativeTurnWatcher;
  readonly #mirror: TurnMirror;
  readonly #end = Promise.withResolvers<Fields>();
  readonly #stop = Promise.withResolvers<Stop>();
  /** Ids of what the program was told and has not taken up yet. */
  readonly #told = new Set<string>();
  #written: Promise<void> = Promise.resolve();
  #answers = 0;
  #counted = 0;
  #onLine: (() => void) | undefined;
  #compacting = false;
  /** What is still said until it stops is not the turn's. */
  #isOver = false;

  constructor(turn: HarnessTurn, session: LiveSession, watcher: NativeTurnWatcher) {
    this.#turn = turn;
    this.#session = session;
    this.#watcher = watcher;
    this.ended = this.#end.promise;
    this.ended.catch(() => undefined);
    this.stops = this.#stop.promise;
    const { provider, id: model } = turn.model;
    this.#mirror = new TurnMirror(
      { provider, model },
      {
        message: (message) => {
          watcher.onMessage(message);
          this.#emit({ type: "message", message });
          if (message.role === "toolResult") this.#resulted(message);
        },
        delta: (type, delta) => this.#emit({ type, delta }),
        called: ({ id, name, arguments: given }) => {
          this.#knownCall(id);
          this.#emit({ type: "tool.started", toolCallId: id, toolName: name, arguments: given });
        },
        answered: (usage, reason) => this.#answered(usage, reason),
      },
    );
  }

  /** Input may join without coming between a call and its result, or into an answer. */
  get isAtRest(): boolean {
    return this.#mirror.isAtRest;
  }

  get isAnswering(): boolean {
    return this.#mirror.isAnswering;
  }

  /** Answers of the model that are whole, and whose tokens are known. */
  get answers(): number {
    return this.#counted;
  }

  /** Resolves when the program has told that many answers, and the results of their calls; false where it does not in time. */
  async heard(answers: number, ms: number): Promise<boolean> {
    const isHeard = (): boolean => this.#counted >= answers && this.#mirror.isAtRest;
    const until = performance.now() + ms;
    while (!isHeard()) {
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

  /** What was told so far is written down. */
  written(): Promise<void> {
    return this.#written;
  }

  /** The program is told something that joins the turn. */
  told(id: string): void {
    this.#told.add(id);
  }

  /** After the end: what only streamed, and calls that nothing answered, become messages too. */
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
    // Of an agent that Claude Code started by itself; what it does is told by its parent's call.
    if (typeof line["parent_tool_use_id"] === "string") return;
    if (this.#isOver && line["type"] !== "result") return;
    switch (line["type"]) {
      case "stream_event":
        return this.#streamed(line);
      case "assistant":
        return this.#assistant(fields(line["message"]));
      case "user":
        return this.#user(line);
      case "system":
        return this.#system(text(line["subtype"]), line);
      case "result":
        return this.#result(line);
      default:
        return undefined;
    }
  }

  #streamed(line: Fields): void {
    this.hasAnswered = true;
    const abandoned = count(fields(line["abandoned_blocks"])["from_block_index"]);
    if (abandoned !== undefined) this.wasCut = true;
    this.#mirror.stream(fields(line["event"]), abandoned);
  }

  #emit(event: TurnEvent): void {
    const before = this.#written;
    const done = this.#turn.emit(event);
    this.#written = before.then(() => done);
  }

  #notice(detail: string): void {
    this.#emit({ type: "notice", kind: "claude", detail });
  }

  #assistant(message: Fields): void {
    // Words of Claude Code's own: what the result line says too.
    if (message["model"] === "<synthetic>") return;
    this.#mirror.whole(message);
  }

  #user(line: Fields): void {
    if (line["isReplay"] === true) return void this.#told.delete(text(line["uuid"]));
    const { content } = fields(line["message"]);
    this.#mirror.results(content);
    if (line["isSynthetic"] === true) this.hasStrayed = true;
    if (list(content).some(({ type }) => type === "tool_result") && this.#mirror.isAtRest)
      this.#watcher.onRest();
  }

  /** Some servers count from 0 in each answer, and Claude Code shows the result of a call whose id it knows to no one. */
  #knownCall(id: string): void {
    const { calls } = this.#session;
    if (calls.has(id) && !this.hasLost) {
      this.hasLost = true;
      this.#notice(
        "The model server gave a tool call an id that it had given before, and Claude Code does not show its model the result; the next turn shows it. Let the server give each call an id of its own.",
      );
    }
    calls.add(id);
  }

  #resulted({ toolCallId, toolName, content, isError }: Extract<AgentMessage, { role: "toolResult" }>): void {
    this.#emit({ type: "tool.completed", toolCallId, toolName, outcome: { content, isError } });
  }

  #answered(usage: Usage | undefined, reason: string): void {
    this.#answers += 1;
    // The gateway tells of its requests itself; of others the first was told of before the turn began.
    const tells = !this.#session.route;
    if (tells && this.#answers > 1) this.#turn.receipt({});
    if (usage) {
      this.#counted += 1;
      this.usage = usage;
      this.#session.tokens = usage.totalTokens;
      if (tells) this.#turn.receipt({ usage });
      this.#emit({ type: "usage", usage });
    }
    // A call may have its result before the answer that it is of is whole.
    if (reason === "tool_use" && this.#mirror.isAtRest) this.#watcher.onRest();
    // It would ask the model by itself to go on, in words of its own.
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
    if (subtype === "compact_boundary") return this.#compacted(fields(line["compact_metadata"]));
  }

  #begun(line: Fields): void {
    const drift = driftOf(text(line["claude_code_version"]));
    if (drift !== undefined && !this.#session.toldOfDrift) this.#notice(drift);
    this.#session.toldOfDrift = true;
    for (const { name, status } of list(line["mcp_servers"]))
      if (name === SERVER && status !== "connected")
        this.#notice(`The tools of the host are not connected to Claude Code (${text(status)}).`);
  }

  #retry(line: Fields): void {
    if (this.#mirror.isAnswering) this.wasCut = true;
    this.#mirror.retry();
    if (isRefusedKey(line)) {
      this.refusal = asResult(line);
      return this.#stop.resolve("refused");
    }
    const status = count(line["error_status"]);
    this.#emit({
      type: "model.retry",
      attempt: count(line["attempt"]) ?? 1,
      delayMs: count(line["retry_delay_ms"]) ?? 0,
      reason: status === undefined ? text(line["error"]) : `HTTP ${status}`,
    });
  }

  /** Never taken for a compaction of the engine. */
  #compaction(): void {
    if (this.#compacting) return;
    this.#compacting = true;
    const tokensBefore = this.#session.tokens ?? 0;
    this.#emit({ type: "compaction.started", ...this.#native("threshold"), tokensBefore });
  }

  #native(trigger: "threshold" | "manual"): {
    lane: "native";
    trigger: "threshold" | "manual";
    backend: string;
    ownsCompaction: boolean;
  } {
    const { ownsCompaction } = this.#turn.engine;
    return { lane: "native", trigger, backend: BACKEND, ownsCompaction };
  }

  #compacted(about: Fields): void {
    this.#compaction();
    this.#compacting = false;
    this.hasStrayed = true;
    const tokensBefore = count(about["pre_tokens"]) ?? this.#session.tokens ?? 0;
    const tokensAfter = count(about["post_tokens"]) ?? 0;
    this.#session.tokens = tokensAfter;
    const told = { ...this.#native("threshold"), tokensBefore, tokensAfter };
    this.#emit({ type: "compaction.completed", ...told, handledBy: BACKEND });
    if (this.#turn.engine.governs)
      this.#notice(
        `Claude Code compacted its context by itself, which the engine ${this.#turn.engine.id} did not ask for; the next turn begins anew from the engine's context.`,
      );
    this.#watcher.onCompacted();
  }

  #result(line: Fields): void {
    // Something that it was told comes after what this was the end of.
    if (this.#told.size > 0 && line["is_error"] !== true) return;
    this.#end.resolve(line);
  }
}
