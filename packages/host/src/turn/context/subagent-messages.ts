import type { UserMessage } from "@pagurus/contract/message";
import type { VolatileMessage } from "./context-scope.ts";
import type { Guard } from "../guard/guard.ts";
import type { SubagentPort } from "../agent/subagent-port.ts";

/** Results of subagents in a turn: the model sees them in this turn, no transcript records them. */
export class SubagentResults {
  readonly messages: VolatileMessage[] = [];
  readonly #port: SubagentPort;
  readonly #guard: Guard;
  readonly #note: (childSessionKey: string) => void;
  readonly #sessionKey: string;
  readonly #taken = new Set<string>();
  readonly #answered = new Set<string>();
  /** Failures that were reported: the same one comes at every check. */
  readonly #named = new Set<string>();

  /** `note` records that a result was taken, without its text. */
  constructor(port: SubagentPort, sessionKey: string, guard: Guard, note: (childSessionKey: string) => void) {
    this.#port = port;
    this.#note = note;
    this.#guard = guard;
    this.#sessionKey = sessionKey;
  }

  /** Takes the results that have arrived; their position is after the current last entry. */
  async take(after: string | undefined): Promise<UserMessage[]> {
    const arrived: UserMessage[] = [];
    for (const { childSessionKey, message } of await this.#results()) {
      if (this.#taken.has(childSessionKey)) continue;
      this.#taken.add(childSessionKey);
      this.#note(childSessionKey);
      this.messages.push({ message, after });
      arrived.push(message);
    }
    return arrived;
  }

  /** Updates their positions after a rotation gave the entries new ids. */
  moved(ids: ReadonlyMap<string, string>): void {
    for (const placed of this.messages) {
      if (placed.after !== undefined) placed.after = ids.get(placed.after) ?? placed.after;
    }
  }

  /** A model has answered a request that held all taken results. */
  answered(): void {
    for (const key of this.#taken) this.#answered.add(key);
  }

  /** Results have arrived that the turn has not taken. */
  async waiting(): Promise<boolean> {
    const results = await this.#results();
    return results.some(({ childSessionKey }) => !this.#taken.has(childSessionKey));
  }

  #results(): ReturnType<SubagentPort["results"]> {
    return this.#port.results(this.#sessionKey, (reason) => {
      if (!this.#named.has(reason)) this.#guard.degrade("subagent", reason);
      this.#named.add(reason);
    });
  }

  /** Resolves when the next child of the session ends; undefined when none runs. */
  nextEnd(): Promise<void> | undefined {
    return this.#port.nextEnd(this.#sessionKey);
  }

  /** Called when the turn is committed: results that a model has answered are not delivered again. */
  delivered(): void {
    if (this.#answered.size > 0) this.#port.delivered([...this.#answered]);
  }
}
