/** Runtime of a session that follows the user's own program: the program runs the loop, and its turns are derived from its requests. */
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentHarness, HarnessRun, HarnessTurn } from "@pagurus/contract/harness/harness";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";
import { RecentMap } from "@pagurus/core/data/recent-map";

/** Sessions whose fixed tokens are known without their receipts. */
const MOST_FIXED = 256;

/** Caller that started a turn and waits for it. */
export interface TurnTaker {
  /** Its run ends when the turn is over. */
  start(turn: HarnessTurn): HarnessRun;
}

export class WrapHarness implements AgentHarness {
  readonly id: string;
  readonly label: string;
  readonly contract = HARNESS_CONTRACT;
  /** Selected only by its id. */
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
  readonly #fixed = new RecentMap<string, number>(MOST_FIXED);

  constructor(program: string, label: string) {
    this.id = `wire-${program}`;
    this.label = `${label}, the user's own`;
    this.execution = { kind: "external", detail: program };
  }

  /** The program already has its model. */
  supports: AgentHarness["supports"] = () => ({ supported: true, login: "own" });

  fixedTokens = (sessionKey: string): number | undefined => this.#fixed.get(sessionKey);

  /** Sets the tokens of the program's system prompt and tools. */
  noteFixed(sessionKey: string, tokens: number): void {
    this.#fixed.set(sessionKey, tokens);
  }

  /** Assigns the next turn of the session to the taker. */
  expect(sessionKey: string, taker: TurnTaker): void {
    this.#takers.set(sessionKey, taker);
  }

  forget(sessionKey: string, taker: TurnTaker): void {
    if (this.#takers.get(sessionKey) === taker) this.#takers.delete(sessionKey);
  }

  start(turn: HarnessTurn): HarnessRun {
    const taker = this.#takers.get(turn.sessionKey);
    if (taker) return taker.start(turn);
    throw new PagurusError(
      "runtime_unsupported",
      `The runtime "${this.id}" runs the turns of a program of the user's own; start it with pagurus wire.`,
    );
  }
}
