/** The runtime behind a session that follows the user's own program: the program runs the loop, turns are told from its requests. */
import { PagurusError } from "../../../contract/errors.ts";
import type { AgentHarness, HarnessTurn, HarnessTurnResult } from "../../../contract/harness.ts";
import { HARNESS_CONTRACT } from "../../../contract/version.ts";

/** Whoever has begun a turn and waits for it. */
export interface TurnTaker {
  /** Resolves when the turn is over. */
  run(turn: HarnessTurn): Promise<HarnessTurnResult>;
}

export class WrapHarness implements AgentHarness {
  readonly id: string;
  readonly label: string;
  readonly contract = HARNESS_CONTRACT;
  /** Chosen by its id alone. */
  readonly family = "cli";
  readonly seam = "wire";
  readonly execution: AgentHarness["execution"];
  readonly capabilities: AgentHarness["capabilities"] = [
    "bootstrap",
    "assemble-before-prompt",
    "after-turn",
    "maintain",
    "compact",
    "runtime-llm-complete",
  ];
  readonly ownsInstructions = true;
  readonly takesTools = "engine";
  readonly keepsContext = true;
  readonly #takers = new Map<string, TurnTaker>();
  readonly #fixed = new Map<string, number>();

  constructor(program: string, label: string) {
    this.id = `wire-${program}`;
    this.label = `${label}, the user's own`;
    this.execution = { kind: "external", detail: program };
  }

  /** The program has its model already. */
  supports: AgentHarness["supports"] = () => ({ supported: true, login: "own" });

  fixedTokens = (sessionKey: string): number | undefined => this.#fixed.get(sessionKey);

  /** System prompt and tools of the program, in tokens. */
  noteFixed(sessionKey: string, tokens: number): void {
    this.#fixed.set(sessionKey, tokens);
  }

  /** The next turn of the session is the taker's. */
  expect(sessionKey: string, taker: TurnTaker): void {
    this.#takers.set(sessionKey, taker);
  }

  forget(sessionKey: string, taker: TurnTaker): void {
    if (this.#takers.get(sessionKey) === taker) this.#takers.delete(sessionKey);
  }

  runTurn = (turn: HarnessTurn): Promise<HarnessTurnResult> => {
    const taker = this.#takers.get(turn.sessionKey);
    if (taker) return taker.run(turn);
    return Promise.reject(
      new PagurusError(
        "runtime_unsupported",
        `The runtime "${this.id}" runs the turns of a program of the user's own; start it with pagurus wire.`,
      ),
    );
  };
}
