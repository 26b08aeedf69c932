/** Runs turns of the host on Codex; a turn that Codex refuses on a bound thread is retried once on a new one. */
import { toPagurusError, PagurusError } from "../../contract/errors.ts";
import type {
  HarnessRun,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
  TurnContext,
} from "../../contract/harness/harness.ts";
import { RpcError } from "../../rpc/peer.ts";
import { promptTextOf } from "./codex-place.ts";
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

type Project = NonNullable<NonNullable<Parameters<TurnContext["assemble"]>[0]>["promptText"]>;

export class CodexRun implements HarnessRun {
  readonly #turn: HarnessTurn;
  readonly #surroundings: TurnSurroundings;
  #begun: CodexTurn | undefined;

  constructor(turn: HarnessTurn, surroundings: TurnSurroundings) {
    this.#turn = turn;
    this.#surroundings = surroundings;
  }

  run(): Promise<HarnessTurnResult> {
    return this.#start({ set: this.#turn.context.additionalContext, fragmentCount: 0 });
  }

  async continueWith(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    const begun = this.#begun;
    if (!begun?.canContinue)
      return this.#start({ set: setOf(inputs), fragmentCount: begun?.fragmentCount ?? 0 });
    try {
      return await begun.further(inputs);
    } catch (error) {
      throw asFailure(error);
    }
  }

  async #start(begin: TurnBegin): Promise<HarnessTurnResult> {
    const turn = this.#turn;
    const promptText: Project = (context) => promptTextOf(turn, context, this.#surroundings);
    let context = await turn.context.assemble({ promptText });
    const before = await this.#surroundings.servers.running();
    for (let again = false; ; again = true) {
      let begun: CodexTurn | undefined;
      try {
        begun = await CodexTurn.begin(turn, context, begin, this.#surroundings);
        this.#begun = begun;
        return await begun.first();
      } catch (error) {
        const failure = asFailure(error);
        if (again || turn.signal.aborted) throw failure;
        // Codex had ended between turns, unnoticed.
        if (before?.isAlive === false && begun?.hasStarted !== true) continue;
        if (failure.code === "context_overflow" && begun?.isWired !== true)
          context = await turn.context.assemble({ overflow: { message: failure.message }, promptText });
        // Work that was done must not be repeated.
        else if (!(error instanceof RpcError) || begun?.hasStarted === true) throw failure;
        // Codex may accept a new thread after it refused a bound one (deleted, in use by another process).
        turn.thread.bind(undefined);
      }
    }
  }
}
