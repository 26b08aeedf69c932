/** Runs turns of the host on agents: selects the agent, gets its process, and retries when the first try had no effect. */
import { toPagurusError, type PagurusError } from "../../contract/errors.ts";
import type {
  AssembledContext,
  HarnessRun,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "../../contract/harness/harness.ts";
import { AcpTurn } from "./acp-turn.ts";
import { RequestRefused } from "./acp-process.ts";
import { agentFor, type Agent } from "./agents.ts";
import { refusal } from "./acp-failure.ts";
import type { AcpOptions } from "./acp-options.ts";
import { accessOf, type Access } from "./acp-access.ts";
import type { Agents } from "./agent-pool.ts";
import type { Place } from "./acp-sessions.ts";
import { NotRouted, notWired, wiredAccess } from "./acp-wire.ts";

/** A longer start is reported to the user, ms. */
const SLOW_START_MS = 2_000;

export class AcpRun implements HarnessRun {
  readonly #turn: HarnessTurn;
  readonly #options: AcpOptions;
  readonly #agents: Agents;
  #begun: AcpTurn | undefined;

  constructor(turn: HarnessTurn, options: AcpOptions, agents: Agents) {
    this.#turn = turn;
    this.#options = options;
    this.#agents = agents;
  }

  async continueWith(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    const begun = this.#begun;
    if (!begun?.canContinue) return this.run();
    this.#agents.hold(begun.place);
    try {
      return await begun.further(inputs);
    } catch (error) {
      throw asFailure(error, begun.place);
    } finally {
      this.#agents.release(begun.place);
    }
  }

  async run(): Promise<HarnessTurnResult> {
    const turn = this.#turn;
    const agent = agentFor(this.#options, turn.agentId, turn.model);
    const access = accessOf(agent, turn.model, this.#options);
    const wired = wiredAccess(turn, agent, access, this.#options);
    const result = wired && (await this.#wired(turn, agent, wired));
    if (result) return result;
    const used: Promise<Place>[] = [];
    const get = (): Promise<Place> => {
      const place = this.#agents.get(agent, access, turn.signal);
      // A failure is reported where it is awaited.
      place.catch(() => undefined);
      used.push(place);
      return place;
    };
    try {
      // The agent starts while the engine assembles.
      const starting = get();
      let context = await turn.context.assemble();
      const first = await this.#tried(turn, context, { agent, access, get: () => starting });
      if ("result" in first) return first.result;
      const { failure } = first;
      if (failure.code === "context_overflow")
        context = await turn.context.assemble({ overflow: { message: failure.message } });
      turn.thread.bind(undefined);
      const second = await this.#tried(turn, context, { agent, access, get });
      if ("result" in second) return second.result;
      throw second.failure;
    } finally {
      for (const place of used)
        void place.then(
          (got) => this.#agents.release(got),
          () => undefined,
        );
    }
  }

  /** Runs the turn through the gateway; undefined when the agent cannot use it. */
  async #wired(turn: HarnessTurn, agent: Agent, access: Access): Promise<HarnessTurnResult | undefined> {
    for (let again = false; ; again = true) {
      const slow = reportSlowStart(turn, agent);
      let place: Place | undefined;
      let begun: AcpTurn | undefined;
      try {
        place = await this.#agents.get(agent, access, turn.signal);
        begun = new AcpTurn(turn, undefined, { agent, access, place, options: this.#options });
        this.#begun = begun;
        await begun.open();
        clearTimeout(slow);
        return await begun.first();
      } catch (error) {
        if (error instanceof NotRouted && !begun) return notWired(turn, error.message);
        const failure = asFailure(error, place);
        if (again || turn.signal.aborted || !place || !begun) throw failure;
        // Retried only if it had ended between turns unnoticed; work that was done must not be repeated.
        if (begun.hasStarted || place.process.isAlive) throw failure;
        turn.thread.bind(undefined);
      } finally {
        clearTimeout(slow);
        place?.route?.serve(undefined);
        if (place) this.#agents.release(place);
      }
    }
  }

  /** The failure of a try without effect. Throws every other one. */
  async #tried(
    turn: HarnessTurn,
    context: AssembledContext,
    { agent, access, get }: { agent: Agent; access: Access; get(): Promise<Place> },
  ): Promise<{ result: HarnessTurnResult } | { failure: PagurusError }> {
    const slow = reportSlowStart(turn, agent);
    let place: Place | undefined;
    let begun: AcpTurn | undefined;
    try {
      place = await get();
      begun = new AcpTurn(turn, context, { agent, access, place, options: this.#options });
      this.#begun = begun;
      await begun.open();
      clearTimeout(slow);
      return { result: await begun.first() };
    } catch (error) {
      const failure = asFailure(error, place);
      if (turn.signal.aborted || !place || !begun) throw failure;
      if (failure.code === "context_overflow") return { failure };
      // Retried only if it had ended between turns unnoticed; work that was done must not be repeated.
      if (begun.hasStarted || place.process.isAlive) throw failure;
      return { failure };
    } finally {
      clearTimeout(slow);
    }
  }
}

function reportSlowStart(turn: HarnessTurn, agent: Agent): NodeJS.Timeout {
  return setTimeout(() => {
    const detail = `${agent.label} is starting; some agents take half a minute for their first start.`;
    void turn.io.emit({ type: "notice", kind: "acp_start", detail });
  }, SLOW_START_MS);
}

function asFailure(error: unknown, place: Place | undefined): PagurusError {
  if (error instanceof RequestRefused && place) return refusal(error, place.process);
  return toPagurusError(error, "runtime_failed");
}
