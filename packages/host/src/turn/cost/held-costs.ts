/**
 * Amounts of an agent's requests under way in this process: of turns, and of direct requests at the server; and by how much the person
 * has raised its limits there.
 */
import type { SessionStore } from "@pagurus/contract/session/store";

/** Amounts below it are no amounts, US dollars. */
const SMALLEST = 1e-9;

/** US dollars. */
export class HeldCosts {
  #all = 0;
  readonly #sessions = new Map<string, number>();
  readonly #raised = new Map<string, number>();
  readonly #asking = new Map<string, Promise<boolean>>();

  get all(): number {
    return this.#all;
  }

  of(sessionId: string): number {
    return this.#sessions.get(sessionId) ?? 0;
  }

  /** Holds an amount against the limits of the day and of these sessions. Call the returned function once. */
  hold(sessionIds: readonly string[], dollars: number): () => void {
    const ids = [...new Set(sessionIds)];
    this.#add(ids, dollars);
    return () => this.#add(ids, -dollars);
  }

  /** By how much a limit is raised; `limit` names it and its session. */
  raised(limit: string): number {
    return this.#raised.get(limit) ?? 0;
  }

  raise(limit: string, dollars: number): void {
    this.#raised.set(limit, this.raised(limit) + dollars);
  }

  /** Asks whether a limit is raised, once for all requests that it refuses meanwhile. */
  asked(limit: string, ask: () => Promise<boolean>): Promise<boolean> {
    const asking = this.#asking.get(limit) ?? ask().finally(() => this.#asking.delete(limit));
    this.#asking.set(limit, asking);
    return asking;
  }

  #add(ids: readonly string[], dollars: number): void {
    this.#all = Math.max(0, this.#all + dollars);
    for (const id of ids) {
      const next = this.of(id) + dollars;
      // Sums of amounts that were released differ from 0 by rounding.
      if (next > SMALLEST) this.#sessions.set(id, next);
      else this.#sessions.delete(id);
    }
  }
}

// The agent's host and the server share the agent's store and nothing else.
const byStore = new WeakMap<SessionStore, HeldCosts>();

/** Those of the agent whose sessions the store has. */
export function heldCosts(store: SessionStore): HeldCosts {
  const known = byStore.get(store) ?? new HeldCosts();
  byStore.set(store, known);
  return known;
}
