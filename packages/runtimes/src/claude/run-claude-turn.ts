/** Runs turns of the host on Claude Code; a turn that a bound session refuses is retried once in a new one. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, HarnessRun, HarnessTurn } from "@pagurus/contract/harness/harness";
import { ThreadRun } from "../thread/thread-run.ts";
import { ClaudeTurn } from "./claude-turn.ts";
import type { TurnSurroundings } from "./claude-place.ts";
import { planWire, type WirePlan } from "./claude-wire.ts";

/** The engine's context, or a session on the gateway, which assembles by itself. */
type From = { context: AssembledContext } | { wirePlan: WirePlan };

export function claudeRun(turn: HarnessTurn, around: TurnSurroundings): HarnessRun {
  const { thread, context } = turn;
  const prepare = async (): Promise<From> => {
    const wirePlan = await planWire(turn, around);
    return wirePlan ? { wirePlan } : { context: await context.assemble() };
  };
  let wasBound = false;
  return new ThreadRun<From, ClaudeTurn>(turn, {
    prepare,
    open: (from) => {
      wasBound = thread.binding() !== undefined;
      return ClaudeTurn.begin(turn, from, around);
    },
    failureOf: (error) => toPagurusError(error, "runtime_failed"),
    dropped: (begun) => {
      // Files written for a program that never ran.
      const unused = begun ? undefined : thread.binding();
      if (unused) void around.sessions.leave(unused.nativeId);
      thread.bind(undefined);
    },
    again: async ({ from, begun, failure }) => {
      const isWired = "wirePlan" in from;
      if (failure.code === "context_overflow" && !isWired)
        return { context: await context.assemble({ overflow: { message: failure.message } }) };
      // Work that was done must not be repeated; a program that had ended between turns has done nothing.
      if (failure.code !== "runtime_failed" || !wasBound || begun?.hasStarted === true) return undefined;
      return isWired ? prepare() : from;
    },
  });
}
