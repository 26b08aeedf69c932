/** The channels of an IRC connection: joins them, and joins again after an end of the own part in one. */
import type { Clock } from "@pagurus/core/data/clock";
import { isAbout, type IrcLine } from "./irc-line.ts";
import type { IrcSocket } from "./irc-socket.ts";

const REFUSALS = new Set(["403", "405", "407", "437", "471", "473", "474", "475", "476", "477", "489"]);
/** Pause before another attempt, ms. */
const JOIN_RETRY_MS = 30_000;

/** The way back to a channel. */
interface Out {
  readonly since: string;
  /** Whether the refusal is reported. */
  isReported: boolean;
  /** Whether the part in it has ended since the last attempt began. */
  isOutAgain: boolean;
}

export class IrcJoins {
  readonly #socket: IrcSocket;
  readonly #names: readonly string[];
  readonly #missed: (sentence: string) => void;
  readonly #clock: Clock;
  /** Channels to which the way back is under way, in lower case. */
  readonly #out = new Map<string, Out>();

  /** `missed`: reports a sentence. */
  constructor(socket: IrcSocket, names: readonly string[], missed: (sentence: string) => void, clock: Clock) {
    this.#socket = socket;
    this.#names = names;
    this.#missed = missed;
    this.#clock = clock;
  }

  /** Resolves when the server has answered. Throws when the connection has ended. */
  async joinAll(): Promise<void> {
    if (this.#names.length === 0) return;
    for (const refusal of await this.#join(this.#names)) this.#report(refusal);
  }

  /** The refusals. */
  async #join(names: readonly string[]): Promise<IrcLine[]> {
    const replies = await this.#socket.settle(names.map((name) => ["JOIN", name] as const));
    // A message that is sent meanwhile may be refused with the same numbers.
    return replies.filter((line) => REFUSALS.has(line.command) && isAbout(line, names));
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
    if (name === undefined) return;
    const back = this.#out.get(name.toLowerCase());
    if (back) {
      back.isOutAgain = true;
      return;
    }
    const out = { since: new Date(this.#clock.now()).toISOString(), isReported: false, isOutAgain: false };
    this.#out.set(name.toLowerCase(), out);
    this.#later(name, out);
  }

  #later(name: string, out: Out): void {
    const again = (): void => void this.#again(name, out).catch(() => undefined);
    const cancel = this.#clock.after(JOIN_RETRY_MS, again, { ref: false });
    void this.#socket.ended.then(cancel);
  }

  /** Throws when the connection has ended, which ends the attempts. */
  async #again(name: string, out: Out): Promise<void> {
    out.isOutAgain = false;
    const [refusal] = await this.#join([name]);
    if (refusal) {
      if (!out.isReported) this.#report(refusal);
      out.isReported = true;
      return this.#later(name, out);
    }
    // It was in for a moment, and is out again before the server answered.
    if (out.isOutAgain) {
      out.isReported = false;
      return this.#later(name, out);
    }
    this.#out.delete(name.toLowerCase());
    this.#missed(
      `Not in ${name} from ${out.since} to ${new Date(this.#clock.now()).toISOString()}: what was written there did not arrive.`,
    );
  }
}
