/** Costs of days by agent, model and program, read from the ledgers of this host. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Pace } from "@pagurus/core/platform/pace";
import { readFailure } from "../failures.ts";
import { days } from "./spend-scopes.ts";

/** Sum of the requests of one model and program on a day. */
export interface SpendSum {
  /** Model ref; absent for amounts of a ledger that did not record it. */
  model?: string;
  program?: string;
  /** US dollars. */
  cost: number;
  requests: number;
}

export interface DaySpend {
  /** Local date, `YYYY-MM-DD`. */
  day: string;
  agent: string;
  sums: SpendSum[];
}

/** Files of which sums are kept. */
const MOST_FILES = 1_000;

export class SpendReport {
  readonly #agentDir: (agentId: string) => string;
  readonly #known = new Map<string, { size: number; sums: SpendSum[] }>();

  constructor(agentDir: (agentId: string) => string) {
    this.#agentDir = agentDir;
  }

  /** The days from `since` on (`YYYY-MM-DD`), oldest first. A request that costs nothing is not in them. Throws `store_read_failed`. */
  async since(since: string, agents: readonly string[]): Promise<DaySpend[]> {
    const pace = new Pace();
    const found: DaySpend[] = [];
    for (const agent of agents)
      for (const day of days(this.#agentDir(agent)).filter((each) => each >= since)) {
        found.push({ day, agent, sums: this.#read(join(this.#agentDir(agent), "spend", `${day}.jsonl`)) });
        if (pace.due) await pace.rest();
      }
    return found.toSorted((a, b) => a.day.localeCompare(b.day) || a.agent.localeCompare(b.agent));
  }

  #read(file: string): SpendSum[] {
    try {
      if (!existsSync(file)) return [];
      const { size } = statSync(file);
      const known = this.#known.get(file);
      if (known?.size === size) return known.sums;
      const sums = sumsOf(readFileSync(file, "utf8"));
      this.#known.delete(file);
      this.#known.set(file, { size, sums });
      for (const oldest of this.#known.keys()) if (this.#known.size > MOST_FILES) this.#known.delete(oldest);
      return sums;
    } catch (error) {
      throw readFailure(error, file);
    }
  }
}

function sumsOf(text: string): SpendSum[] {
  const sums = new Map<string, SpendSum>();
  for (const line of text.split("\n")) {
    const { cost, model, program } = parsed(line);
    if (typeof cost !== "number" || !Number.isFinite(cost) || cost <= 0) continue;
    const names = {
      ...(typeof model === "string" && { model }),
      ...(typeof program === "string" && { program }),
    };
    const key = JSON.stringify(names);
    const sum = sums.get(key) ?? { ...names, cost: 0, requests: 0 };
    sums.set(key, { ...sum, cost: sum.cost + cost, requests: sum.requests + 1 });
  }
  return [...sums.values()].toSorted((a, b) => b.cost - a.cost);
}

function parsed(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Torn by a crash, or still being written.
    return {};
  }
}
