/** Runs turns of the host on agents: selects the agent, gets its process, and retries when the first try had no effect. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, HarnessRun, HarnessTurn } from "@pagurus/contract/harness/harness";
import { ThreadRun } from "../thread/thread-run.ts";
import { accessOf, turnAccess, type Access } from "./acp-access.ts";
import type { AcpOptions } from "./acp-options.ts";
import { checkAsks } from "./acp-permission-modes.ts";
import type { Place } from "./acp-sessions.ts";
import { AcpTurn } from "./acp-turn.ts";
import { NotRouted, notWired, wiredAccess } from "./acp-wire.ts";
import type { Agents } from "./agent-pool.ts";
import { agentFor, type Agent } from "./agents.ts";

/** A longer start is reported to the user, ms. */
const SLOW_START_MS = 2_000;

interface From {
  access: Access;
  place: Promise<Place>;
  /** Undefined when the gateway assembles it. */
  context: AssembledContext | undefined;
  /** Reports a slow start that has begun. */
  slow?: NodeJS.Timeout;
}

export function acpRun(turn: HarnessTurn, options: AcpOptions, agents: Agents): HarnessRun {
  const agent = agentFor(options, turn.agentId, turn.model);
  checkAsks(agent, turn.permissionMode);
  const access = turnAccess(agent, accessOf(agent, turn, options), turn);
  const get = (): Promise<Place> => {
    const place = agents.get(agent, access, turn.signal);
    // A failure is reported where it is awaited.
    place.catch(() => undefined);
    return place;
  };
  /** Undefined when the turn does not use the gateway, or the agent cannot. */
  const wired = async (): Promise<From | undefined> => {
    const routed = wiredAccess(turn, agent, access, options);
    if (!routed) return undefined;
    const slow = reportSlowStart(turn, agent);
    try {
      const place = await agents.get(agent, routed, turn.signal);
      return { access: routed, place: Promise.resolve(place), context: undefined, slow };
    } catch (error) {
      clearTimeout(slow);
      if (error instanceof NotRouted) return notWired(turn, error.message);
      throw error;
    }
  };
  const prepare = async (): Promise<From> => {
    const routed = await wired();
    if (routed) return routed;
    // The agent starts while the engine assembles.
    const place = get();
    try {
      return { access, place, context: await turn.context.assemble() };
    } catch (error) {
      void place.then((unused) => agents.release(unused)).catch(() => undefined);
      throw error;
    }
  };
  return new ThreadRun<From, AcpTurn>(turn, {
    prepare,
    open: async ({ access: used, place, context, slow = reportSlowStart(turn, agent) }) => {
      try {
        return new AcpTurn(turn, context, { agent, access: used, place: await place, options, agents, slow });
      } catch (error) {
        clearTimeout(slow);
        throw error;
      }
    },
    failureOf: (error) => toPagurusError(error, "runtime_failed"),
    again: async ({ from, begun, failure }) => {
      if (!begun) return undefined;
      const isOverflow = failure.code === "context_overflow" && from.context !== undefined;
      // Retried only if it had ended between turns unnoticed; work that was done must not be repeated.
      if (!isOverflow && (begun.hasStarted || begun.place.process.isAlive)) return undefined;
      const request = isOverflow ? { overflow: { message: failure.message } } : undefined;
      const context = request ? await turn.context.assemble(request) : from.context;
      turn.thread.bind(undefined);
      return context ? { access, place: get(), context } : prepare();
    },
  });
}

function reportSlowStart(turn: HarnessTurn, agent: Agent): NodeJS.Timeout {
  return setTimeout(() => {
    const detail = `${agent.label} is starting; some agents take half a minute for their first start.`;
    void turn.io.emit({ type: "notice", kind: "acp_start", detail });
  }, SLOW_START_MS);
}
