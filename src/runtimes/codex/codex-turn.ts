/**
 * A turn of the host on Codex: the native turns that it takes, the steering that joins them, and what their thread holds
 * afterwards. Source: harness port, "Implementation plan"; the design, "Codex".
 */
import { setImmediate as immediate } from "node:timers/promises";
import type { AdditionalContext } from "../../contract/fragment.ts";
import type {
  AssembledContext,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "../../contract/harness.ts";
import { PagurusError } from "../../contract/errors.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { RpcError } from "../../rpc/peer.ts";
import { extended } from "../../native/held.ts";
import { turnFailure } from "./failure.ts";
import { inputOf, inputsOf, MOST_INPUT_CHARS } from "./input.ts";
import { interrupted } from "./interrupt.ts";
import { fragmentItems } from "./items.ts";
import { NativeTurn, type NativeEnd } from "./native-turn.ts";
import { openPlace, type Place, type TurnSurroundings } from "./place.ts";
import type { TurnStartParams, TurnStartResponse, TurnSteerParams, UserInput } from "./protocol.ts";
import { RolloutTail } from "./rollout-tail.ts";
import { closedBinding, openBinding, sandboxPolicy } from "./thread.ts";
import { REQUEST_MS } from "./threads.ts";
import { WiredTurn } from "./wire.ts";

export type { TurnSurroundings } from "./place.ts";

/** How long input and turns wait for Codex's own compaction, ms, and how often a turn asks whether it is over. */
const COMPACTION_MS = 120_000;
const COMPACTION_POLL_MS = 250;

/** What a turn, or its going on on another thread, begins with beside the assembled context. */
export interface TurnBegin {
  /** Additional context that came with the newest input. */
  set: AdditionalContext | null;
  /** Fragments of the turn that its thread was given before. */
  given: number;
}

type Turned = "input" | "aborted" | "exceeded" | NativeEnd;

export class CodexTurn {
  /** Codex has taken a native turn of it. */
  hasStarted = false;
  readonly #turn: HarnessTurn;
  readonly #around: TurnSurroundings;
  readonly #place: Place;
  readonly #begin: TurnBegin;
  /** Nobody goes on with the thread. */
  #isForgotten = false;
  /** The binding says that a turn runs on it. */
  #isOpen = true;
  /** Input that could not join the native turn any more; the next one begins with it. */
  readonly #late: SteeringMessage[] = [];
  /** Input that has come is on its way to Codex. */
  #giving: Promise<unknown> | undefined;
  /** Codex has taken input in the native turn. */
  #isSteered = false;
  /** Where requests go through the gateway. */
  readonly #wired: WiredTurn | undefined;
  /** Fragments of the turn that Codex has been given. */
  #given: number;

  private constructor(turn: HarnessTurn, around: TurnSurroundings, place: Place, begin: TurnBegin) {
    this.#turn = turn;
    this.#around = around;
    this.#place = place;
    this.#begin = begin;
    this.#wired = place.route && new WiredTurn(turn);
    // A new thread knows nothing of what another was given.
    this.#given = place.isNew ? 0 : Math.max(begin.given, place.given);
  }

  /** Finds the thread and gives it what it lacks. Throws what Codex refuses, `runtime_failed`. */
  static async begin(
    turn: HarnessTurn,
    context: AssembledContext,
    begin: TurnBegin,
    around: TurnSurroundings,
  ): Promise<CodexTurn> {
    return new CodexTurn(turn, around, await openPlace(turn, context, around), begin);
  }

  /** The gateway sees to what the provider refuses. */
  get isWired(): boolean {
    return this.#wired !== undefined;
  }

  /** The model sees the engine's context, whatever the thread holds. */
  get #onWire(): boolean {
    return this.#place.seam === "wire";
  }

  /** Fragments of the turn that its thread was given. */
  get given(): number {
    return this.#given;
  }

  /** With the input that its thread lacks; none where that has all that was said. */
  first(): Promise<HarnessTurnResult> {
    const { inputs, words } = this.#place;
    this.#holds(inputs);
    const said = inputs.flatMap((message, index) => inputOf(message, index === 0 ? words : undefined));
    return this.#native(said, this.#begin.set);
  }

  /** Whether the thread of the last native turn is still there, and known. */
  get canGoOn(): boolean {
    const { server, thread } = this.#place;
    return !this.#isForgotten && server.isAlive && this.#around.threads.has(server, thread.id);
  }

  /** Input that came when a native turn had ended, or could not join it any more; none where Codex has it already. */
  further(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    this.#holds(inputs);
    return this.#native(inputsOf(inputs), setOf(inputs));
  }

  #holds(messages: readonly AgentMessage[]): void {
    const place = this.#place;
    if (place.held) place.held = extended(place.held, messages);
  }

  /**
   * A new thread knows no fragments and gets the whole set, of which Codex injects what is new to it. Another one has
   * what it was given, also where a restart made Codex forget that: what is new is what the host has just written down. On
   * the wire they stand in the engine's context.
   */
  #fragmentsOf(set: AdditionalContext | null): AdditionalContext | null {
    const { fragments } = this.#turn;
    const fresh = new Set(fragments.slice(this.#given).map(({ key }) => key));
    this.#given = fragments.length;
    if (this.#onWire) return null;
    if (set === null || this.#place.isNew) return set;
    return Object.fromEntries(Object.entries(set).filter(([key]) => fresh.has(key)));
  }

  /** One native turn, with the steering that comes meanwhile. */
  async #native(input: UserInput[], set: AdditionalContext | null): Promise<HarnessTurnResult> {
    const { server, thread, identity, isTheirs, route } = this.#place;
    const wired = this.#wired;
    if (identity && !this.#isOpen && !this.#onWire)
      this.#turn.bind(openBinding(thread.id, identity, this.#turn.turnId, isTheirs));
    this.#isOpen = true;
    this.#isSteered = false;
    const tail = this.#tail();
    const native = new NativeTurn(this.#turn, {
      tail,
      thread,
      onMessage: (message) => this.#holds([message]),
      onCompacted: () => (this.#onWire ? undefined : this.#showAgain()),
      inputsGiven: () => this.#inputsGiven(),
      wired,
    });
    const unlisten = server.listen(thread.id, native);
    thread.inUse = true;
    let end: NativeEnd;
    try {
      if (!wired) this.#turn.receipt({ seam: this.#place.seam });
      route?.serve(wired?.turn);
      native.nativeTurnId ??= await this.#start(input, this.#fragmentsOf(set));
      this.hasStarted = true;
      end = await this.#untilEnd(native);
    } catch (error) {
      await native.close(this.#turn.signal.aborted ? "aborted" : "error");
      // What Codex refuses of the thread it refuses again; a child that ended has left the thread behind.
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
        "The file that Codex keeps the thread in cannot be read; send the request again, and it goes on in a new thread.";
      throw new PagurusError("runtime_failed", sentence, { cause: error });
    }
  }

  /** Waits while Codex compacts the thread. Throws `live_turn_too_large`. */
  async #start(input: UserInput[], additionalContext: AdditionalContext | null): Promise<string> {
    checkLength(input);
    const { server, thread, sandbox } = this.#place;
    const { thinking, signal, cwd } = this.#turn;
    const effort = thinking === undefined || thinking === "off" ? {} : { effort: thinking };
    // What a loaded thread may do follows the turn's permission mode.
    const policy = thread.sandbox === sandbox ? {} : { sandboxPolicy: sandboxPolicy(sandbox, cwd) };
    thread.sandbox = sandbox;
    const params: TurnStartParams = { threadId: thread.id, input, additionalContext, ...effort, ...policy };
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

  /** Codex drops what it was given as additional context when it compacts, and remembers that it was given. */
  #showAgain(): void {
    const { server, thread } = this.#place;
    const lost = this.#turn.fragmentsLost();
    this.#given = this.#turn.fragments.length;
    if (lost.length === 0) return;
    this.#around.threads
      .injectItems(server, thread.id, fragmentItems(lost), this.#turn.signal)
      .catch((error: unknown) =>
        this.#turn.degrade(
          "assemble",
          `additional context could not be shown again after Codex compacted: ${String(error)}`,
        ),
      );
  }

  async #untilEnd(native: NativeTurn): Promise<NativeEnd> {
    const watch = new AbortController();
    try {
      return await this.#watched(native, abortOf(this.#turn.signal, watch.signal));
    } finally {
      // A signal with a listener is kept for good, and the whole turn with it.
      watch.abort();
    }
  }

  async #watched(native: NativeTurn, aborted: Promise<"aborted">): Promise<NativeEnd> {
    for (;;) {
      const arrives = this.#turn.inputArrives().then(() => "input" as const);
      const what: Turned = await Promise.race([native.ended, aborted, native.exceeded, arrives]);
      if (what === "aborted" || what === "exceeded") return this.#interrupt(native);
      if (what !== "input") return what;
      const giving = this.#steer(native);
      this.#giving = giving;
      const steered = await Promise.race([giving, aborted]);
      if (steered === "aborted") return this.#interrupt(native);
      if (!steered) break;
    }
    const stopped = Promise.race([aborted, native.exceeded]);
    return Promise.race([native.ended, stopped.then(() => this.#interrupt(native))]);
  }

  /** What had come before it is asked. */
  async #inputsGiven(): Promise<void> {
    let given: Promise<unknown> | undefined;
    for (;;) {
      // Whoever waits for input has seen by then that some has come.
      await immediate();
      const giving = this.#giving;
      if (giving === given) return;
      await giving?.catch(() => undefined);
      given = giving;
    }
  }

  /** False where nothing more can come. */
  async #steer(native: NativeTurn): Promise<boolean> {
    await native.compactionOver(COMPACTION_MS);
    await native.split();
    const inputs = await this.#turn.takeInputs();
    if (inputs.length === 0) return false;
    const { server, thread } = this.#place;
    // Codex puts it behind the answer that is under way, the transcript where it was said: no longer the same order.
    this.#place.held = undefined;
    const given = this.#given;
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
      // The turn is ending, or Codex compacts: it is in the transcript already, and the next native turn begins with it.
      if (!(error instanceof RpcError)) throw error;
      this.#given = given;
      this.#late.push(...inputs);
    }
    return true;
  }

  async #interrupt(native: NativeTurn): Promise<NativeEnd> {
    const { server, thread } = this.#place;
    const params = { threadId: thread.id, turnId: native.nativeTurnId ?? "" };
    return (await interrupted(server, params, native.ended)) ?? { status: "interrupted" };
  }

  async #ended(native: NativeTurn, end: NativeEnd): Promise<HarnessTurnResult> {
    const { aborted } = this.#turn.signal;
    await native.close(end.status === "completed" ? "stop" : aborted ? "aborted" : "error");
    const usage = native.usage ?? { input: 0, output: 0, totalTokens: 0 };
    // The thread is the turn's until that has ended.
    if (end.status === "completed" && this.#late.length > 0 && !aborted)
      return this.further(this.#late.splice(0));
    if (end.status === "completed" && this.#isSteered && native.endsWithInput && !aborted)
      return this.further([]);
    if (!this.#keep(native, end)) this.#forget();
    if (end.status === "failed") throw this.#wired?.failure ?? turnFailure(end.error);
    if (end.status === "completed") return { stopReason: "stop", usage };
    return { stopReason: aborted ? "aborted" : "max_steps", usage };
  }

  /** Whether the next turn may go on with the thread: what it holds is known, or is Codex's own affair. */
  #keep(native: NativeTurn, end: NativeEnd): boolean {
    const { identity, held, keeps, thread, isTheirs } = this.#place;
    if (!identity) return false;
    if (this.#onWire) return true;
    const known = keeps || (held !== undefined && end.status === "completed" && !native.compacted);
    if (known) {
      const anchor = this.#turn.newestEntryId();
      this.#isOpen = false;
      this.#turn.bind(
        closedBinding(thread.id, identity, { held: keeps ? undefined : held, anchor, isTheirs }),
      );
    }
    return known;
  }

  /** The next turn begins a thread anew, from the engine's context. */
  #forget(): void {
    const { identity, server, thread, isTheirs } = this.#place;
    this.#place.held = undefined;
    if (!identity) return;
    this.#isForgotten = true;
    this.#turn.bind(undefined);
    if (!isTheirs) this.#around.threads.leave(server, thread.id);
  }
}

/** Throws `live_turn_too_large`. */
function checkLength(input: readonly UserInput[]): void {
  const length = input.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (length <= MOST_INPUT_CHARS) return;
  throw new PagurusError(
    "live_turn_too_large",
    `The input has ${length} characters and Codex takes ${MOST_INPUT_CHARS}; shorten it, or name a file that the agent can read.`,
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

function abortOf(signal: AbortSignal, until: AbortSignal): Promise<"aborted"> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true, signal: until });
  });
}
