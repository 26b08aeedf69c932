/** One prompt of a native session, from its sending to its stop reason: its updates become our events as they come. */
import type { PlanStep, TurnEvent } from "../../contract/events.ts";
import type { HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage, Usage } from "../../contract/message.ts";
import type { ToolOutcome, ToolSet } from "../../contract/tool.ts";
import type { ServedCall } from "../../mcp/serve/serve-tools.ts";
import { fields, list, text, type Fields } from "./fields.ts";
import { TurnMirror } from "./mirror.ts";
import { callFor, News } from "./pairing.ts";
import { decide } from "./permissions.ts";
import type { OpenSession, SessionUser } from "./sessions.ts";
import { NativeCall } from "./tool-calls.ts";

const TOLD_MS = 1_000;

export interface PromptWatcher {
  agentId: string;
  label: string;
  /** Most answers of the model. */
  mostAnswers: number;
  /** The gateway tells the model the context, and of its requests. */
  isWired: boolean;
  /** A message of the turn, before the host is told. */
  onMessage(message: AgentMessage): void;
  /** The agent compacted its session. */
  onCompacted(): void;
}

/** Tokens as the agent reports them for the turn; nothing is invented for what it does not say. */
export function usageOf(value: unknown): Usage | undefined {
  const usage = fields(value);
  const count = (name: string): number | undefined => {
    const tokens = usage[name];
    return typeof tokens === "number" && tokens >= 0 ? tokens : undefined;
  };
  const [input, output] = [count("inputTokens"), count("outputTokens")];
  if (input === undefined || output === undefined) return undefined;
  const [cacheRead, cacheWrite, reasoning] = [
    count("cachedReadTokens"),
    count("cachedWriteTokens"),
    count("thoughtTokens"),
  ];
  const total = count("totalTokens") ?? input + output;
  // Some count what was read from a cache among the input, others beside it; the total tells which.
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
  const isBeside = total >= input + output + cached;
  return {
    input: isBeside ? input : Math.max(0, input - cached),
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
    totalTokens: total,
  };
}

function planSteps(entries: unknown): PlanStep[] {
  return list(entries)
    .map(fields)
    .map(({ content, status }) => ({
      step: text(content),
      status: status === "completed" ? "completed" : status === "in_progress" ? "inProgress" : "pending",
    }));
}

/** Not the last word on a call that has ended, told once more. */
function beginsCall({ sessionUpdate, status }: Fields): boolean {
  return sessionUpdate === "tool_call" && status !== "completed" && status !== "failed";
}

/** Of an agent that the agent itself has started. */
function isNested(update: Fields): boolean {
  return text(fields(fields(update["_meta"])["claudeCode"])["parentToolUseId"]) !== "";
}

export class PromptRun implements SessionUser {
  readonly tools: ToolSet;
  /** The agent compacted its session inside this prompt. */
  compacted = false;
  /** Resolves when the model has answered more often than it may. */
  readonly exceeded: Promise<"exceeded">;
  /** Set once the session is known; updates of it come from then on. */
  session: OpenSession | undefined;
  readonly #exceeds = Promise.withResolvers<"exceeded">();
  readonly #turn: HarnessTurn;
  readonly #watcher: PromptWatcher;
  readonly #mirror: TurnMirror;
  readonly #calls: NativeCall[] = [];
  /** The newest, by the ids that the agent gives. */
  readonly #byId = new Map<string, NativeCall>();
  readonly #hostTools: ReadonlySet<string>;
  #written: Promise<void> = Promise.resolve();
  /** Compactions under way, with the tokens before them. */
  readonly #compactions = new Map<string, number>();
  #answers = 0;
  readonly #news = new News();
  /** How long a call of a host's tool waits for the agent to tell of it, ms. */
  #toldMs = TOLD_MS;
  #isClosed = false;
  #failure: string | undefined;
  readonly #refusals: string[] = [];
  /** The agent was told to stop, or has ended: nobody is asked for leave any more. */
  readonly #stop = new AbortController();

  constructor(turn: HarnessTurn, watcher: PromptWatcher) {
    this.#turn = turn;
    this.#watcher = watcher;
    this.tools = turn.tools;
    this.exceeded = this.#exceeds.promise;
    this.#hostTools = new Set(turn.tools.specs.map(({ name }) => name));
    const { provider, id: model } = turn.model;
    this.#mirror = new TurnMirror({ provider, model }, (message) => {
      watcher.onMessage(message);
      this.#emit({ type: "message", message });
    });
  }

  /** Of the model, as far as they show. */
  get answers(): number {
    return this.#mirror.answers;
  }

  async heard(answers: number, ms: number): Promise<boolean> {
    const isHeard = (): true | undefined =>
      (this.answers >= answers && this.#calls.every(({ isEnded }) => isEnded)) || undefined;
    return (await this.#news.until(isHeard, ms)) ?? false;
  }

  update(update: Fields): void {
    this.#take(update);
    this.#news.tell();
  }

  #take(update: Fields): void {
    if (this.#isClosed) return;
    const isWords = text(update["sessionUpdate"]).endsWith("_chunk");
    if (isWords && isNested(update)) return;
    switch (update["sessionUpdate"]) {
      case "agent_message_chunk":
        return this.#words(update);
      case "agent_thought_chunk":
        return this.#thought(text(fields(update["content"])["text"]));
      case "tool_call":
      case "tool_call_update":
        return this.#tool(update);
      case "plan":
        return this.#emit({ type: "plan.updated", steps: planSteps(update["entries"]) });
      case "usage_update":
        return this.#counted(update["used"]);
      case "compaction_update":
        return this.#compaction(update);
      case "notice":
        return this.#noticed(update);
      case "session_info_update":
        return this.#codexSaid(fields(fields(update["_meta"])["codex"]));
      case "current_mode_update":
        if (this.session) this.session.mode = text(update["currentModeId"]) || this.session.mode;
        return;
      default:
        // Titles, config options, what the user said: nothing that the turn did.
        return;
    }
  }

  async permission(params: Fields): Promise<string | undefined> {
    if (this.#isClosed) return undefined;
    const told = fields(params["toolCall"]);
    const call = this.#callOf(told) ?? new NativeCall("unnamed");
    call.merge(told, this.#hostTools);
    this.#news.tell();
    if (call.part.id !== "unnamed") this.#announce(call);
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
    const call = await this.#news.until(claim, this.#toldMs);
    // An agent that tells of a call when it is over is not waited for again.
    if (!call) this.#toldMs = 0;
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

  /** The agent is told to stop: questions that are open are answered so. */
  stop(): void {
    this.#stop.abort();
  }

  /** Before input joins the turn. */
  split(): Promise<void> {
    this.#mirror.split();
    return this.#written;
  }

  /** What was not allowed, a line each. */
  get refusals(): readonly string[] {
    return this.#refusals;
  }

  /** What the agent says went wrong, where it ends its prompt as if nothing had; undefined where nothing did. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * After the end: last words and calls that nothing answered become messages too. `error`: what the agent answered;
   * words that only say it as well are none of the model's.
   */
  close(how: "stop" | "length" | "aborted" | "error", usage?: Usage, error?: string): Promise<void> {
    this.stop();
    if (error !== undefined) this.#mirror.unsay(error);
    for (const call of this.#calls) if (!call.isEnded && call.outcome) this.#ended(call, "completed");
    this.#isClosed = true;
    this.#news.tell();
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
    const done = this.#turn.emit(event);
    this.#written = before.then(() => done);
  }

  #words({ content, messageId }: Fields): void {
    const delta = text(fields(content)["text"]);
    if (delta === "") return;
    if (this.#failure !== undefined && typeof messageId !== "string") {
      this.#failure += delta;
      return;
    }
    this.#mirror.words(delta, text(messageId));
    this.#answered();
    this.#emit({ type: "text.delta", delta });
  }

  #thought(delta: string): void {
    if (delta === "") return;
    this.#mirror.thought(delta);
    this.#answered();
    this.#emit({ type: "thinking.delta", delta });
  }

  /** Undefined where the agent does not say which. */
  #callOf(update: Fields): NativeCall | undefined {
    const id = text(update["toolCallId"]);
    if (id === "") return undefined;
    const known = this.#byId.get(id);
    if (known && !(known.isEnded && beginsCall(update))) return known;
    // Some agents use an id again.
    const call = new NativeCall(known ? `${id}-${this.#calls.length}` : id);
    this.#calls.push(call);
    this.#byId.set(id, call);
    // What an agent within the agent does is told by the call that started it.
    if (!isNested(update)) {
      this.#mirror.call(call.part);
      this.#answered();
    }
    return call;
  }

  #tool(update: Fields): void {
    const isNew = update["sessionUpdate"] === "tool_call";
    const id = text(update["toolCallId"]);
    if (!isNew && !this.#byId.has(id) && this.session?.past.has(id)) return;
    const call = this.#callOf(update);
    if (!call || call.isEnded) return;
    const chunk = call.merge(update, this.#hostTools);
    const status = text(update["status"]);
    if (call.hasInput || status === "in_progress") this.#announce(call);
    if (chunk !== "") this.#emit({ type: "tool.output", toolCallId: call.part.id, chunk });
    if (status === "completed" || status === "failed") this.#ended(call, status);
  }

  #announce(call: NativeCall): void {
    if (call.isStarted) return;
    call.isStarted = true;
    const { id: toolCallId, name: toolName, arguments: given } = call.part;
    this.#emit({ type: "tool.started", toolCallId, toolName, arguments: given });
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

  /** The first request was told of when it was sent; a later one is known by its answer. */
  #answered(): void {
    const { answers } = this.#mirror;
    if (answers === this.#answers) return;
    this.#answers = answers;
    if (answers > 1 && !this.#watcher.isWired) this.#turn.receipt({});
    if (answers > this.#watcher.mostAnswers) this.#exceeds.resolve("exceeded");
  }

  #counted(used: unknown): void {
    if (typeof used === "number" && this.session) this.session.tokens = used;
  }

  #noticed(update: Fields): void {
    const detail = [text(update["title"]), text(update["description"])]
      .filter((words) => words !== "")
      .join(": ");
    if (detail !== "") this.#emit({ type: "notice", kind: "acp_agent", detail });
  }

  /** codex-acp tells failures of the model here, and their words as the agent's. */
  #codexSaid({ error, threadStatus }: Fields): void {
    if (fields(threadStatus)["type"] === "systemError") this.#failure ??= "";
    const { willRetry, message, additionalDetails } = fields(error);
    if (willRetry !== true) return;
    const attempt = Number(/(\d+)\/\d+/.exec(text(message))?.[1] ?? 1);
    const reason = text(additionalDetails) || text(message);
    this.#emit({ type: "model.retry", attempt, delayMs: 0, reason });
  }

  get #backend(): string {
    return `acp:${this.#watcher.agentId}`;
  }

  #about(): { lane: "native"; trigger: "threshold"; backend: string; ownsCompaction: boolean } {
    const { ownsCompaction } = this.#turn.engine;
    return { lane: "native", trigger: "threshold", backend: this.#backend, ownsCompaction };
  }

  /** Never taken for a compaction of the engine. */
  #compaction(update: Fields): void {
    const id = text(update["compactionId"]);
    const status = text(update["status"]);
    const begun = this.#compactions.get(id);
    const tokensBefore = begun ?? this.session?.tokens ?? 0;
    if (begun === undefined) {
      this.#compactions.set(id, tokensBefore);
      this.#emit({ type: "compaction.started", ...this.#about(), tokensBefore });
    }
    if (status === "failed" || status === "cancelled") {
      this.#compactions.delete(id);
      const reason = text(update["error"]) || `The agent's compaction was ${status}.`;
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
        detail: `${this.#watcher.label} compacted its session by itself, which the engine ${engineId} did not ask for; the next turn begins one anew from the engine's context.`,
      });
    this.#watcher.onCompacted();
  }
}
