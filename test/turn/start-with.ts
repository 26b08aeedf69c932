import type {
  AgentHarness,
  HarnessTurn,
  HarnessTurnResult,
} from "../../packages/contract/src/harness/harness.ts";

/** A harness's `start` whose run, and each continuation of it, is the same function of the turn. */
export function startWith(run: (turn: HarnessTurn) => Promise<HarnessTurnResult>): AgentHarness["start"] {
  return (turn) => ({ run: () => run(turn), continueWith: () => run(turn) });
}
