/**
 * One turn of the host on Codex: its native turns, the steering that joins them, and what their thread holds afterwards.
 * Source: harness port, "Implementation plan"; the design, "Codex".
 */
import { setImmediate as immediate } from "node:timers/promises";
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type {
  AssembledContext,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "@pagurus/contract/harness/harness";
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import { RpcError } from "@pagurus/core/rpc/peer";
import { extended, type Held } from "../thread/thread-state.ts";
import { endOf, type Steer } from "../thread/thread-steering.ts";
import { turnFailure } from "./codex-failure.ts";
import { inputOf, inputsOf, MOST_INPUT_CHARS, nativePart } from "./app-server/codex-input.ts";
import { interrupted } from "./app-server/interrupt.ts";
import { fragmentItems } from "./codex-items.ts";
import { CodexNativeTurn, type NativeEnd } from "./codex-native-turn.ts";
import { openPlace, SEAMS, type Place, type TurnSurroundings } from "./codex-place.ts";
import type { TurnStartParams, TurnStartResponse, TurnSteerParams, UserInput } from "./protocol.ts";
import { RolloutTail } from "./app-server/rollout-tail.ts";
import { closedBinding, openBinding, sandboxPolicy, type ThreadIdentity } from "./codex-thread.ts";
import { REQUEST_MS } from "./codex-threads.ts";
import { afterCompaction, afterRequests, staleParts, staleTokens } from "./shown-instructions.ts";
import { WiredTurn } from "./wire/codex-wire.ts";

export type { TurnSurroundings } from "./codex-place.ts";

/** Timeout for input and turns that wait for Codex's own compaction, ms, and the polling interval of a turn. */
const COMPACTION_MS = 120_000;
const COMPACTION_POLL_MS = 250;

/** Start of a turn, or of its continuation on another thread, in addition to the assembled context. */
export interface TurnBegin {
  /** Additional context that came with the newest input. */
  set: AdditionalContext | null;
  /** Fragments of the turn that its thread already has. */
  fragmentCount: number;
}

export class CodexTurn {
  /** Codex has accepted a native turn of it. */
  hasStarted = false;
  readonly #turn: HarnessTurn;
  readonly #around: TurnSurroundings;
  readonly #place: Place;
  readonly #begin: TurnBegin;
  /** No later turn continues the thread. */
  #isForgotten = false;
  /** The binding records a running turn. */
  #isOpen = true;
  /** Input that could not join the native turn any more; the next one begins with it. */
  readonly #late: SteeringMessage[] = [];
  /** Input that is being sent to Codex. */
  #sending: Promise<boolean> | undefined;
  /** Codex has accepted input in the native turn. */
  #isSteered = false;
  /** Set when requests go through the gateway. */
  readonly #wired: WiredTurn | undefined;
  /** Fragments of the turn that Codex has. */
  #fragmentCount: number;

  private constructor(turn: HarnessTurn, around: TurnSurroundings, place: Place, begin: TurnBegin) {
    this.#turn = turn;
    this.#around = around;
    this.#place = place;
    this.#begin = begin;
    this.#wired = place.route && new WiredTurn(turn);
    // A new thread has none of the fragments of another.
    this.#fragmentCount = place.isNew ? 0 : Math.max(begin.fragmentCount, place.fragmentCount);
  }

  /** Finds the thread and adds what it lacks. Throws Codex's refusal, `runtime_failed`. */
  static async begin(
    turn: HarnessTurn,
    context: AssembledContext,
    begin: TurnBegin,
    around: TurnSurroundings,
  ): Promise<CodexTurn> {
    return new CodexTurn(turn, around, await openPlace(turn, context, around), begin);
  }

  /** The gateway handles refusals of the provider. */
  get isWired(): boolean {
    return this.#wired !== undefined;
  }

  /** The model sees the engine's context, whatever the thread holds. */
  get #onWire(): boolean {
    return this.#place.use.kind === "wired";
  }

  /** The thread shows instructions that were replaced: a new one is shorter, without a compaction. */
  get hasStale(): boolean {
    return this.#place.shown !== undefined && staleTokens(this.#place.shown) > 0;
  }

  /** Fragments of the turn that its thread has. */
  get fragmentCount(): number {
    return this.#fragmentCount;
  }

  /** Runs the first native turn with the input that its thread lacks; none when it has every message. */
  first(): Promise<HarnessTurnResult> {
    const { inputs, words, images } = this.#place;
    this.#holds(inputs);
    const native = inputs.flatMap((message, index) => inputOf(message, index === 0 ? words : undefined));
    return this.#native([...images.map(nativePart), ...native], this.#begin.set);
  }

  /** Whether the thread of the last native turn still exists and its content is known. */
  get canContinue(): boolean {
    const { server, thread } = this.#place;
    return !this.#isForgotten && server.isAlive && this.#around.threads.has(server, thread.id);
  }

  /** Runs a native turn with input that arrived after the last one ended, or could not join it; none when Codex has it already. */
  further(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    this.#holds(inputs);
    return this.#native(inputsOf(inputs), setOf(inputs));
  }

  #holds(messages: readonly AgentMessage[]): void {
    const { use } = this.#place;
    if (use.kind === "held" && use.held) use.held = extended(use.held, messages);
  }

  /** The content of the thread is unknown from now on. */
  #holdsUnknown(): void {
    const { use } = this.#place;
    if (use.kind === "held") use.held = undefined;
  }

  /**
   * A new thread has no fragments and gets the whole set, of which Codex injects what is new to it. Another one keeps its
   * fragments, also when a restart made Codex forget them: new is what the host has just recorded. On the wire they are in
   * the engine's context.
   */
  #fragmentsOf(set: AdditionalContext | null): AdditionalContext | null {
    const { fragments } = this.#turn.context;
    const fresh = new Set(fragments.slice(this.#fragmentCount).map(({ key }) => key));
    this.#fragmentCount = fragments.length;
    if (this.#onWire) return null;
    if (set === null || this.#place.isNew) return set;
    return Object.fromEntries(Object.entries(set).filter(([key]) => fresh.has(key)));
  }

  /** One native turn, with the steering that arrives meanwhile. */
  async #native(input: UserInput[], set: AdditionalContext | null): Promise<HarnessTurnResult> {
    const { server, thread, use, isTheirs, route } = this.#place;
    const wired = this.#wired;
    if (!this.#isOpen && (use.kind === "held" || use.kind === "kept"))
      this.#turn.thread.bind(openBinding(thread.id, use.identity, this.#turn.turnId, isTheirs));
    this.#isOpen = true;
    this.#isSteered = false;
    const tail = this.#tail();
    const native = new CodexNativeTurn(this.#turn, {
      tail,
      thread,
      onMessage: (message) => this.#holds([message]),
      onCompacted: () => (this.#onWire ? undefined : this.#showAgain()),
      inputsSent: () => this.#inputsSent(),
      wired,
    });
    const unlisten = server.listen(thread.id, native);
    thread.inUse = true;
    let end: NativeEnd;
    try {
      const parts = this.#place.shown ? staleParts(this.#place.shown) : [];
      if (!wired)
        this.#turn.context.receipt({ seam: SEAMS[use.kind], ...(parts.length > 0 ? { parts } : {}) });
      route?.serve(wired?.turn);
      native.nativeTurnId ??= await this.#start(input, this.#fragmentsOf(set));
      this.hasStarted = true;
      end = await this.#untilEnd(native);
    } catch (error) {
      await native.close(this.#turn.signal.aborted ? "aborted" : "error");
      // Codex would refuse the thread again; a child that ended has left the thread intact.
      if (!this.#onWire || error instanceof RpcError) this.#forget();
      throw error;
    } finally {
      route?.serve(undefined);
      unlisten();
      this.#around.threads.rest(server, thread);
    }
    return this.#ended(native, end);
  }

  /** Throws `runtime_failed`. */
  #tail(): RolloutTail | undefined {
    const { thread, server } = this.#place;
    if (thread.rollout === undefined) return undefined;
    try {
      return new RolloutTail(thread.rollout);
    } catch (error) {
      this.#around.threads.rest(server, thread);
      this.#forget();
      const sentence =
        "The file in which Codex stores the thread cannot be read; send the request again, and it continues in a new thread.";
      throw new PagurusError("runtime_failed", sentence, { cause: error });
    }
  }

  /** Waits while Codex compacts the thread. Throws `live_turn_too_large`. */
  async #start(input: UserInput[], additionalContext: AdditionalContext | null): Promise<string> {
    checkLength(input);
    const { server, thread, sandbox } = this.#place;
    const { thinking, signal, cwd } = this.#turn;
    const effort = thinking === undefined || thinking === "off" ? {} : { effort: thinking };
    const { changed } = this.#place;
    const mode = changed === undefined ? {} : { collaborationMode: collaborationMode(this.#turn, changed) };
    // The sandbox of a loaded thread follows the turn's permission mode.
    const policy = thread.sandbox === sandbox ? {} : { sandboxPolicy: sandboxPolicy(sandbox, cwd) };
    thread.sandbox = sandbox;
    const params: TurnStartParams = {
      threadId: thread.id,
      input,
      additionalContext,
      ...effort,
      ...policy,
      ...mode,
    };
    const until = performance.now() + COMPACTION_MS;
    for (;;) {
      try {
        const options = { deadlineMs: REQUEST_MS };
        const { turn } = await server.request<TurnStartResponse>("turn/start", params, options);
        return turn.id;
      } catch (error) {
        if (!isCompacting(error) || signal.aborted || performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, COMPACTION_POLL_MS));
      }
    }
  }

  /** Codex drops additional context when it compacts, but still counts it as sent; shows it again. */
  #showAgain(): void {
    const { server, thread } = this.#place;
    const lost = this.#turn.context.fragmentsLost();
    this.#fragmentCount = this.#turn.context.fragments.length;
    if (lost.length === 0) return;
    this.#around.threads
      .injectItems(server, thread.id, fragmentItems(lost), this.#turn.signal)
      .catch((error: unknown) =>
        this.#turn.io.degrade(
          "assemble",
          `additional context could not be shown again after Codex compacted: ${String(error)}`,
        ),
      );
  }

  async #untilEnd(native: CodexNativeTurn): Promise<NativeEnd> {
    const steer: Steer = ({ aborted }) => {
      this.#sending = this.#steer(native);
      return Promise.race([this.#sending, aborted.then(() => true)]);
    };
    const end = await endOf(this.#turn, { ended: native.ended, stops: [native.exceeded], steer });
    return typeof end === "string" ? this.#interrupt(native) : end;
  }

  /** Resolves when input that arrived before the call was sent. */
  async #inputsSent(): Promise<void> {
    let awaited: Promise<unknown> | undefined;
    for (;;) {
      // The watcher of input has run by then.
      await immediate();
      const sending = this.#sending;
      if (sending === awaited) return;
      await sending?.catch(() => undefined);
      awaited = sending;
    }
  }

  /** False when no more input can come. */
  async #steer(native: CodexNativeTurn): Promise<boolean> {
    await native.compactionOver(COMPACTION_MS);
    await native.split();
    const inputs = await this.#turn.io.takeInputs();
    if (inputs.length === 0) return false;
    const { server, thread } = this.#place;
    // Codex appends it after the current answer, the transcript at its time of arrival: the orders differ.
    this.#holdsUnknown();
    const fragmentCount = this.#fragmentCount;
    const params: TurnSteerParams = {
      threadId: thread.id,
      expectedTurnId: native.nativeTurnId ?? "",
      input: inputsOf(inputs),
      additionalContext: this.#fragmentsOf(setOf(inputs)),
    };
    try {
      await server.request("turn/steer", params, { deadlineMs: REQUEST_MS });
      this.#isSteered = true;
    } catch (error) {
      // The turn is ending, or Codex compacts: the input is in the transcript, and the next native turn begins with it.
      if (!(error instanceof RpcError)) throw error;
      this.#fragmentCount = fragmentCount;
      this.#late.push(...inputs);
    }
    return true;
  }

  async #interrupt(native: CodexNativeTurn): Promise<NativeEnd> {
    const { server, thread } = this.#place;
    const params = { threadId: thread.id, turnId: native.nativeTurnId ?? "" };
    return (await interrupted(server, params, native.ended)) ?? { status: "interrupted" };
  }

  async #ended(native: CodexNativeTurn, end: NativeEnd): Promise<HarnessTurnResult> {
    const { aborted } = this.#turn.signal;
    await native.close(end.status === "completed" ? "stop" : aborted ? "aborted" : "error");
    const usage = native.usage ?? { input: 0, output: 0, totalTokens: 0 };
    // The thread belongs to the turn until that has ended.
    if (end.status === "completed" && this.#late.length > 0 && !aborted)
      return this.further(this.#late.splice(0));
    if (end.status === "completed" && this.#isSteered && native.endsWithInput && !aborted)
      return this.further([]);
    this.#countShown(native);
    if (!this.#keep(native, end)) this.#forget();
    if (end.status === "failed") throw this.#wired?.failure ?? turnFailure(end.error);
    if (end.status === "completed") return { stopReason: "stop", usage };
    return { stopReason: aborted ? "aborted" : "max_steps", usage };
  }

  #countShown({ compacted, responses }: CodexNativeTurn): void {
    const { shown } = this.#place;
    if (shown) this.#place.shown = compacted ? afterCompaction(shown) : afterRequests(shown, responses);
  }

  /** Whether the next turn may continue the thread: its content is known, or managed by Codex. */
  #keep(native: CodexNativeTurn, end: NativeEnd): boolean {
    const { use } = this.#place;
    switch (use.kind) {
      case "once":
        return false;
      case "wired":
        return true;
      case "kept":
        this.#close(use.identity);
        return true;
      case "held":
        if (!use.held || end.status !== "completed" || native.compacted) return false;
        this.#close(use.identity, use.held);
        return true;
    }
  }

  #close(identity: ThreadIdentity, held?: Held): void {
    const { thread, isTheirs, shown } = this.#place;
    const anchor = this.#turn.context.newestEntryId();
    this.#isOpen = false;
    this.#turn.thread.bind(
      closedBinding(thread.id, identity, { held, anchor, isTheirs, tokens: thread.tokens, shown }),
    );
  }

  /** Unbinds the thread: the next turn begins a new one from the engine's context. */
  #forget(): void {
    const { use, server, thread, isTheirs } = this.#place;
    this.#holdsUnknown();
    if (use.kind === "once") return;
    this.#isForgotten = true;
    this.#turn.thread.bind(undefined);
    if (!isTheirs) this.#around.threads.leave(server, thread.id);
  }
}

/** Codex's way to change developer instructions on an existing thread: it shows new ones once. */
function collaborationMode(
  { model, thinking }: Pick<HarnessTurn, "model" | "thinking">,
  instructions: string,
): NonNullable<TurnStartParams["collaborationMode"]> {
  const effort = thinking === undefined || thinking === "off" ? null : thinking;
  const settings = { model: model.id, reasoning_effort: effort, developer_instructions: instructions };
  return { mode: "default", settings };
}

/** Throws `live_turn_too_large`. */
function checkLength(input: readonly UserInput[]): void {
  const length = input.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (length <= MOST_INPUT_CHARS) return;
  throw new PagurusError(
    "live_turn_too_large",
    `The input has ${length} characters and Codex accepts ${MOST_INPUT_CHARS}; shorten it, or name a file that the agent can read.`,
    { details: { length } },
  );
}

/** The set that came with the newest input. */
export function setOf(messages: readonly SteeringMessage[]): AdditionalContext | null {
  return messages.at(-1)?.additionalContext ?? null;
}

function isCompacting(error: unknown): boolean {
  return error instanceof RpcError && /not ?steerable|compact/i.test(error.message);
}
