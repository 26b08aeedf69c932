/**
 * Finds sessions that another program deleted, so that the inbox does not keep their text. Each call looks at a slice of the sessions
 * with work, and the next one continues there: the cost of a call does not grow with their number.
 */
import type { Awaitable, Inbox } from "./inbox.ts";
import type { WorkPlace } from "./work.ts";

/** Sessions of one slice. */
export const SLICE = 200;
const BEGINNING: WorkPlace = { agentId: "", sessionKey: "" };

export interface DeletedSessionsOptions {
  inbox: Inbox;
  /** Whether the session is there; may throw where that is not known. */
  exists(place: WorkPlace): boolean;
  /** Called for each session that is gone. */
  forget(place: WorkPlace): Awaitable<void>;
}

export class DeletedSessions {
  readonly #options: DeletedSessionsOptions;
  #last = BEGINNING;

  constructor(options: DeletedSessionsOptions) {
    this.#options = options;
  }

  /** Looks at the next slice; only at sessions of which work ended before a time, ms since the epoch. */
  async look(before: number): Promise<void> {
    const { inbox, exists, forget } = this.#options;
    for (let count = 0; count < SLICE; count += 1) {
      const place = await inbox.placeAfter(this.#last);
      this.#last = place ?? BEGINNING;
      if (!place) return;
      if ((await inbox.hasEnded(place, before)) && !exists(place)) await forget(place);
    }
  }
}
