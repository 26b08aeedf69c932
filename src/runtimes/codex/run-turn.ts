/** Turns of the host on Codex: a turn that Codex refuses on a bound thread is tried once more on a new one. */
import { toPagurusError, PagurusError } from "../../contract/errors.ts";
import type { HarnessTurn, HarnessTurnResult } from "../../contract/harness.ts";
import { RpcError } from "../../rpc/peer.ts";
import { CodexTurn, setOf, type TurnBegin, type TurnSurroundings } from "./codex-turn.ts";

function refused(error: RpcError): PagurusError {
  return new PagurusError(
    "runtime_failed",
    `Codex refused the turn: ${error.message.replace(/\.?$/, ".")} The conversation is kept; send the request again.`,
    { cause: error, details: { rpcCode: error.code } },
  );
}

function asFailure(error: unknown): PagurusError {
  return error instanceof RpcError ? refused(error) : toPagurusError(error, "runtime_failed");
}

export class TurnRunner {
  readonly #surroundings: TurnSurroundings;
  /** Turns that may go on after their first native turn. */
  readonly #going = new WeakMap<HarnessTurn, CodexTurn>();

  constructor(surroundings: TurnSurroundings) {
    this.#surroundings = surroundings;
  }

  /** Throws `PagurusError`. */
  async run(turn: HarnessTurn): Promise<HarnessTurnResult> {
    const going = this.#going.get(turn);
    if (!going) return this.#anew(turn, { set: turn.additionalContext, given: 0 });
    // Input that came while the native turn was ending.
    const inputs = await turn.takeInputs();
    if (inputs.length === 0) return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
    if (!going.canGoOn) return this.#anew(turn, { set: setOf(inputs), given: going.given });
    try {
      return await going.further(inputs);
    } catch (error) {
      throw asFailure(error);
    }
  }

  async #anew(turn: HarnessTurn, begin: TurnBegin): Promise<HarnessTurnResult> {
    let context = await turn.assemble();
    const before = await this.#surroundings.servers.running();
    for (let again = false; ; again = true) {
      let begun: CodexTurn | undefined;
      try {
        begun = await CodexTurn.begin(turn, context, begin, this.#surroundings);
        this.#going.set(turn, begun);
        return await begun.first();
      } catch (error) {
        const failure = asFailure(error);
        if (again || turn.signal.aborted) throw failure;
        // Codex had ended between turns, unnoticed until it was asked.
        if (before?.isAlive === false && begun?.hasStarted !== true) continue;
        if (failure.code === "context_overflow" && begun?.isWired !== true)
          context = await turn.assemble({ overflow: { message: failure.message } });
        // What it has done must not be done again.
        else if (!(error instanceof RpcError) || begun?.hasStarted === true) throw failure;
        // What Codex refuses of a bound thread (deleted, held by another process) it may take of a new one.
        turn.bind(undefined);
      }
    }
  }
}
