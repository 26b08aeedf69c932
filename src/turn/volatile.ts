import type { UserMessage } from "../contract/message.ts";
import type { VolatileMessage } from "./assemble.ts";
import type { Guard } from "./guard.ts";
import type { SubagentPort } from "./subagents/port.ts";

/** Results of subagents that a turn has been given: shown to the model in this turn, written to no transcript. */
export class SubagentResults {
  readonly messages: VolatileMessage[] = [];
  readonly #port: SubagentPort;
  readonly #guard: Guard;
  readonly #note: (childSessionKey: string) => void;
  readonly #sessionKey: string;
  readonly #taken = new Set<string>();
  readonly #answered = new Set<string>();
  /** Failures that were told: the same one comes at every look. */
  readonly #named = new Set<string>();

  /** `note` writes down that a result was taken, without its words. */
  constructor(port: SubagentPort, sessionKey: string, guard: Guard, note: (childSessionKey: string) => void) {
    this.#port = port;
    this.#note = note;
    this.#guard = guard;
    this.#sessionKey = sessionKey;
  }

  /** Takes what has arrived; it stands behind the entry that is the last one now. */
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

  /** A rotation gave the entries that they stand behind new ids. */
  moved(ids: ReadonlyMap<string, string>): void {
    for (const placed of this.messages) {
      if (placed.after !== undefined) placed.after = ids.get(placed.after) ?? placed.after;
    }
  }

  /** A model has answered a request that held all that was taken. */
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

  /** Resolves when the next child of the session ends; undefined where none runs. */
  nextEnd(): Promise<void> | undefined {
    return this.#port.nextEnd(this.#sessionKey);
  }

  /** The turn is committed: what a model has answered to is not given again. */
  delivered(): void {
    if (this.#answered.size > 0) this.#port.delivered([...this.#answered]);
  }
}
