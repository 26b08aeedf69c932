/** The deletions of one agent in the host: finished before its next work where a crash interrupted one. Loaded with the first of them. */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { DeletionParts, FinishedDeletions } from "./deletions.ts";
import { pendingDeletions } from "@pagurus/core/platform/deletions";
import type { AgentDeletions } from "@pagurus/host/turn/agent/agent-host";

/** After a failure, work does not try again for so long, ms; a deletion does. */
const DELETION_PAUSE_MS = 60_000;

export class HostDeletions implements AgentDeletions {
  readonly #parts: DeletionParts;
  /** Sessions of the deletions that were finished, by the key that was to be deleted. */
  readonly #finished = new Map<string, number>();
  #running: Promise<FinishedDeletions> | undefined;
  #pausedUntil = 0;

  constructor(parts: DeletionParts) {
    this.#parts = parts;
  }

  async finish(): Promise<void> {
    const { problems } = await this.#finish();
    if (problems.length === 0) return;
    throw new PagurusError(
      "store_write_failed",
      `The session is deleted, and its words are not yet out of ${problems.join("; ")}. The next run finishes this, and so does pagurus doctor.`,
      { details: { problems } },
    );
  }

  /** Before work of the agent. One look at the disk where nothing is left; never throws. */
  async settle(): Promise<void> {
    if (pendingDeletions(this.#parts.agentDir).length === 0 || performance.now() < this.#pausedUntil) return;
    const { problems } = await this.#finish();
    if (problems.length > 0) this.#pausedUntil = performance.now() + DELETION_PAUSE_MS;
  }

  takeFinished(sessionKey: string): number | undefined {
    const sessions = this.#finished.get(sessionKey);
    this.#finished.delete(sessionKey);
    return sessions;
  }

  #finish(): Promise<FinishedDeletions> {
    // One after the other: a deletion that began during one is not in it.
    const before = this.#running ?? Promise.resolve();
    const running = before.then(() => this.#finishAll());
    this.#running = running;
    return running;
  }

  async #finishAll(): Promise<FinishedDeletions> {
    try {
      const { finishDeletions } = await import("./deletions.ts");
      const done = await finishDeletions(this.#parts);
      for (const { sessions } of done.finished) {
        const [first] = sessions;
        if (first) this.#finished.set(first.key, sessions.length);
      }
      return done;
    } catch (error) {
      return { finished: [], problems: [toPagurusError(error).message] };
    }
  }
}
