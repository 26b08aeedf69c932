/**
 * Finds what GitHub's webhooks did not bring: GitHub posts an event once, so what is written while this host is away, or when its address
 * cannot be reached, is read from the lists of the repositories. The place of the channel is the time up to which they are read.
 */
import type { Clock } from "@pagurus/core/data/clock";
import type { IncomingMessage } from "@pagurus/contract/channel/channel";
import { PagurusError } from "@pagurus/contract/errors";
import { sleep } from "@pagurus/core/platform/deadline";
import { errorText } from "@pagurus/core/data/error-text";
import type { ChatConnection } from "./chat-connection.ts";
import { LONGEST_WAIT_S, waitOf } from "./chat-failure.ts";
import { CLOCK_SLACK_MS, OLDEST_MS, type WrittenText } from "./github-event.ts";
import { asLimit, isRefusal, type Account, type GitHubRequests, type Repository } from "./github-requests.ts";

export interface CatchUpOptions {
  api: GitHubRequests;
  /** Its own comments are not received. */
  account: Account;
  /** Names of the repositories. */
  repositories: readonly string[];
  /** Time between two looks, ms. */
  everyMs: number;
  clock: Clock;
  messageOf(written: WrittenText): IncomingMessage;
  missed(sentence: string): void;
}

export class GitHubCatchUp {
  readonly #options: CatchUpOptions;
  #repositories: Repository[] = [];

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /**
   * The first look. At the first connection of a channel it receives nothing, and all repositories have to be readable. Throws
   * GitHub's errors, `store_write_failed`.
   */
  async begin(connection: ChatConnection): Promise<void> {
    const isFirst = connection.place.at === undefined;
    await this.check(isFirst);
    await this.#look(connection, isFirst);
  }

  /** Finds the repositories. One that the account may not read is an error where `isStrict`, else reported. */
  async check(isStrict: boolean): Promise<void> {
    const { api, repositories, missed } = this.#options;
    this.#repositories = [];
    for (const name of repositories)
      try {
        this.#repositories.push(await api.repository(name));
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const why = `The repository ${name} cannot be read (${errorText(error)})`;
        if (isStrict) {
          const advice = "give the account of the token access, or correct the name";
          throw new PagurusError("config_invalid", `${why}; ${advice}.`, { cause: error });
        }
        missed(`${why}: what is written there while this host is away does not arrive.`);
      }
  }

  /** Looks again and again until the connection ends. Never rejects. */
  async follow(connection: ChatConnection): Promise<void> {
    const { signal } = connection;
    const { everyMs, clock } = this.#options;
    try {
      while (!signal.aborted) {
        await sleep(everyMs, signal, clock);
        await this.#look(connection, false).catch((error: unknown) => waitForLimit(error, signal, clock));
      }
    } catch (error) {
      connection.end(errorText(error));
    }
  }

  /** Receives what was written since the place of the channel, oldest first; `isFirst`: only notes that it is there. */
  async #look(connection: ChatConnection, isFirst: boolean): Promise<void> {
    const { api, account, messageOf, clock } = this.#options;
    const { place } = connection;
    // What is so young is read again.
    const from = clock.now() - CLOCK_SLACK_MS;
    const since = Math.max(place.at ?? from, clock.now() - OLDEST_MS);
    for (const repository of this.#repositories) {
      const subjects = new Map<number, Record<string, unknown> | undefined>();
      for (const listed of await api.listed(repository, since)) {
        if (listed.author === account.id || place.isTaken(listed.id)) continue;
        if (isFirst) {
          place.take(listed.id, listed.writtenAt);
          continue;
        }
        const written = await api.writtenOf(listed, repository, subjects);
        if (written) await connection.receive(messageOf(written), undefined, listed.writtenAt);
      }
    }
    await connection.receive(undefined, from);
  }
}

/** Waits as long as a limit of GitHub asks for. Throws any other error. */
async function waitForLimit(error: unknown, signal: AbortSignal, clock: Clock): Promise<void> {
  const wait = waitOf(asLimit(error));
  if (wait === undefined) throw error;
  await sleep(Math.min(wait, LONGEST_WAIT_S) * 1_000, signal, clock);
}
