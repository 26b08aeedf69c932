/** Harnesses of the contract `pagurus.harness/1`: one function for each run of a turn, which gets all members of the turn side by side. */
import type {
  AgentHarness,
  HarnessRun,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
  TurnContext,
  TurnIo,
  TurnThread,
} from "@pagurus/contract/harness/harness";

export const HARNESS_CONTRACT_1 = "pagurus.harness/1";

export type Turn1 = Omit<HarnessTurn, "context" | "thread" | "io"> &
  Omit<TurnContext, "messages"> & { said(): ReturnType<TurnContext["messages"]> } & TurnThread &
  TurnIo;

/** Called once a turn, and with the same object again when input joined it at its end, which `takeInputs` returns then. */
export type RunTurn1 = (turn: Turn1) => Promise<HarnessTurnResult>;

/** Adds what the current contract needs to a harness of the earlier one. */
export function fromContract1(harness: AgentHarness): void {
  const start = (turn: HarnessTurn): HarnessRun =>
    startOf(turn, harness.id, (flat) => (harness as unknown as { runTurn: RunTurn1 }).runTurn(flat));
  Object.defineProperty(harness, "start", { value: start, configurable: true });
}

function startOf(turn: HarnessTurn, id: string, runTurn: RunTurn1): HarnessRun {
  const { context, thread, io } = turn;
  const joined: SteeringMessage[] = [];
  const own: Pick<Turn1, "said" | "takeInputs"> = {
    said: () => context.messages(),
    takeInputs: async () => [...joined.splice(0), ...(await io.takeInputs())],
  };
  // Some members change while the turn runs.
  const members = [turn, context, thread, io, own].map((part) => Object.getOwnPropertyDescriptors(part));
  const flat = Object.defineProperties({}, Object.assign({}, ...members)) as Turn1;
  return {
    run: () => runTurn(flat),
    continueWith: async (inputs) => {
      joined.push(...inputs);
      const result = await runTurn(flat);
      if (joined.splice(0).length > 0)
        io.degrade("settle", `the runtime ${id} does not take input that joins a turn`);
      return result;
    },
  };
}
