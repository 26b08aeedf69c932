/** One prompt of a native session, from its sending to its stop reason: updates become our events as they arrive. */
import type { PlanStep, TurnEvent } from "@pagurus/contract/host/events";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage, Usage } from "@pagurus/contract/message";
import type { ToolOutcome, ToolSet } from "@pagurus/contract/harness/tool";
import { type Fields, listOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { ServedCall } from "@pagurus/host/mcp/serve/serve-tools";
import { addUsage } from "@pagurus/core/tokens/add-usage";
import { reportedUsage } from "../thread/reported-usage.ts";
import { AcpTurnMirror } from "./acp-mirror.ts";
import { callFor, News } from "./acp-pairing.ts";
import { decide } from "./acp-approvals.ts";
import { modelsReported, readModel, type RanModel } from "./acp-model.ts";
import type { OpenSession, SessionUser } from "./acp-sessions.ts";
import { NativeCall } from "./acp-tool-calls.ts";

const PAIRING_MS = 1_000;
/** Id of a call that a permission request does not name. */
const UNNAMED = "unnamed";

export interface NativeTurnWatcher {
  agentId: string;
  label: string;
  /** Limit on the answers of the model. */
  mostAnswers: number;
  /** The gateway sends the model the context, and reports its requests. */
  isWired: boolean;
  /** A message of the turn, before the host gets it. */
  onMessage(message: AgentMessage): void;
  /** The agent compacted its session. */
  onCompacted(): void;
  /** Which model runs, in all prompts of the turn. */
  model: RanModel;
}

/**
 * Tokens as the agent reports them with the end of a prompt, or (Qwen Code) with each answer of its model; Gemini CLI reports them as its
 * quota.
 */
export function usageOf({ usage, _meta }: Fields): Usage | undefined {
  const caches = { cacheRead: "cachedReadTokens", cacheWrite: "cachedWriteTokens" };
  const names = { ...caches, reasoning: "thoughtTokens", total: "totalTokens" };
  const meta = recordOf(_meta);
  const counts = recordOf(recordOf(meta["quota"])["token_count"]);
  const quota = { inputTokens: counts["input_tokens"], outputTokens: counts["output_tokens"] };
  const found = [usage, meta["usage"], quota].map((value) => reportedUsage(value, names));
  return found.find((each) => each !== undefined);
}

function planSteps(entries: unknown): PlanStep[] {
  return listOf(entries)
    .map(recordOf)
    .map(({ content, status }) => ({
      step: stringOf(content),
      status: status === "completed" ? "completed" : status === "in_progress" ? "inProgress" : "pending",
    }));
}

/** Whether the update starts a call, and is not a repeated final update. */
function beginsCall({ sessionUpdate, status }: Fields): boolean {
  return sessionUpdate === "tool_call" && status !== "completed" && status !== "failed";
}

/** From a subagent that the agent itself has started. */
function isNested(update: Fields): boolean {
  return stringOf(recordOf(recordOf(update["_meta"])["claudeCode"])["parentToolUseId"]) !== "";
}

/** Its model's calls end an answer; a busy agent may report them, and request permission, before the words. */
function isClaudeCode({ _meta }: Fields): boolean {
  return "claudeCode" in recordOf(_meta);
}

export class AcpNativeTurn implements SessionUser {
  readonly tools: ToolSet;
  /** The agent compacted its session inside this prompt. */
  compacted = false;
  /** Resolves when the model has exceeded its limit of answers. */
  readonly exceeded: Promise<"exceeded">;
  /** Sum of what the agent reports with its model's answers; undefined where it reports nothing there. */
  usage: Usage | undefined;
  #session: OpenSession | undefined;
  readonly #exceeds = Promise.withResolvers<"exceeded">();
  readonly #turn: HarnessTurn;
  readonly #watcher: NativeTurnWatcher;
  readonly #mirror: AcpTurnMirror;
  readonly #calls: NativeCall[] = [];
  /** The newest call by the agent's id, which may be reused. */
  readonly #byId = new Map<string, NativeCall>();
  readonly #hostTools: ReadonlySet<string>;
  #written: Promise<void> = Promise.resolve();
  /** Running compactions, with the tokens before them. */
  readonly #compactions = new Map<string, number>();
  #answers = 0;
  readonly #news = new News();
  /** How long a call of a host's tool waits for the agent's report of it, ms. */
  #pairingMs = PAIRING_MS;
  #isClosed = false;
  #failure: string | undefined;
  readonly #refusals: string[] = [];
  /** Fires when the agent was cancelled or has ended: no permission prompt is shown any more. */
  readonly #stop = new AbortController();

  constructor(turn: HarnessTurn, watcher: NativeTurnWatcher) {
    this.#turn = turn;
    this.#watcher = watcher;
    this.tools = turn.tools;
    this.exceeded = this.#exceeds.promise;
    this.#hostTools = new Set(turn.tools.specs.map(({ name }) => name));
    this.#mirror = new AcpTurnMirror(watcher.model.recorded, (message) => {
      watcher.onMessage(message);
      this.#emit({ type: "message", message });
    });
  }

  get session(): OpenSession | undefined {
    return this.#session;
  }

  /** Set once the session is known; its updates arrive from then on. */
  set session(session: OpenSession | undefined) {
    this.#session = session;
    this.#watcher.model.session = session?.model;
    this.#mirror.identity = this.#watcher.model.recorded;
  }

  /** Models of the requests, as the agent reports them. */
  ranOn(report: Fields): void {
    this.#watcher.model.report(modelsReported(report));
    this.#mirror.identity = this.#watcher.model.recorded;
  }

  /** Answers of the model, as far as they show. */
  get answers(): number {
    return this.#mirror.answers;
  }

  async reported(answers: number, ms: number): Promise<boolean> {
    const isReported = (): true | undefined =>
      (this.answers >= answers && this.#calls.every(({ isEnded }) => isEnded)) || undefined;
    return (await this.#news.until(isReported, ms)) ?? false;
  }

  update(update: Fields): void {
    this.#take(update);
    this.#news.report();
  }

  #take(update: Fields): void {
    if (this.#isClosed) return;
    const isWords = stringOf(update["sessionUpdate"]).endsWith("_chunk");
    if (isWords && isNested(update)) return;
    switch (update["sessionUpdate"]) {
      case "agent_message_chunk":
        this.#addUsage(usageOf(update));
        return this.#words(update);
      case "agent_thought_chunk":
        return this.#thought(update);
      case "tool_call":
      case "tool_call_update":
        return this.#tool(update);
      case "plan":
        return this.#emit({ type: "plan.updated", steps: planSteps(update["entries"]) });
      case "usage_update":
        this.ranOn(update);
        return this.#counted(update["used"]);
      case "config_option_update":
        return this.#configured(update);
      case "compaction_update":
        return this.#compaction(update);
      case "notice":
        return this.#noticed(update);
      case "session_info_update":
        return this.#codexStatus(recordOf(recordOf(update["_meta"])["codex"]));
      case "current_mode_update":
        if (this.session) this.session.mode = stringOf(update["currentModeId"]) || this.session.mode;
        return;
      default:
        // Titles, the user's own text: not the work of the turn.
        return;
    }
  }

  async permission(params: Fields): Promise<string | undefined> {
    if (this.#isClosed) return undefined;
    const reported = recordOf(params["toolCall"]);
    const call = this.#callOf(reported) ?? new NativeCall(UNNAMED);
    call.merge(reported, this.#hostTools);
    this.#news.report();
    if (call.part.id !== UNNAMED) this.#announce(call);
    const signal = AbortSignal.any([this.#turn.signal, this.#stop.signal]);
    const { optionId, refusal } = await decide({ tools: this.#turn.tools, signal }, params, call);
    if (refusal !== undefined) {
      call.refusal = refusal;
      this.#refusals.push(`${call.part.name} (${call.title || call.kind}): ${refusal}`);
    }
    return optionId;
  }

  async called(served: ServedCall): Promise<string | undefined> {
    const claim = (): NativeCall | null | undefined => (this.#isClosed ? null : this.#claim(served));
    const call = await this.#news.until(claim, this.#pairingMs);
    // An agent that reports a call only at its end is not waited for again.
    if (!call) this.#pairingMs = 0;
    return call?.part.id;
  }

  #claim(served: ServedCall): NativeCall | undefined {
    const named = this.#byId.get(served.id);
    const call = named && !named.isEnded ? named : callFor(served, this.#calls);
    if (call) call.isCalled = true;
    return call;
  }

  outcome({ id }: ServedCall, outcome: ToolOutcome): void {
    const call = this.#calls.find(({ part }) => part.id === id);
    if (call) call.outcome = outcome;
  }

  /** The agent was cancelled: open permission prompts are cancelled too. */
  stop(): void {
    this.#stop.abort();
  }

  /** Call it before input joins the turn. */
  split(): Promise<void> {
    this.#mirror.split();
    return this.#written;
  }

  /** The rejected calls, one line each. */
  get refusals(): readonly string[] {
    return this.#refusals;
  }

  /** The failure that the agent reports although its prompt ends normally; undefined without one. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * Ends the run: remaining text and calls without a result become messages. `error`: the agent's error response; text that
   * only repeats it is dropped.
   */
  close(how: "stop" | "length" | "aborted" | "error", usage?: Usage, error?: string): Promise<void> {
    this.stop();
    if (error !== undefined) this.#mirror.dropRepeated(error);
    this.#endDenied(false);
    for (const call of this.#calls) if (!call.isEnded && call.outcome) this.#ended(call, "completed");
    this.#isClosed = true;
    this.#news.report();
    for (const id of this.#byId.keys()) this.session?.past.add(id);
    this.#mirror.end(how, usage);
    for (const tokensBefore of this.#compactions.values())
      this.#emit({
        type: "compaction.failed",
        ...this.#about(),
        tokensBefore,
        handledBy: this.#backend,
        reason: "The turn ended before it.",
      });
    this.#compactions.clear();
    return this.#written;
  }

  #emit(event: TurnEvent): void {
    const before = this.#written;
    const done = this.#turn.io.emit(event);
    this.#written = before.then(() => done);
  }

  #words({ content, messageId }: Fields): void {
    const delta = stringOf(recordOf(content)["text"]);
    if (delta === "") return;
    if (this.#failure !== undefined && typeof messageId !== "string") {
      this.#failure += delta;
      return;
    }
    this.#endDenied(this.#mirror.mayBelong(stringOf(messageId)));
    this.#mirror.words(delta, stringOf(messageId));
    this.#answered();
    this.#emit({ type: "text.delta", delta });
  }

  #addUsage(usage: Usage | undefined): void {
    if (usage) this.usage = this.usage ? addUsage(this.usage, usage) : usage;
  }

  #thought({ content, messageId }: Fields): void {
    const delta = stringOf(recordOf(content)["text"]);
    if (delta === "") return;
    this.#endDenied(this.#mirror.mayBelong(stringOf(messageId)));
    this.#mirror.thought(delta, stringOf(messageId));
    this.#answered();
    this.#emit({ type: "thinking.delta", delta });
  }

  /** Undefined when the update names no call. */
  #callOf(update: Fields): NativeCall | undefined {
    const id = stringOf(update["toolCallId"]);
    if (id === "") return undefined;
    const known = this.#byId.get(id);
    if (known && !(known.isEnded && beginsCall(update))) return known;
    // Some agents reuse an id.
    const call = new NativeCall(known ? `${id}-${this.#calls.length}` : id, isClaudeCode(update));
    this.#calls.push(call);
    this.#byId.set(id, call);
    // A nested agent's work is reported by the call that started it.
    if (!isNested(update)) {
      this.#mirror.call(call.part, call.isLast);
      this.#answered();
    }
    return call;
  }

  #tool(update: Fields): void {
    const isNew = update["sessionUpdate"] === "tool_call";
    const id = stringOf(update["toolCallId"]);
    if (!isNew && !this.#byId.has(id) && this.session?.past.has(id)) return;
    const call = this.#callOf(update);
    if (!call || call.isEnded) return;
    const chunk = call.merge(update, this.#hostTools);
    const status = stringOf(update["status"]);
    if (call.hasInput || status === "in_progress") this.#announce(call);
    if (chunk !== "") this.#emit({ type: "tool.output", toolCallId: call.part.id, chunk });
    if (status === "completed" || status === "failed") this.#ended(call, status);
  }

  #announce(call: NativeCall): void {
    if (call.isStarted) return;
    call.isStarted = true;
    const { id: toolCallId, name: toolName, arguments: args } = call.part;
    this.#emit({ type: "tool.started", toolCallId, toolName, arguments: args });
  }

  #ended(call: NativeCall, status: string): void {
    this.#announce(call);
    call.isEnded = true;
    const content = call.result();
    const isError = call.outcome ? call.outcome.isError : call.failed(status);
    const { id: toolCallId, name: toolName } = call.part;
    this.#mirror.result(toolCallId, { content, isError });
    this.#emit({ type: "tool.completed", toolCallId, toolName, outcome: { content, isError } });
  }

  /**
   * Denied calls whose end the agent reports after its model's next words, or never. `isSameAnswer`: those words may be of the answer that
   * made the calls.
   */
  #endDenied(isSameAnswer: boolean): void {
    for (const call of this.#calls)
      if (!call.isEnded && call.refusal !== undefined && !(call.isLast && isSameAnswer))
        this.#ended(call, "failed");
  }

  /** The first request was reported when it was sent; a later one is known by its answer. */
  #answered(): void {
    const { answers } = this.#mirror;
    if (answers === this.#answers) return;
    this.#answers = answers;
    if (answers > 1 && !this.#watcher.isWired) this.#turn.context.receipt({});
    if (answers > this.#watcher.mostAnswers) this.#exceeds.resolve("exceeded");
  }

  /** An agent may change its model inside a turn, such as for another one of lower demand. */
  #configured(update: Fields): void {
    const { session } = this;
    const model = readModel(update);
    if (!session || !model) return;
    const isSame = model.current === session.model.current;
    session.model = { ...model, ...(isSame ? { setFor: session.model.setFor } : {}) };
    this.session = session;
  }

  #counted(used: unknown): void {
    if (typeof used === "number" && this.session) this.session.tokens = used;
  }

  #noticed(update: Fields): void {
    const detail = [stringOf(update["title"]), stringOf(update["description"])]
      .filter((words) => words !== "")
      .join(": ");
    if (detail !== "") this.#emit({ type: "notice", kind: "acp_agent", detail });
  }

  /** codex-acp reports failures of the model here, and repeats them as the agent's text. */
  #codexStatus({ error, threadStatus }: Fields): void {
    if (recordOf(threadStatus)["type"] === "systemError") this.#failure ??= "";
    const { willRetry, message, additionalDetails } = recordOf(error);
    if (willRetry !== true) return;
    const attempt = Number(/(\d+)\/\d+/.exec(stringOf(message))?.[1] ?? 1);
    const reason = stringOf(additionalDetails) || stringOf(message);
    this.#emit({ type: "model.retry", attempt, delayMs: 0, reason });
  }

  get #backend(): string {
    return `acp:${this.#watcher.agentId}`;
  }

  #about(): { lane: "harness"; trigger: "threshold"; backend: string; ownsCompaction: boolean } {
    const { ownsCompaction } = this.#turn.engine;
    return { lane: "harness", trigger: "threshold", backend: this.#backend, ownsCompaction };
  }

  /** Never attributed to the engine. */
  #compaction(update: Fields): void {
    const id = stringOf(update["compactionId"]);
    const status = stringOf(update["status"]);
    const begun = this.#compactions.get(id);
    const tokensBefore = begun ?? this.session?.tokens ?? 0;
    if (begun === undefined) {
      this.#compactions.set(id, tokensBefore);
      this.#emit({ type: "compaction.started", ...this.#about(), tokensBefore });
    }
    if (status === "failed" || status === "cancelled") {
      this.#compactions.delete(id);
      const reason = stringOf(update["error"]) || `The agent's compaction was ${status}.`;
      this.#emit({
        type: "compaction.failed",
        ...this.#about(),
        tokensBefore,
        handledBy: this.#backend,
        reason,
      });
    }
    if (status !== "completed") return;
    this.#compactions.delete(id);
    this.compacted = true;
    const tokensAfter = this.session?.tokens ?? 0;
    this.#emit({
      type: "compaction.completed",
      ...this.#about(),
      tokensBefore,
      tokensAfter,
      handledBy: this.#backend,
    });
    const { governs, id: engineId } = this.#turn.engine;
    if (governs && !this.#watcher.isWired)
      this.#emit({
        type: "notice",
        kind: "native_compaction",
        detail: `${this.#watcher.label} compacted its session by itself, which the engine ${engineId} did not request; the next turn begins a new one from the engine's context.`,
      });
    this.#watcher.onCompacted();
  }
}
