/** One turn of the host on Claude Code: its input, the steering that joins it, and what the session holds afterwards. */
import { randomUUID } from "node:crypto";
import type {
  AssembledContext,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "@pagurus/contract/harness/harness";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import type { Fields } from "@pagurus/core/data/record-fields";
import { extended } from "../thread/thread-state.ts";
import { endOf, endsWithin, type Steer } from "../thread/thread-steering.ts";
import { ServedTurn } from "@pagurus/core/native/served-turn";
import { NO_USAGE } from "@pagurus/core/tokens/add-usage";
import { turnFailure } from "./claude-failure.ts";
import { contentBlocks, type Block } from "@pagurus/core/protocols/messages/messages-blocks";
import { ClaudeNativeTurn, type Stop } from "./claude-native-turn.ts";
import { openPlace, type Place, type TurnSurroundings } from "./claude-place.ts";
import { bindingOf } from "./claude-thread.ts";
import { openWirePlace, type WirePlan } from "./claude-wire.ts";

/** Timeout for a native turn to end after its interrupt, ms. */
const INTERRUPT_MS = 3_000;
/** How long a request waits for the program's reports before it, ms. */
const REPORT_MS = 500;

type Turned = "aborted" | "unserved" | Stop | { result: Fields };

/** The native turn as the gateway calls it for its context. */
type Served = ServedTurn | undefined;

export class ClaudeTurn {
  /** The model has begun to answer. */
  hasStarted = false;
  readonly #turn: HarnessTurn;
  readonly #around: TurnSurroundings;
  readonly #place: Place;
  /** No later turn continues the session. */
  #isForgotten = false;
  /** How many fragments of the turn the session has. */
  #fragmentCount: number;
  #isCompacted = false;
  /** Called when input may join: set while a native turn is between its rounds. */
  #onRest: (() => void) | undefined;

  private constructor(turn: HarnessTurn, around: TurnSurroundings, place: Place) {
    this.#turn = turn;
    this.#around = around;
    this.#place = place;
    this.#fragmentCount = turn.context.fragments.length;
  }

  /** Finds the session and what it lacks, or uses the one on the gateway. Throws `runtime_failed`, `store_write_failed`. */
  static async begin(
    turn: HarnessTurn,
    from: { context: AssembledContext } | { wirePlan: WirePlan },
    around: TurnSurroundings,
  ): Promise<ClaudeTurn> {
    const place =
      "wirePlan" in from
        ? await openWirePlace(turn, from.wirePlan, around)
        : await openPlace(turn, from.context, around);
    return new ClaudeTurn(turn, around, place);
  }

  /** Whether the session of the last native turn still exists and its content is known. */
  get canContinue(): boolean {
    return !this.#isForgotten && this.#place.session.process.isAlive;
  }

  first(): Promise<HarnessTurnResult> {
    return this.#native(this.#place.input);
  }

  /** Runs a native turn with input that arrived after the last one ended. */
  further(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    const { session, state } = this.#place;
    this.#turn.thread.bind(bindingOf(session.id, { ...state, openTurn: this.#turn.turnId }));
    this.#around.sessions.use(session, this.#turn);
    return this.#native(this.#joining(inputs));
  }

  /** The input with its fragments, recorded as held; the gateway adds those itself. */
  #joining(inputs: readonly SteeringMessage[]): Block[] {
    const { fragments } = this.#turn.context;
    const fresh = (this.#place.session.route ? [] : fragments)
      .slice(this.#fragmentCount)
      .map(({ text, key, kind }): UserMessage => ({ role: "user", content: text, fragment: { key, kind } }));
    this.#fragmentCount = fragments.length;
    const joining = [...fresh, ...inputs];
    this.#holds(joining);
    return joining.flatMap(({ content }) => contentBlocks(content));
  }

  #holds(messages: readonly AgentMessage[]): void {
    const place = this.#place;
    if (place.held) place.held = extended(place.held, messages);
  }

  async #native(input: readonly Block[]): Promise<HarnessTurnResult> {
    const { session } = this.#place;
    const native = new ClaudeNativeTurn(this.#turn, session, {
      onMessage: (message) => this.#holds([message]),
      onCompacted: () => {
        this.#isCompacted = true;
      },
      onRest: () => this.#onRest?.(),
    });
    const unlisten = session.process.listen(native);
    const { instructions } = this.#turn;
    const served: Served =
      session.route && new ServedTurn(this.#turn, native, { reportMs: REPORT_MS, instructions });
    session.route?.serve(served?.turn);
    let turned: Turned;
    try {
      if (!served) this.#turn.context.receipt({ seam: "thread" });
      if (input.length > 0) this.#say(input);
      turned = await this.#untilEnd(native, served);
      if (typeof turned === "string") await this.#interrupt(native);
      else await served?.settled();
    } catch (error) {
      this.hasStarted ||= native.hasAnswered;
      await native.close(this.#turn.signal.aborted ? "aborted" : "error");
      this.#forget();
      throw error;
    } finally {
      session.route?.serve(undefined);
      unlisten();
    }
    this.hasStarted ||= native.hasAnswered;
    return this.#ended(native, turned, served?.failure);
  }

  /** Marked as not typed: only a user of Claude Code itself can run its commands. */
  #say(content: readonly Block[], more: { uuid?: string; priority?: "now" } = {}): void {
    const message = { role: "user", content };
    this.#place.session.process.send({ type: "user", message, text_not_typed: true, ...more });
  }

  async #untilEnd(native: ClaudeNativeTurn, served: Served): Promise<Turned> {
    const steer: Steer = async ({ over }) => {
      const isOver = await Promise.race([over.then(() => true), this.#rest(native)]);
      // The host sends input that arrived at the end of an answer again.
      return isOver || this.#steer(native);
    };
    const ended = native.ended.then((result) => ({ result }));
    const stops = [native.stops, ...(served ? [served.refused] : [])];
    try {
      return await endOf<{ result: Fields }, Stop | "unserved">(this.#turn, { ended, stops, steer });
    } finally {
      this.#onRest = undefined;
    }
  }

  /** Resolves when the calls of a round have their results and the next answer has not begun. */
  #rest(native: ClaudeNativeTurn): Promise<false> {
    return new Promise((resolve) => {
      this.#onRest = () => {
        if (!native.isAtRest) return;
        this.#onRest = undefined;
        resolve(false);
      };
    });
  }

  /** False when no more input can come. The model sees it after the results, as a user message. */
  async #steer(native: ClaudeNativeTurn): Promise<boolean> {
    await native.written();
    const inputs = await this.#turn.io.takeInputs();
    if (inputs.length === 0) return false;
    // The next answer began meanwhile: Claude Code places its start before the input, the transcript after it.
    if (native.isAnswering) this.#place.held = undefined;
    const uuid = randomUUID();
    native.sent(uuid);
    this.#say(this.#joining(inputs), { uuid, priority: "now" });
    return true;
  }

  /** Ends a program that ignores the interrupt. */
  async #interrupt(native: ClaudeNativeTurn): Promise<void> {
    const { session } = this.#place;
    void session.process.ask({ subtype: "interrupt" }, INTERRUPT_MS);
    if (!(await endsWithin(native.ended, INTERRUPT_MS))) void this.#around.sessions.end(session.id);
  }

  async #ended(
    native: ClaudeNativeTurn,
    turned: Turned,
    failure: Error | undefined,
  ): Promise<HarnessTurnResult> {
    const { aborted } = this.#turn.signal;
    const usage = native.usage ?? NO_USAGE;
    const completed = typeof turned !== "string" && turned.result["is_error"] !== true;
    await native.close(completed ? "stop" : aborted ? "aborted" : "error");
    if (!this.#keep(native, completed)) this.#forget();
    if (completed) return { stopReason: "stop", usage };
    if (aborted) return { stopReason: "aborted", usage };
    if (turned === "length" || turned === "max_steps") return { stopReason: turned, usage };
    // The failure of `assemble` says more than the error that followed from it.
    if (failure) throw failure;
    const result = typeof turned === "string" ? (native.refusal ?? {}) : turned.result;
    if (result["subtype"] === "error_max_turns") return { stopReason: "max_steps", usage };
    throw turnFailure(result, native.wasCut);
  }

  /** Whether the next turn may continue the session: its content is known, or managed by Claude Code. */
  #keep(native: ClaudeNativeTurn, completed: boolean): boolean {
    const { session, state, held } = this.#place;
    const { keeps, route } = session;
    if (native.hasLost) return false;
    // With the gateway, other content of the session does not matter.
    const isKnown = held !== undefined || route !== undefined;
    if (!keeps && (!isKnown || !completed || native.hasStrayed)) return false;
    const anchor = this.#turn.context.newestEntryId();
    const compacted = this.#isCompacted ? { isCompacted: true } : {};
    const last = (session.last = this.#turn.turnId);
    this.#turn.thread.bind(bindingOf(session.id, { ...state, held, anchor, last, ...compacted }));
    this.#around.sessions.rest(session);
    return true;
  }

  /** Unbinds the session: the next turn begins a new one from the engine's context. */
  #forget(): void {
    const { session } = this.#place;
    this.#place.held = undefined;
    this.#isForgotten = true;
    this.#turn.thread.bind(undefined);
    void this.#around.sessions.leave(session.id);
  }
}
