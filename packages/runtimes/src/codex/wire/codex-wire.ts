/**
 * Seam `wire`: a thread's provider is a route through the model gateway, where the turn's own `assemble` decides what the
 * model is sent, whatever the thread holds. Source: the design, "Codex", seam `wire`, and "The model gateway".
 */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { ModelGateway, WireRoute, WireTurn } from "@pagurus/contract/harness/wire";
import { wireTurnOf } from "@pagurus/core/native/served-turn";

/**
 * Routes of a host's native threads. A thread keeps its route as long as a child may have it loaded, since its provider is
 * set once.
 */
export class WireRoutes {
  readonly #gateway: (() => Promise<ModelGateway>) | undefined;
  readonly #routes = new Map<string, WireRoute>();

  constructor(gateway: (() => Promise<ModelGateway>) | undefined) {
    this.#gateway = gateway;
  }

  get canOpen(): boolean {
    return this.#gateway !== undefined;
  }

  /** The thread's route, or a new one, to be kept for the thread that is started or resumed with it. Throws `gateway_failed`. */
  async of(threadId: string | undefined, sessionKey: string): Promise<WireRoute> {
    const known = threadId === undefined ? undefined : this.#routes.get(threadId);
    if (known) return known;
    if (!this.#gateway) throw new PagurusError("gateway_failed", "There is no model gateway.");
    const gateway = await this.#gateway();
    return gateway.open({ api: "openai-responses", sessionKey, runtime: "codex" });
  }

  has(threadId: string): boolean {
    return this.#routes.has(threadId);
  }

  /** Assigns a route to its thread. */
  keep(threadId: string, route: WireRoute): void {
    for (const [id, each] of this.#routes) if (each === route) this.#routes.delete(id);
    this.#routes.set(threadId, route);
  }

  /** Closes a route that no thread uses after all. */
  async giveUp(route: WireRoute): Promise<void> {
    if ([...this.#routes.values()].includes(route)) return;
    await route.close().catch(() => undefined);
  }

  /** No child has the thread loaded any more. */
  leave(threadId: string): void {
    const route = this.#routes.get(threadId);
    this.#routes.delete(threadId);
    // A route that cannot be closed serves no request.
    route?.close().catch(() => undefined);
  }

  async dispose(): Promise<void> {
    const routes = [...this.#routes.values()];
    this.#routes.clear();
    await Promise.allSettled(routes.map((route) => route.close()));
  }
}

/** The turn as the gateway calls it, with a record of the gateway's calls for the runtime. */
export class WiredTurn {
  readonly turn: WireTurn;
  /** Why the newest request got no context; more precise than Codex's own error. */
  failure: PagurusError | undefined;
  #hasAnswered = false;

  constructor(turn: HarnessTurn) {
    this.turn = wireTurnOf(turn, {
      assemble: (request) =>
        request?.forCompaction === true
          ? turn.context.assemble(request)
          : this.#noting(turn.context.assemble(request)),
      answerCompaction: async (question) => {
        const answer = await turn.context.answerCompaction(question);
        this.#hasAnswered = answer !== undefined;
        return answer;
      },
    });
  }

  /** Whether the engine has answered the compaction that has just ended; called once for each. */
  takeAnswer(): boolean {
    const hasAnswered = this.#hasAnswered;
    this.#hasAnswered = false;
    return hasAnswered;
  }

  async #noting<T>(assembled: Promise<T>): Promise<T> {
    try {
      const context = await assembled;
      this.failure = undefined;
      return context;
    } catch (error) {
      this.failure = toPagurusError(error);
      throw error;
    }
  }
}
