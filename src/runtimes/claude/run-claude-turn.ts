/** Runs turns of the host on Claude Code; a turn that a bound session refuses is retried once in a new one. */
import { toPagurusError } from "../../contract/errors.ts";
import type {
  AssembledContext,
  HarnessRun,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "../../contract/harness/harness.ts";
import { ClaudeTurn } from "./claude-turn.ts";
import type { TurnSurroundings } from "./claude-place.ts";
import { planWire, type WirePlan } from "./claude-wire.ts";

export class ClaudeRun implements HarnessRun {
  readonly #turn: HarnessTurn;
  readonly #surroundings: TurnSurroundings;
  #begun: ClaudeTurn | undefined;

  constructor(turn: HarnessTurn, surroundings: TurnSurroundings) {
    this.#turn = turn;
    this.#surroundings = surroundings;
  }

  async continueWith(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    return this.#begun?.canContinue ? this.#begun.further(inputs) : this.run();
  }

  async run(): Promise<HarnessTurnResult> {
    const turn = this.#turn;
    let from = await this.#from(turn);
    for (let again = false; ; again = true) {
      const bound = turn.thread.binding() !== undefined;
      let begun: ClaudeTurn | undefined;
      try {
        begun = await ClaudeTurn.begin(turn, from, this.#surroundings);
        this.#begun = begun;
        return await begun.first();
      } catch (error) {
        const failure = toPagurusError(error, "runtime_failed");
        // Files written for a program that never ran.
        const unused = begun ? undefined : turn.thread.binding();
        if (unused) void this.#surroundings.sessions.leave(unused.nativeId);
        turn.thread.bind(undefined);
        if (again || turn.signal.aborted) throw failure;
        const isWired = "wirePlan" in from;
        if (failure.code === "context_overflow" && !isWired)
          from = { context: await turn.context.assemble({ overflow: { message: failure.message } }) };
        // Work that was done must not be repeated; a program that had ended between turns has done nothing.
        else if (failure.code !== "runtime_failed" || !bound || begun?.hasStarted === true) throw failure;
        else if (isWired) from = await this.#from(turn);
      }
    }
  }

  /** What the turn begins from: the engine's context, or a session on the gateway, which assembles by itself. */
  async #from(turn: HarnessTurn): Promise<{ context: AssembledContext } | { wirePlan: WirePlan }> {
    const wirePlan = await planWire(turn, this.#surroundings);
    return wirePlan ? { wirePlan } : { context: await turn.context.assemble() };
  }
}
