/** Turns of the host on Claude Code: one that a bound session cannot take is tried once more in a new one. */
import { toPagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn, HarnessTurnResult } from "../../contract/harness.ts";
import { ClaudeTurn } from "./claude-turn.ts";
import type { TurnSurroundings } from "./place.ts";
import { takeSeat, type WireSeat } from "./wire.ts";

export class TurnRunner {
  readonly #surroundings: TurnSurroundings;
  /** Turns that may go on after their first native turn. */
  readonly #going = new WeakMap<HarnessTurn, ClaudeTurn>();

  constructor(surroundings: TurnSurroundings) {
    this.#surroundings = surroundings;
  }

  /** Throws `PagurusError`. */
  async run(turn: HarnessTurn): Promise<HarnessTurnResult> {
    const going = this.#going.get(turn);
    if (!going) return this.#anew(turn);
    // Input that came while the native turn was ending.
    const inputs = await turn.takeInputs();
    if (inputs.length === 0) return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
    return going.canGoOn ? going.further(inputs) : this.#anew(turn);
  }

  async #anew(turn: HarnessTurn): Promise<HarnessTurnResult> {
    let from = await this.#from(turn);
    for (let again = false; ; again = true) {
      const bound = turn.binding() !== undefined;
      let begun: ClaudeTurn | undefined;
      try {
        begun = await ClaudeTurn.begin(turn, from, this.#surroundings);
        this.#going.set(turn, begun);
        return await begun.first();
      } catch (error) {
        const failure = toPagurusError(error, "runtime_failed");
        // What was written for a program that never ran.
        const unused = begun ? undefined : turn.binding();
        if (unused) void this.#surroundings.sessions.leave(unused.nativeId);
        turn.bind(undefined);
        if (again || turn.signal.aborted) throw failure;
        const isWired = "seat" in from;
        if (failure.code === "context_overflow" && !isWired)
          from = { context: await turn.assemble({ overflow: { message: failure.message } }) };
        // What it has done must not be done again; a program that had ended between turns has done nothing.
        else if (failure.code !== "runtime_failed" || !bound || begun?.hasStarted === true) throw failure;
        else if (isWired) from = await this.#from(turn);
      }
    }
  }

  /** What the turn begins from: the engine's context, or a seat at the gateway, which asks for that by itself. */
  async #from(turn: HarnessTurn): Promise<{ context: AssembledContext } | { seat: WireSeat }> {
    const seat = await takeSeat(turn, this.#surroundings);
    return seat ? { seat } : { context: await turn.assemble() };
  }
}
