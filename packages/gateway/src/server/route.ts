/** The route of one harness session: accepts the requests of its token only. */
import type { Logger } from "@pagurus/core/platform/log";
import { toPagurusError } from "@pagurus/contract/errors";
import type { CallTarget, ServerCall, WireCall } from "./gateway-call.ts";
import { WireCallError, type FaultMaker } from "./faults.ts";
import type { WireLimits } from "./limits.ts";

export type WireHandler = (call: WireCall) => Promise<void>;

export class Route {
  readonly #handler: WireHandler;
  readonly #fault: FaultMaker;
  readonly #limits: WireLimits;
  readonly #logger: Logger;
  readonly #calls = new Set<ServerCall>();
  #requests = 0;
  #whenIdle: (() => void)[] = [];

  constructor(handler: WireHandler, options: { fault: FaultMaker; limits: WireLimits; logger: Logger }) {
    this.#handler = handler;
    this.#fault = options.fault;
    this.#limits = options.limits;
    this.#logger = options.logger;
  }

  serve(call: ServerCall, target: CallTarget): void {
    const id = this.#requests++;
    this.#calls.add(call);
    call.onOver(() => {
      this.#calls.delete(call);
      this.#logger.debug("The model gateway served a request.", { request: id, ...call.facts });
      if (this.#calls.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
    if (this.#calls.size > this.#limits.maxRequests) {
      const message = `More than ${this.#limits.maxRequests} requests run at once; wait for one to end.`;
      return call.reply(this.#fault(target.path, "overloaded", message));
    }
    return void this.#handle(call, call.as(id, target));
  }

  /** Waits for running requests up to a deadline, then aborts them. The token is invalid from now on. */
  async close(): Promise<void> {
    if (this.#calls.size === 0) return;
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    const timer = setTimeout(() => {
      for (const call of this.#calls) call.abort(new Error("The gateway's route was closed."));
    }, this.#limits.closeMs);
    await idle;
    clearTimeout(timer);
  }

  async #handle(call: ServerCall, as: WireCall): Promise<void> {
    try {
      await this.#handler(as);
      if (!call.isOver && !call.response.headersSent)
        call.reply(this.#fault(as.path, "internal", "The model gateway did not answer the request."));
    } catch (thrown) {
      this.#failed(call, as, thrown);
    }
  }

  #failed(call: ServerCall, as: WireCall, thrown: unknown): void {
    if (call.isOver) return;
    if (thrown instanceof WireCallError) {
      call.reply(this.#fault(as.path, thrown.fault, thrown.message));
      return;
    }
    const { code, message } = toPagurusError(thrown);
    this.#logger.warn("The model gateway failed at a request.", { request: as.id, code });
    // An answer that has begun cannot be taken back; the connection is cut.
    if (call.response.headersSent) call.request.socket.destroy();
    else if (code === "internal")
      call.reply(this.#fault(as.path, "internal", "The model gateway failed at the request; see its log."));
    else call.reply(this.#fault(as.path, "upstream_failed", message));
  }
}
