/** The channels of an IRC connection: joins them, and joins again after an end of the own part in one. */
import type { IrcLine } from "./irc-line.ts";
import type { IrcSocket } from "./irc-socket.ts";

const REFUSALS = new Set(["403", "405", "407", "437", "471", "473", "474", "475", "476", "477", "489"]);
/** Pause before another attempt, ms. */
const AGAIN_MS = 30_000;

export class IrcJoins {
  readonly #socket: IrcSocket;
  readonly #names: readonly string[];
  readonly #missed: (sentence: string) => void;
  /** Channels to which the way back is under way, in lower case. */
  readonly #out = new Set<string>();

  /** `missed`: reports a sentence. */
  constructor(socket: IrcSocket, names: readonly string[], missed: (sentence: string) => void) {
    this.#socket = socket;
    this.#names = names;
    this.#missed = missed;
  }

  /** Resolves when the server has answered. Throws when the connection has ended. */
  async joinAll(): Promise<void> {
    if (this.#names.length === 0) return;
    for (const refusal of await this.#join(this.#names)) this.#report(refusal);
  }

  /** The refusals. */
  async #join(names: readonly string[]): Promise<IrcLine[]> {
    const replies = await this.#socket.settle(names.map((name) => ["JOIN", name] as const));
    return replies.filter(({ command }) => REFUSALS.has(command));
  }

  #report({ params }: IrcLine): void {
    this.#missed(`The server refuses to join ${params[1] ?? ""}: ${params.at(-1) ?? ""}`);
  }

  /** Takes an end of the own part in a channel. */
  ended(channel: string, reason: string): void {
    this.#missed(
      `Put out of ${channel} (${reason}): what is written there does not arrive until it is joined again.`,
    );
    const name = this.#names.find((each) => each.toLowerCase() === channel.toLowerCase());
    if (name === undefined || this.#out.has(name.toLowerCase())) return;
    this.#out.add(name.toLowerCase());
    this.#later(name, { since: new Date().toISOString(), isReported: false });
  }

  #later(name: string, out: { since: string; isReported: boolean }): void {
    const timer = setTimeout(() => void this.#again(name, out).catch(() => undefined), AGAIN_MS);
    timer.unref();
    void this.#socket.ended.then(() => clearTimeout(timer));
  }

  /** Throws when the connection has ended, which ends the attempts. */
  async #again(name: string, { since, isReported }: { since: string; isReported: boolean }): Promise<void> {
    const [refusal] = await this.#join([name]);
    if (refusal) {
      if (!isReported) this.#report(refusal);
      return this.#later(name, { since, isReported: true });
    }
    this.#out.delete(name.toLowerCase());
    this.#missed(
      `Not in ${name} from ${since} to ${new Date().toISOString()}: what was written there did not arrive.`,
    );
  }
}
