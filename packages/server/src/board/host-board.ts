/** What the dashboard shows of the whole host, beside sessions, jobs and tokens. */
import { agentDir } from "@pagurus/core/config/config-paths";
import { agentIds } from "@pagurus/core/config/agent-settings";
import { loadFor } from "@pagurus/core/config/load-config";
import type { Database } from "@pagurus/core/data/sqlite";
import { SpendReport } from "@pagurus/host/stores/files/spend/spend-report";
import type { Channel, Health, Spend } from "@pagurus/api/types";
import { HostHealth, type HealthOptions, type OldestWork } from "./host-health.ts";

export interface HostBoardOptions extends HealthOptions {
  /** The server's own. */
  db: Database;
}

const DAY_MS = 24 * 60 * 60_000;

/** The local date, `YYYY-MM-DD`. */
function localDate(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export class HostBoard {
  readonly #options: HostBoardOptions;
  readonly #spend: SpendReport;
  readonly #health: HostHealth;

  constructor(options: HostBoardOptions) {
    this.#options = options;
    this.#spend = new SpendReport((agentId) => agentDir(options.facts.home, agentId));
    this.#health = new HostHealth(options);
  }

  /** Costs of the newest `days` days, today included. Throws `store_read_failed`. */
  async spend(days: number): Promise<Spend> {
    const { config } = loadFor({ onlyLook: true }, this.#options.facts.home);
    const now = Date.now();
    const found = await this.#spend.since(localDate(now - (days - 1) * DAY_MS), agentIds(config));
    return { today: localDate(now), days: found, limits: { ...config.agents?.defaults?.maxCost } };
  }

  health(oldest: OldestWork | undefined): Promise<Health> {
    return this.#health.report(oldest);
  }

  /** The code of channels is loaded here: a host without them does not need it. */
  async channels(): Promise<Channel[]> {
    const { channelList } = await import("./channel-list.ts");
    return channelList(this.#options.db, loadFor({ onlyLook: true }, this.#options.facts.home).config);
  }

  /** Throws `usage_invalid`. */
  async approve(code: string): Promise<{ channel: string; address: string }> {
    const { approvePerson } = await import("./channel-list.ts");
    return approvePerson(this.#options.db, code);
  }

  /** Throws `usage_invalid`. */
  async remove(channel: string, address: string): Promise<void> {
    const { removePerson } = await import("./channel-list.ts");
    removePerson(this.#options.db, channel, address);
  }
}
