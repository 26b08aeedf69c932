/** Turns of the host on agents: which agent, its process, and a second try where the first cannot have done anything. */
import { toPagurusError, type PagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn, HarnessTurnResult } from "../../contract/harness.ts";
import { AcpTurn } from "./acp-turn.ts";
import { RequestRefused } from "./agent-process.ts";
import { agentFor, type Agent } from "./agents.ts";
import { refusal } from "./failure.ts";
import type { AcpOptions } from "./options.ts";
import { accessOf, type Access } from "./access.ts";
import type { Agents } from "./agent-pool.ts";
import type { Place } from "./sessions.ts";
import { NotRouted, notWired, wiredAccess } from "./wire.ts";

/** A start that takes longer is told to the user, ms. */
const SLOW_START_MS = 2_000;

export class TurnRunner {
  readonly #options: AcpOptions;
  readonly #agents: Agents;
  /** Turns that may go on after their first prompt. */
  readonly #going = new WeakMap<HarnessTurn, AcpTurn>();

  constructor(options: AcpOptions, agents: Agents) {
    this.#options = options;
    this.#agents = agents;
  }

  /** Throws `PagurusError`. */
  async run(turn: HarnessTurn): Promise<HarnessTurnResult> {
    const going = this.#going.get(turn);
    if (!going) return this.#anew(turn);
    // Input that came while the prompt was ending.
    const inputs = await turn.takeInputs();
    if (inputs.length === 0) return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
    if (!going.canGoOn) return this.#anew(turn);
    this.#agents.hold(going.place);
    try {
      return await going.further(inputs);
    } catch (error) {
      throw asFailure(error, going.place);
    } finally {
      this.#agents.release(going.place);
    }
  }

  async #anew(turn: HarnessTurn): Promise<HarnessTurnResult> {
    const agent = agentFor(this.#options, turn.agentId, turn.model);
    const access = accessOf(agent, turn.model, this.#options);
    const wired = wiredAccess(turn, agent, access, this.#options);
    const result = wired && (await this.#wired(turn, agent, wired));
    if (result) return result;
    const used: Promise<Place>[] = [];
    const get = (): Promise<Place> => {
      const place = this.#agents.get(agent, access, turn.signal);
      // Whether it comes is told where it is waited for.
      place.catch(() => undefined);
      used.push(place);
      return place;
    };
    try {
      // The agent starts while the engine assembles.
      const starting = get();
      let context = await turn.assemble();
      const first = await this.#tried(turn, context, { agent, access, get: () => starting });
      if ("result" in first) return first.result;
      const { failure } = first;
      if (failure.code === "context_overflow")
        context = await turn.assemble({ overflow: { message: failure.message } });
      turn.bind(undefined);
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

  /** Through the gateway; undefined where the agent cannot be pointed there. */
  async #wired(turn: HarnessTurn, agent: Agent, access: Access): Promise<HarnessTurnResult | undefined> {
    for (let again = false; ; again = true) {
      const slow = tellSlowStart(turn, agent);
      let place: Place | undefined;
      let begun: AcpTurn | undefined;
      try {
        place = await this.#agents.get(agent, access, turn.signal);
        begun = new AcpTurn(turn, undefined, { agent, access, place, options: this.#options });
        this.#going.set(turn, begun);
        await begun.open();
        clearTimeout(slow);
        return await begun.first();
      } catch (error) {
        if (error instanceof NotRouted && !begun) return notWired(turn, error.message);
        const failure = asFailure(error, place);
        if (again || turn.signal.aborted || !place || !begun) throw failure;
        // It had ended between turns, unnoticed until it was asked; what it has done must not be done again.
        if (begun.hasStarted || place.process.isAlive) throw failure;
        turn.bind(undefined);
      } finally {
        clearTimeout(slow);
        place?.route?.serve(undefined);
        if (place) this.#agents.release(place);
      }
    }
  }

  /** The failure of a try that can have done nothing. Throws every other one. */
  async #tried(
    turn: HarnessTurn,
    context: AssembledContext,
    { agent, access, get }: { agent: Agent; access: Access; get(): Promise<Place> },
  ): Promise<{ result: HarnessTurnResult } | { failure: PagurusError }> {
    const slow = tellSlowStart(turn, agent);
    let place: Place | undefined;
    let begun: AcpTurn | undefined;
    try {
      place = await get();
      begun = new AcpTurn(turn, context, { agent, access, place, options: this.#options });
      this.#going.set(turn, begun);
      await begun.open();
      clearTimeout(slow);
      return { result: await begun.first() };
    } catch (error) {
      const failure = asFailure(error, place);
      if (turn.signal.aborted || !place || !begun) throw failure;
      if (failure.code === "context_overflow") return { failure };
      // It had ended between turns, unnoticed until it was asked; what it has done must not be done again.
      if (begun.hasStarted || place.process.isAlive) throw failure;
      return { failure };
    } finally {
      clearTimeout(slow);
    }
  }
}

function tellSlowStart(turn: HarnessTurn, agent: Agent): NodeJS.Timeout {
  return setTimeout(() => {
    const detail = `${agent.label} is starting; some agents take half a minute for their first start.`;
    void turn.emit({ type: "notice", kind: "acp_start", detail });
  }, SLOW_START_MS);
}

function asFailure(error: unknown, place: Place | undefined): PagurusError {
  if (error instanceof RequestRefused && place) return refusal(error, place.process);
  return toPagurusError(error, "runtime_failed");
}
