/** A turn of the host on Claude Code: what it is told, the steering that joins, and what the session holds afterwards. */
import { randomUUID } from "node:crypto";
import type {
  AssembledContext,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "../../contract/harness.ts";
import type { AgentMessage, Usage, UserMessage } from "../../contract/message.ts";
import { extended } from "../../native/held.ts";
import { ServedTurn } from "../../native/served-turn.ts";
import { turnFailure } from "./failure.ts";
import type { Fields } from "./fields.ts";
import { contentBlocks, type Block } from "./history.ts";
import { NativeTurn, type Stop } from "./native-turn.ts";
import { openPlace, type Place, type TurnSurroundings } from "./place.ts";
import { bindingOf } from "./thread.ts";
import { openWirePlace, type WireSeat } from "./wire.ts";

/** How long a native turn may take to end once it is interrupted, ms. */
const INTERRUPT_MS = 3_000;
/** How long a request waits for what the program said before it, ms. */
const HEARD_MS = 500;
const NO_USAGE: Usage = { input: 0, output: 0, totalTokens: 0 };

type Turned = "input" | "aborted" | "unserved" | Stop | { result: Fields };

/** What a native turn is for the gateway, where it asks that for its context. */
type Served = ServedTurn | undefined;

export class ClaudeTurn {
  /** The model has begun to answer. */
  hasStarted = false;
  readonly #turn: HarnessTurn;
  readonly #around: TurnSurroundings;
  readonly #place: Place;
  /** Nobody goes on in the session. */
  #isForgotten = false;
  /** How many fragments of the turn the session was given. */
  #given: number;
  #isCompacted = false;
  /** Input may join: set while a native turn is between its rounds. */
  #onRest: (() => void) | undefined;

  private constructor(turn: HarnessTurn, around: TurnSurroundings, place: Place) {
    this.#turn = turn;
    this.#around = around;
    this.#place = place;
    this.#given = turn.fragments.length;
  }

  /** Finds the session and what it lacks, or takes the one that asks the gateway. Throws `runtime_failed`, `store_write_failed`. */
  static async begin(
    turn: HarnessTurn,
    from: { context: AssembledContext } | { seat: WireSeat },
    around: TurnSurroundings,
  ): Promise<ClaudeTurn> {
    const place =
      "seat" in from
        ? await openWirePlace(turn, from.seat, around)
        : await openPlace(turn, from.context, around);
    return new ClaudeTurn(turn, around, place);
  }

  /** Whether the session of the last native turn is still there, and known. */
  get canGoOn(): boolean {
    return !this.#isForgotten && this.#place.session.process.isAlive;
  }

  first(): Promise<HarnessTurnResult> {
    return this.#native(this.#place.input);
  }

  /** Input that came when a native turn had ended. */
  further(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    const { session, state } = this.#place;
    this.#turn.bind(bindingOf(session.id, { ...state, openTurn: this.#turn.turnId }));
    this.#around.sessions.use(session, this.#turn);
    return this.#native(this.#joining(inputs));
  }

  /** The input with the fragments that came with it, noted as held; the gateway says those by itself. */
  #joining(inputs: readonly SteeringMessage[]): Block[] {
    const { fragments } = this.#turn;
    const fresh = (this.#place.session.route ? [] : fragments)
      .slice(this.#given)
      .map(({ text, key, kind }): UserMessage => ({ role: "user", content: text, fragment: { key, kind } }));
    this.#given = fragments.length;
    const said = [...fresh, ...inputs];
    this.#holds(said);
    return said.flatMap(({ content }) => contentBlocks(content));
  }

  #holds(messages: readonly AgentMessage[]): void {
    const place = this.#place;
    if (place.held) place.held = extended(place.held, messages);
  }

  async #native(input: readonly Block[]): Promise<HarnessTurnResult> {
    const { session } = this.#place;
    const native = new NativeTurn(this.#turn, session, {
      onMessage: (message) => this.#holds([message]),
      onCompacted: () => {
        this.#isCompacted = true;
      },
      onRest: () => this.#onRest?.(),
    });
    const unlisten = session.process.listen(native);
    const { instructions } = this.#turn;
    const served: Served =
      session.route && new ServedTurn(this.#turn, native, { heardMs: HEARD_MS, instructions });
    session.route?.serve(served?.turn);
    let turned: Exclude<Turned, "input">;
    try {
      if (!served) this.#turn.receipt({ seam: "thread" });
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

  /** A command is one only where a user types it to Claude Code itself. */
  #say(content: readonly Block[], more: { uuid?: string; priority?: "now" } = {}): void {
    const message = { role: "user", content };
    this.#place.session.process.send({ type: "user", message, text_not_typed: true, ...more });
  }

  async #untilEnd(native: NativeTurn, served: Served): Promise<Exclude<Turned, "input">> {
    const watch = new AbortController();
    try {
      const aborted = abortOf(this.#turn.signal, watch.signal);
      const stops = [aborted, native.stops, ...(served ? [served.refused] : [])];
      return await this.#watched(native, stops);
    } finally {
      // A signal with a listener is kept for good, and the whole turn with it.
      watch.abort();
      this.#onRest = undefined;
    }
  }

  async #watched(
    native: NativeTurn,
    stops: readonly Promise<"aborted" | "unserved" | Stop>[],
  ): Promise<Exclude<Turned, "input">> {
    const ends = Promise.race([native.ended.then((result) => ({ result })), ...stops]);
    for (;;) {
      const arrives = this.#turn.inputArrives().then(() => "input" as const);
      const turned = await Promise.race([ends, arrives]);
      if (turned !== "input") return turned;
      const over = await Promise.race([ends, this.#rest(native)]);
      // What came while an answer was ending is asked for by the host again.
      if (over !== undefined) return over;
      if (!(await this.#steer(native))) return ends;
    }
  }

  /** Resolves when the calls of a round have their results and the next answer has not begun. */
  #rest(native: NativeTurn): Promise<undefined> {
    return new Promise((resolve) => {
      this.#onRest = () => {
        if (!native.isAtRest) return;
        this.#onRest = undefined;
        resolve(undefined);
      };
    });
  }

  /** False where nothing more can come. The model sees it behind the results, as what the user says. */
  async #steer(native: NativeTurn): Promise<boolean> {
    await native.written();
    const inputs = await this.#turn.takeInputs();
    if (inputs.length === 0) return false;
    // The next answer began meanwhile: Claude Code keeps its beginning before the input, the transcript behind it.
    if (native.isAnswering) this.#place.held = undefined;
    const uuid = randomUUID();
    native.told(uuid);
    this.#say(this.#joining(inputs), { uuid, priority: "now" });
    return true;
  }

  /** A program that does not heed it is ended. */
  async #interrupt(native: NativeTurn): Promise<void> {
    const { session } = this.#place;
    void session.process.ask({ subtype: "interrupt" }, INTERRUPT_MS);
    const late = new Promise<boolean>((resolve) => {
      setTimeout(() => resolve(false), INTERRUPT_MS).unref();
    });
    const heeded = native.ended.then(
      () => true,
      () => true,
    );
    if (!(await Promise.race([heeded, late]))) void this.#around.sessions.end(session.id);
  }

  async #ended(
    native: NativeTurn,
    turned: Exclude<Turned, "input">,
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
    // What kept the engine from being asked says more than what came of it.
    if (failure) throw failure;
    const result = typeof turned === "string" ? (native.refusal ?? {}) : turned.result;
    if (result["subtype"] === "error_max_turns") return { stopReason: "max_steps", usage };
    throw turnFailure(result, native.wasCut);
  }

  /** Whether the next turn may go on in the session: what it holds is known, or is Claude Code's own affair. */
  #keep(native: NativeTurn, completed: boolean): boolean {
    const { session, state, held } = this.#place;
    const { keeps, route } = session;
    if (native.hasLost) return false;
    // Over the gateway it does not matter what else the session holds.
    const isKnown = held !== undefined || route !== undefined;
    if (!keeps && (!isKnown || !completed || native.hasStrayed)) return false;
    const anchor = this.#turn.newestEntryId();
    const compacted = this.#isCompacted ? { isCompacted: true } : {};
    const last = (session.last = this.#turn.turnId);
    this.#turn.bind(bindingOf(session.id, { ...state, held, anchor, last, ...compacted }));
    this.#around.sessions.rest(session);
    return true;
  }

  /** The next turn begins a session anew, from the engine's context. */
  #forget(): void {
    const { session } = this.#place;
    this.#place.held = undefined;
    this.#isForgotten = true;
    this.#turn.bind(undefined);
    void this.#around.sessions.leave(session.id);
  }
}

function abortOf(signal: AbortSignal, until: AbortSignal): Promise<"aborted"> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true, signal: until });
  });
}
