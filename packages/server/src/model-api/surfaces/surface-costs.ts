/** Cost limits of requests to direct surfaces, whose costs are in the same ledger as those of the agent's turns. */
import { randomUUID } from "node:crypto";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { LoadedConfig } from "@pagurus/core/config/load-config";
import { agentDir } from "@pagurus/core/config/config-paths";
import type { CostLimits } from "@pagurus/core/config/config-types";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import { SpendLedger } from "@pagurus/host/stores/files/spend/spend-ledger";
import { CostGate, costLimits } from "@pagurus/host/turn/cost/cost-limits";

export interface SurfaceCostsOptions {
  home: string;
  loaded: LoadedConfig;
  /** Agent whose limits count, and in whose ledger the costs are. */
  agentId: string;
  pagurus: Pick<Pagurus, "sessions">;
}

/** Limits of one request. */
export interface RequestCosts {
  gate: CostGate;
  /** Call once when the request has ended. */
  close(): void;
}

interface SessionGate {
  gate: CostGate;
  /** Requests under way. */
  requests: number;
}

export class SurfaceCosts {
  readonly #options: SurfaceCostsOptions;
  readonly #ledger: SpendLedger;
  readonly #limits: CostLimits;
  /** Holds the amounts of all requests under way against the day's limit. */
  readonly #all: CostGate;
  /** By session id: holds the amounts of a session's requests under way against its limit. */
  readonly #sessions = new Map<string, SessionGate>();

  constructor(options: SurfaceCostsOptions) {
    const { home, agentId, loaded, pagurus } = options;
    this.#options = options;
    this.#ledger = new SpendLedger(agentDir(home, agentId), {
      shared: pagurus.sessions(agentId).shared?.spend,
    });
    this.#limits = costLimits(undefined, loaded.config.agents?.defaults?.maxCost);
    const { day } = this.#limits;
    this.#all = this.#gate({ limits: day === undefined ? {} : { day }, turnId: "direct" });
  }

  /** `sessionKey`: of the session that pays; one that does not exist yet pays nothing. */
  open({ info }: ResolvedModel, sessionKey: string | undefined): RequestCosts {
    const { pagurus, agentId } = this.#options;
    const record = sessionKey === undefined ? undefined : pagurus.sessions(agentId).find(sessionKey);
    const sessionId = record?.sessionId;
    const shared = sessionId === undefined ? undefined : this.#enter(sessionId);
    const { turn } = this.#limits;
    const gate = this.#gate({
      limits: turn === undefined ? {} : { turn },
      ref: info.ref,
      sessionId,
      turnId: `direct-${randomUUID()}`,
      parent: shared?.gate ?? this.#all,
    });
    const close = (): void => {
      if (!shared || sessionId === undefined) return;
      shared.requests -= 1;
      if (shared.requests === 0) this.#sessions.delete(sessionId);
    };
    return { gate, close };
  }

  /** The gate of a session, which all its requests under way share. */
  #enter(sessionId: string): SessionGate {
    let shared = this.#sessions.get(sessionId);
    if (!shared) {
      const { session } = this.#limits;
      const limits = session === undefined ? {} : { session };
      const gate = this.#gate({ limits, sessionId, turnId: "direct", parent: this.#all });
      this.#sessions.set(sessionId, (shared = { gate, requests: 0 }));
    }
    shared.requests += 1;
    return shared;
  }

  #gate({ limits, ref = "", sessionId, turnId, parent }: GateOptions): CostGate {
    const ledger = this.#ledger;
    return new CostGate({ limits, model: { ref }, ledger, sessionId: () => sessionId, turnId, parent });
  }
}

interface GateOptions {
  limits: CostLimits;
  ref?: string;
  /** Session that pays. */
  sessionId?: string | undefined;
  turnId: string;
  parent?: CostGate;
}
