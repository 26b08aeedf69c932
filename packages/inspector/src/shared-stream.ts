/** One stream of a server's events for all who follow some of them; for the worker that the tabs of a browser share. */
import type { ServerEvent } from "@pagurus/api/types";
import { ClientError } from "@pagurus/client/index";

/** Which events are wanted; without a member, all. */
export interface WantedEvents {
  agent?: string | undefined;
  session?: string | undefined;
  work?: string | undefined;
  /** Leaves out the pieces of answers. */
  withoutDeltas?: boolean | undefined;
}

export interface Follower {
  /** The secret of its page. */
  login: string;
  wanted: WantedEvents;
  /** It gets the events after this id; called once, before the first of them. */
  onBegin(after: number): void;
  onEvent(event: ServerEvent): void;
  /** The last call. */
  onFailure(error: unknown): void;
}

/** The server, asked with a login. */
export interface EventSource {
  newest(login: string, signal: AbortSignal): Promise<number>;
  events(login: string, after: number, signal: AbortSignal): AsyncIterable<ServerEvent>;
}

interface Run {
  abort: AbortController;
  /** Id of the last event that was delivered; absent until the server has answered. */
  at?: number | undefined;
}

function wants({ agent, session, work, withoutDeltas }: WantedEvents, event: ServerEvent): boolean {
  return (
    (agent ?? event.agent) === event.agent &&
    (session ?? event.session) === event.session &&
    (work ?? event.work) === event.work &&
    !(withoutDeltas === true && /^(?:text|thinking)\.delta$/.test(event.event.type))
  );
}

/** Holds no connection while it has no follower. */
export class SharedStream {
  readonly #source: EventSource;
  readonly #followers = new Set<Follower>();
  #run: Run | undefined;

  constructor(source: EventSource) {
    this.#source = source;
  }

  /** Returns a function that takes the follower out. */
  add(follower: Follower): () => void {
    this.#followers.add(follower);
    if (this.#run?.at !== undefined) follower.onBegin(this.#run.at);
    if (!this.#run) {
      this.#run = { abort: new AbortController() };
      void this.#follow(this.#run);
    }
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.#end();
    };
  }

  #end(): void {
    this.#run?.abort.abort();
    this.#run = undefined;
  }

  /**
   * Follows with the login of one follower. Every login of a page sees all sessions, so one stream has the events of all; where the server
   * has ended that login, the next one leads from the same event on.
   */
  async #follow(run: Run): Promise<void> {
    const { signal } = run.abort;
    for (;;) {
      const [first] = this.#followers;
      if (!first || signal.aborted) return;
      const { login } = first;
      try {
        if (run.at === undefined) {
          run.at = await this.#source.newest(login, signal);
          if (signal.aborted) return;
          for (const follower of this.#followers) follower.onBegin(run.at);
        }
        for await (const event of this.#source.events(login, run.at, signal)) {
          if (signal.aborted) return;
          run.at = event.id;
          for (const follower of this.#followers) if (wants(follower.wanted, event)) follower.onEvent(event);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#fail(error, login);
      }
    }
  }

  /** A refusal is for the followers with that login, any other failure for all: they begin again. */
  #fail(error: unknown, login: string): void {
    const isRefusal = error instanceof ClientError && error.status === 401;
    const failed = [...this.#followers].filter((each) => !isRefusal || each.login === login);
    for (const follower of failed) this.#followers.delete(follower);
    if (this.#followers.size === 0) this.#end();
    for (const follower of failed) follower.onFailure(error);
  }
}
