/** Cost limits of requests to direct surfaces, whose costs are in the same ledger as those of the agent's turns. */
import { randomUUID } from "node:crypto";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { LoadedConfig } from "@pagurus/core/config/load-config";
import { agentDir } from "@pagurus/core/config/config-paths";
import type { CostLimits } from "@pagurus/core/config/config-types";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import { SpendLedger } from "@pagurus/host/stores/files/spend/spend-ledger";
import { heldCosts } from "@pagurus/host/turn/cost/held-costs";
import { CostGate, costLimits } from "@pagurus/host/turn/cost/cost-limits";

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
  readonly #limits: CostLimits;

  constructor(options: SurfaceCostsOptions) {
    const { home, agentId, loaded, pagurus } = options;
    this.#options = options;
    this.#ledger = new SpendLedger(agentDir(home, agentId), {
      shared: pagurus.sessions(agentId).shared?.spend,
    });
    this.#limits = costLimits(undefined, loaded.config.agents?.defaults?.maxCost);
  }

  /** The gate of one request. `sessionKey`: of the session that pays; one that does not exist yet pays nothing. */
  gate({ info }: ResolvedModel, sessionKey: string | undefined): CostGate {
    const { pagurus, agentId } = this.#options;
    const store = pagurus.sessions(agentId);
    const sessionId = sessionKey === undefined ? undefined : store.find(sessionKey)?.sessionId;
    return new CostGate({
      limits: this.#limits,
      model: { ref: info.ref },
      ledger: this.#ledger,
      sessionId: () => sessionId,
      turnId: `direct-${randomUUID()}`,
      program: "api",
      held: heldCosts(store),
    });
  }
}
