/** Cost limits of requests to direct surfaces, whose costs are in the same ledger as those of the agent's turns. */
import { randomUUID } from "node:crypto";
import type { Pagurus } from "../../contract/host/host.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { agentDir } from "../../config/config-paths.ts";
import type { CostLimits } from "../../config/config-types.ts";
import type { ResolvedModel } from "../../model/provider-types.ts";
import { SpendLedger } from "../../stores/files/spend/spend-ledger.ts";
import { CostGate, costLimits } from "../../turn/run/cost-limits.ts";

export interface SurfaceCostsOptions {
  home: string;
  loaded: LoadedConfig;
  /** Agent whose limits count, and in whose ledger the costs are. */
  agentId: string;
  pagurus: Pick<Pagurus, "sessions">;
}

export class SurfaceCosts {
  readonly #options: SurfaceCostsOptions;
  readonly #ledger: SpendLedger;
  /** Limits of each request: that of a turn, and that of the session which it names. */
  readonly #limits: CostLimits;
  /** Holds the amounts of all requests under way against the day's limit. */
  readonly #all: CostGate;

  constructor(options: SurfaceCostsOptions) {
    const { home, agentId, loaded, pagurus } = options;
    this.#options = options;
    this.#ledger = new SpendLedger(agentDir(home, agentId), {
      shared: pagurus.sessions(agentId).shared?.spend,
    });
    const { day, ...limits } = costLimits(undefined, loaded.config.agents?.defaults?.maxCost);
    this.#limits = limits;
    this.#all = new CostGate({
      limits: day === undefined ? {} : { day },
      model: { ref: "" },
      ledger: this.#ledger,
      sessionId: () => undefined,
      turnId: "direct",
    });
  }

  /** `sessionKey`: of the session that pays; one that does not exist yet pays nothing. */
  gateOf({ info }: ResolvedModel, sessionKey: string | undefined): CostGate {
    const { pagurus, agentId } = this.#options;
    const record = sessionKey === undefined ? undefined : pagurus.sessions(agentId).find(sessionKey);
    return new CostGate({
      limits: this.#limits,
      model: { ref: info.ref },
      ledger: this.#ledger,
      sessionId: () => record?.sessionId,
      turnId: `direct-${randomUUID()}`,
      parent: this.#all,
    });
  }
}
