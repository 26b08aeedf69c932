/** One turn of the host that follows the messages and answers of the user's own program. */
import { createHash } from "node:crypto";
import { PagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type {
  AssembledContext,
  CompactionQuestion,
  HarnessRun,
  HarnessTurn,
  HarnessTurnResult,
} from "@pagurus/contract/harness/harness";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { AgentMessage, AssistantMessage, Usage, UserMessage } from "@pagurus/contract/message";
import type { InputPart } from "@pagurus/contract/host/run";
import type { ToolSet } from "@pagurus/contract/harness/tool";
import { lostParts } from "@pagurus/core/data/lost-parts";
import { Pace } from "@pagurus/core/platform/pace";
import { addUsage, inputTokens, NO_USAGE } from "@pagurus/core/tokens/add-usage";
import type { WireAnswer, WireRequest } from "../dialect/wire-dialect.ts";
import { ownPartsOf } from "../request/own-parts.ts";
import { noteName } from "./wrap-claims.ts";
import type { TurnTaker, WrapHarness } from "./wrap-harness.ts";
import { Recorded } from "./recorded.ts";
import { callIdsOf } from "./request-messages.ts";
import { defined } from "@pagurus/core/data/defined";

export interface TurnHost {
  pagurus: Pick<Pagurus, "run">;
  harness: WrapHarness;
  agentId: string;
  /** Called when a part of the turn did not go as the engine or the user wants. */
  onProblem(sentence: string): void;
}

export interface TurnStart {
  sessionKey: string;
  cwd: string;
  /** Ref. */
  model: string;
  input: UserMessage;
  native: WireRequest["native"];
  /** Messages of the turn that this one continues. */
  recorded?: Recorded;
}

/** After `final` nothing more is requested; `interrupted`: an answer was cut, and the program may retry. */
type State = "asking" | "final" | "interrupted" | "over";

/** How far before the live turn results of its calls are searched, elements of the request. */
const LOOKED_BACK = 64;

export class LiveTurn implements TurnTaker {
  readonly sessionKey: string;
  readonly native: WireRequest["native"];
  readonly recorded: Recorded;
  readonly #host: TurnHost;
  readonly #handed = Promise.withResolvers<HarnessTurn>();
  readonly #over = Promise.withResolvers<HarnessTurnResult>();
  #turn: HarnessTurn | undefined;
  #settled: Promise<void> = Promise.resolve();
  #state: State = "asking";
  #partial: AssistantMessage | undefined;
  #stopReason: HarnessTurnResult["stopReason"] = "stop";
  #usage: Usage = NO_USAGE;

  private constructor(host: TurnHost, { sessionKey, native, recorded }: TurnStart) {
    this.#host = host;
    this.sessionKey = sessionKey;
    this.native = native;
    this.recorded = recorded ?? new Recorded();
  }

  /** Resolves when the host has begun the turn. Throws the errors that refuse a run. */
  static async begin(host: TurnHost, start: TurnStart): Promise<LiveTurn> {
    const live = new LiveTurn(host, start);
    const { sessionKey, cwd, model, input } = start;
    host.harness.expect(sessionKey, live);
    const run = host.pagurus.run({
      ...inputOf(input),
      sessionKey,
      agentId: host.agentId,
      runtime: host.harness.id,
      model,
      cwd,
      permission: "auto",
    });
    live.#settled = live.#follow(run);
    await live.#handed.promise;
    live.recorded.note(input);
    return live;
  }

  /** False if the slot's engine returns its input unchanged. */
  get governs(): boolean {
    return this.#turn?.engine.governs === true;
  }

  /** Of the turn's model, tokens; undefined until the host has begun the turn. */
  get contextWindow(): number | undefined {
    return this.#turn?.model.contextWindow;
  }

  get ownsCompaction(): boolean {
    return this.#turn?.engine.ownsCompaction === true;
  }

  /** Undefined until the host has begun it. */
  get tools(): ToolSet | undefined {
    return this.#turn?.tools;
  }

  get isFinal(): boolean {
    return this.#state === "final";
  }

  get isInterrupted(): boolean {
    return this.#state === "interrupted";
  }

  /** Whether the turn has ended: by us, or by the host, at its own deadline or because it was stopped. */
  get isOver(): boolean {
    return this.#state === "over";
  }

  start(turn: HarnessTurn): HarnessRun {
    const run = (): Promise<HarnessTurnResult> => {
      this.#turn = turn;
      noteName(turn.thread, this.native.threadId);
      const onAbort = (): void => this.#finish("aborted");
      turn.signal.addEventListener("abort", onAbort, { once: true });
      // A signal of several signals is kept, with its listeners, until one fires: the turn would stay in memory.
      void this.#over.promise.then(() => turn.signal.removeEventListener("abort", onAbort));
      this.#handed.resolve(turn);
      return this.#over.promise;
    };
    // Input that joined the turn at its end is in the transcript, for the next turn.
    return { run, continueWith: () => this.#over.promise };
  }

  /** Records results of its calls that come before what the program treats as the live turn. */
  async catchUpBefore({ items, prefixCount, liveFrom }: WireRequest): Promise<void> {
    const open = this.recorded.openCalls;
    if (open.size === 0 || this.isOver) return;
    const found: AgentMessage[] = [];
    for (let at = liveFrom - 1; at >= Math.max(prefixCount, liveFrom - LOOKED_BACK); at--)
      for (const message of (items[at]?.messages ?? []).toReversed())
        if (message.role === "toolResult" && open.has(message.toolCallId)) found.unshift(message);
    for (const message of found) await this.#record(message);
  }

  /** Records the new messages of the live turn. */
  async catchUp(live: readonly AgentMessage[]): Promise<void> {
    const fresh = this.recorded.fresh(live);
    // The program retries: a previous partial answer is only kept if the program keeps it.
    this.#state = "asking";
    const pace = new Pace();
    for (const message of fresh) {
      if (pace.due) await pace.rest();
      await this.#record(message);
    }
  }

  /** Throws as `HarnessTurn.assemble`. */
  async assemble(overflow?: { message: string }): Promise<AssembledContext> {
    const turn = await this.#handed.promise;
    await turn.io.takeInputs();
    return turn.context.assemble(overflow ? { overflow } : undefined);
  }

  async answerCompaction(question: CompactionQuestion): Promise<{ summary: string } | undefined> {
    return (await this.#handed.promise).context.answerCompaction(question);
  }

  /** Reports the compaction that the program's provider made after it was offered to the engine. */
  async compacted({ usage }: WireAnswer): Promise<void> {
    const turn = this.#turn;
    if (!turn || this.isOver) return;
    const backend = this.#host.harness.id;
    const about = {
      lane: "harness" as const,
      trigger: "threshold" as const,
      backend,
      ownsCompaction: turn.engine.ownsCompaction,
      tokensBefore: usage ? inputTokens(usage) : 0,
    };
    await turn.io.emit({ type: "compaction.started", ...about });
    await turn.io.emit({
      type: "compaction.completed",
      ...about,
      tokensAfter: usage?.output ?? 0,
      handledBy: backend,
    });
  }

  sent(request: WireRequest): void {
    this.#turn?.context.receipt({ own: ownPartsOf(request) });
  }

  /** Records an answer. An error does not end the turn: the program retries, or its user does. */
  async answered(answer: WireAnswer): Promise<void> {
    const turn = this.#turn;
    if (!turn || this.isOver) return;
    const { message, usage, cache, isComplete, error, degraded } = answer;
    if (degraded) turn.io.degrade("answer", lostParts(degraded));
    if (usage) {
      this.#usage = addUsage(this.#usage, usage);
      await turn.io.emit({ type: "usage", usage });
      turn.context.receipt({ usage, ...defined({ cache }) });
    } else if (error) turn.context.receipt({ failed: true });
    if (error) return;
    if (!isComplete) {
      this.#partial = wordsAlone(message);
      this.#state = "interrupted";
      return;
    }
    const { provider, id: model } = turn.model;
    await this.#record({ ...message, provider, model, ...defined({ usage }) });
    this.#stopReason = message.stopReason === "length" ? "length" : "stop";
    this.#state = callIdsOf(message).length > 0 ? "asking" : "final";
  }

  /** Ends the turn at its current state; resolves when the host has settled it. Never throws. */
  async end(): Promise<void> {
    if (this.#state === "interrupted" && this.#partial) await this.#record(this.#partial);
    this.#finish(this.#state === "final" ? this.#stopReason : "aborted");
    await this.#settled;
  }

  /** Adds digests of the turn's messages in the transcript, by entry. */
  noteOriginals(digests: Map<string, string>): void {
    for (const message of this.messages) {
      const { entryId } = message;
      if (entryId !== undefined && !digests.has(entryId)) digests.set(entryId, messageDigest(message));
    }
  }

  /** Called before the program drops its messages of the turn: its elements no longer represent them, as it may not have them. */
  forgetOriginals(digests: Map<string, string>): void {
    for (const { entryId } of this.messages) if (entryId !== undefined) digests.set(entryId, "");
  }

  /** The turn's messages in the transcript. */
  get messages(): readonly AgentMessage[] {
    return this.#turn?.context.messages() ?? [];
  }

  /** Entry id of the input. */
  get inputEntryId(): string | undefined {
    return this.messages[0]?.entryId;
  }

  #finish(stopReason: HarnessTurnResult["stopReason"]): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#over.resolve({ stopReason, usage: this.#usage });
  }

  async #record(message: AgentMessage): Promise<void> {
    this.recorded.note(message);
    if (this.isOver) return;
    await this.#turn?.io.emit({ type: "message", message: { ...message, timestamp: Date.now() } });
  }

  /** Follows the run to its last event. Never throws: a failure is reported to the caller that waits for the turn to begin. */
  async #follow(run: AsyncIterable<TurnEvent>): Promise<void> {
    // There may be no waiting caller any more.
    this.#handed.promise.catch(() => undefined);
    for await (const event of run) {
      // Images of the program are sent as they are, whatever is known of its model.
      if (event.type === "context.degraded" && !event.reason.includes("is not known to take images"))
        this.#host.onProblem(`${event.stage}: ${event.reason}`);
      if (event.type !== "turn.failed") continue;
      const { code, message } = event.error;
      if (this.#turn) this.#host.onProblem(message);
      else this.#handed.reject(new PagurusError(code as PagurusError["code"], message));
    }
    this.#host.harness.forget(this.sessionKey, this);
    this.#finish("aborted");
  }
}

/** The input in the form of a run, with its parts in order. */
function inputOf({ content }: UserMessage): { prompt: string; parts?: InputPart[] } {
  if (typeof content === "string") return { prompt: content };
  const [first, ...rest] = content;
  if (first?.type === "text" && first.text !== "") return { prompt: first.text, parts: rest };
  return { prompt: "", parts: [...content] };
}

/** The text of a cut answer; truncated calls are dropped. */
function wordsAlone(message: AssistantMessage): AssistantMessage | undefined {
  const content = message.content.filter((part) => part.type === "text" && part.text.trim() !== "");
  return content.length === 0 ? undefined : { ...message, content, stopReason: "aborted" };
}

export function messageDigest(message: AgentMessage): string {
  return createHash("sha256")
    .update(
      JSON.stringify([
        message.role,
        message.role === "toolResult" ? message.toolCallId : "",
        message.content,
      ]),
    )
    .digest("base64url");
}
