/** One turn of the host that follows what a program of the user's own says and is answered. */
import { createHash } from "node:crypto";
import { PagurusError } from "../../../contract/errors.ts";
import type { TurnEvent } from "../../../contract/events.ts";
import type {
  AssembledContext,
  CompactionQuestion,
  HarnessTurn,
  HarnessTurnResult,
} from "../../../contract/harness.ts";
import type { Pagurus } from "../../../contract/host.ts";
import type { AgentMessage, AssistantMessage, Usage, UserMessage } from "../../../contract/message.ts";
import type { InputPart } from "../../../contract/run.ts";
import type { ToolSet } from "../../../contract/tool.ts";
import { addUsage, inputTokens, NO_USAGE } from "../../../turn/usage.ts";
import type { WireAnswer, WireRequest } from "../dialect/dialect.ts";
import type { TurnTaker, WrapHarness } from "./harness.ts";
import { Recorded } from "./recorded.ts";
import { callIds } from "./said.ts";

export interface TurnHost {
  pagurus: Pick<Pagurus, "run">;
  harness: WrapHarness;
  agentId: string;
  /** Something of the turn did not go as the engine or the user wants it. */
  onProblem(sentence: string): void;
}

export interface TurnStart {
  sessionKey: string;
  cwd: string;
  /** Ref. */
  model: string;
  input: UserMessage;
  native: WireRequest["native"];
  /** Of a turn that this one goes on with. */
  recorded?: Recorded;
}

/** Nothing more is asked after `final`; `interrupted`: an answer has broken off, and the program may ask again. */
type State = "asking" | "final" | "interrupted" | "over";

/** How far before the live turn results of its calls are looked for, in elements of the request. */
const LOOKED_BACK = 64;

export class LiveTurn implements TurnTaker {
  readonly sessionKey: string;
  readonly native: WireRequest["native"];
  readonly recorded: Recorded;
  readonly #host: TurnHost;
  readonly #handed = Promise.withResolvers<HarnessTurn>();
  readonly #over = Promise.withResolvers<HarnessTurnResult>();
  #turn: HarnessTurn | undefined;
  #result: HarnessTurnResult | undefined;
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

  /** Resolves when the host has begun the turn. Throws what refuses a run. */
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

  /** False where the engine of the slot is the one that hands on what it is given. */
  get governs(): boolean {
    return this.#turn?.engine.governs === true;
  }

  get ownsCompaction(): boolean {
    return this.#turn?.engine.ownsCompaction === true;
  }

  /** Undefined before the host has begun it. */
  get tools(): ToolSet | undefined {
    return this.#turn?.tools;
  }

  get isFinal(): boolean {
    return this.#state === "final";
  }

  get isInterrupted(): boolean {
    return this.#state === "interrupted";
  }

  /** It has ended: by us, or the host has ended it, by its own deadline or since somebody stopped it. */
  get isOver(): boolean {
    return this.#state === "over";
  }

  run = async (turn: HarnessTurn): Promise<HarnessTurnResult> => {
    if (this.#result) {
      // What somebody said to the turn as it ended stands in the transcript, for the next one.
      await turn.takeInputs();
      return this.#result;
    }
    this.#turn = turn;
    turn.signal.addEventListener("abort", () => this.#finish("aborted"), { once: true });
    this.#handed.resolve(turn);
    return this.#over.promise;
  };

  /** Results of its calls that stand before what the program takes for the live turn. */
  async catchUpBefore({ items, prefixCount, liveFrom }: WireRequest): Promise<void> {
    const open = this.recorded.openCalls;
    if (open.size === 0 || this.isOver) return;
    const found: AgentMessage[] = [];
    for (let at = liveFrom - 1; at >= Math.max(prefixCount, liveFrom - LOOKED_BACK); at--)
      for (const message of (items[at]?.messages ?? []).toReversed())
        if (message.role === "toolResult" && open.has(message.toolCallId)) found.unshift(message);
    for (const message of found) await this.#record(message);
  }

  /** Records what is new of the live turn. */
  async catchUp(live: readonly AgentMessage[]): Promise<void> {
    const fresh = this.recorded.fresh(live);
    // It asks again: what had come of an answer before is only kept where the program keeps it.
    this.#state = "asking";
    for (const message of fresh) await this.#record(message);
  }

  /** Throws as `HarnessTurn.assemble`. */
  async assemble(overflow?: { message: string }): Promise<AssembledContext> {
    const turn = await this.#handed.promise;
    await turn.takeInputs();
    return turn.assemble(overflow ? { overflow } : undefined);
  }

  async answerCompaction(question: CompactionQuestion): Promise<{ summary: string } | undefined> {
    return (await this.#handed.promise).answerCompaction(question);
  }

  /** The program's provider has made the compaction that the engine was offered. */
  async compacted({ usage }: WireAnswer): Promise<void> {
    const turn = this.#turn;
    if (!turn || this.isOver) return;
    const backend = this.#host.harness.id;
    const about = {
      lane: "native" as const,
      trigger: "threshold" as const,
      backend,
      ownsCompaction: turn.engine.ownsCompaction,
      tokensBefore: usage ? inputTokens(usage) : 0,
    };
    await turn.emit({ type: "compaction.started", ...about });
    await turn.emit({
      type: "compaction.completed",
      ...about,
      tokensAfter: usage?.output ?? 0,
      handledBy: backend,
    });
  }

  sent(): void {
    this.#turn?.receipt({});
  }

  /** An error ends nothing: the program asks again, or its user does. */
  async answered(answer: WireAnswer): Promise<void> {
    const turn = this.#turn;
    if (!turn || this.isOver) return;
    const { message, usage, isComplete, error } = answer;
    if (usage) {
      this.#usage = addUsage(this.#usage, usage);
      await turn.emit({ type: "usage", usage });
      turn.receipt({ usage });
    }
    if (error) return;
    if (!isComplete) {
      this.#partial = wordsAlone(message);
      this.#state = "interrupted";
      return;
    }
    const { provider, id: model } = turn.model;
    await this.#record({ ...message, provider, model, ...(usage ? { usage } : {}) });
    this.#stopReason = message.stopReason === "length" ? "length" : "stop";
    this.#state = callIds(message).length > 0 ? "asking" : "final";
  }

  /** Ends the turn where it is; resolves when the host has settled it. Never throws. */
  async end(): Promise<void> {
    if (this.#state === "interrupted" && this.#partial) await this.#record(this.#partial);
    this.#finish(this.#state === "final" ? this.#stopReason : "aborted");
    await this.#settled;
  }

  /** Adds digests of what the transcript has of the turn, by entry. */
  noteOriginals(digests: Map<string, string>): void {
    for (const message of this.said) {
      const { entryId } = message;
      if (entryId !== undefined && !digests.has(entryId)) digests.set(entryId, digestOf(message));
    }
  }

  /** The program is about to drop what it has of the turn: its elements stand for that no more, as it may not have them. */
  forgetOriginals(digests: Map<string, string>): void {
    for (const { entryId } of this.said) if (entryId !== undefined) digests.set(entryId, "");
  }

  /** What the transcript has of it. */
  get said(): readonly AgentMessage[] {
    return this.#turn?.said() ?? [];
  }

  /** Entry of the input. */
  get inputEntryId(): string | undefined {
    return this.said[0]?.entryId;
  }

  #finish(stopReason: HarnessTurnResult["stopReason"]): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#result = { stopReason, usage: this.#usage };
    this.#over.resolve(this.#result);
  }

  async #record(message: AgentMessage): Promise<void> {
    this.recorded.note(message);
    if (this.isOver) return;
    await this.#turn?.emit({ type: "message", message: { ...message, timestamp: Date.now() } });
  }

  /** To the run's last event. Never throws: who waits for the turn to begin learns of a failure. */
  async #follow(run: AsyncIterable<TurnEvent>): Promise<void> {
    // Nobody may be waiting any more.
    this.#handed.promise.catch(() => undefined);
    for await (const event of run) {
      if (event.type === "context.degraded") this.#host.onProblem(`${event.stage}: ${event.reason}`);
      if (event.type !== "turn.failed") continue;
      const { code, message } = event.error;
      if (this.#turn) this.#host.onProblem(message);
      else this.#handed.reject(new PagurusError(code as PagurusError["code"], message));
    }
    this.#host.harness.forget(this.sessionKey, this);
    this.#finish("aborted");
  }
}

/** As a run takes an input, with its parts in their order. */
function inputOf({ content }: UserMessage): { prompt: string; parts?: InputPart[] } {
  if (typeof content === "string") return { prompt: content };
  const [first, ...rest] = content;
  if (first?.type === "text" && first.text !== "") return { prompt: first.text, parts: rest };
  return { prompt: "", parts: [...content] };
}

/** Calls that have broken off are none. */
function wordsAlone(message: AssistantMessage): AssistantMessage | undefined {
  const content = message.content.filter((part) => part.type === "text" && part.text.trim() !== "");
  return content.length === 0 ? undefined : { ...message, content, stopReason: "aborted" };
}

export function digestOf(message: AgentMessage): string {
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
