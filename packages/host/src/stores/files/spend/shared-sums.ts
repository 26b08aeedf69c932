/**
 * Sums of costs among all hosts. Each source reports what its own ledger has in a scope, which only grows: a sum that is reported again, after
 * a crash too, counts once.
 */
import { toPagurusError } from "@pagurus/contract/errors";
import type { SharedSpend } from "@pagurus/contract/session/shared-records";

/** How old the sums of other hosts may be, ms. */
const SUMS_FRESH_MS = 1_000;
/** Pause after a database could not be reached, since each attempt is waited for, ms. */
const RETRY_MS = 10_000;
/** Scopes of which sums are kept. */
const MOST_SCOPES = 256;

export type Sums = ReadonlyMap<string, number>;

export function sumOf(sums: Sums): number {
  return [...sums.values()].reduce((sum, amount) => sum + amount, 0);
}

export class SharedSums {
  readonly #shared: SharedSpend;
  readonly #now: () => number;
  /** Sums as they were last read, by scope. */
  readonly #known = new Map<string, { at: number; sums: Sums }>();
  #retryAt = 0;
  #problem: string | undefined;
  #isReported = false;

  /** `now`: ms since the epoch. */
  constructor(shared: SharedSpend, now: () => number) {
    this.#shared = shared;
    this.#now = now;
  }

  /** The sums of all sources. `own`: of this host's ledger; what the others lack of it is reported. Never throws. */
  merged(scope: string, own: Sums): Sums {
    const known = this.#read(scope);
    if (known && [...own].some(([source, amount]) => amount > (known.get(source) ?? 0)))
      this.report(scope, own);
    const all = new Map(known);
    for (const [source, amount] of own) all.set(source, Math.max(amount, all.get(source) ?? 0));
    return all;
  }

  report(scope: string, own: Sums): void {
    if (own.size > 0) this.#shared.report(scope, own);
  }

  /** Why the sums of other hosts are not up to date, as a sentence; once until they are again. */
  takeProblem(): string | undefined {
    if (this.#problem === undefined || this.#isReported) return undefined;
    this.#isReported = true;
    return `The costs of other hosts are as they were last read, so cost limits hold for those and for this host's: ${this.#problem}`;
  }

  #read(scope: string): Sums | undefined {
    const known = this.#known.get(scope);
    const now = this.#now();
    // The clock may be set back.
    if (known && Math.abs(now - known.at) < SUMS_FRESH_MS) return known.sums;
    if (now < this.#retryAt && this.#retryAt - now <= RETRY_MS) return known?.sums;
    try {
      const sums = this.#shared.sums(scope);
      this.#known.delete(scope);
      this.#known.set(scope, { at: now, sums });
      for (const oldest of this.#known.keys()) if (this.#known.size > MOST_SCOPES) this.#known.delete(oldest);
      this.#problem = undefined;
      this.#isReported = false;
      return sums;
    } catch (error) {
      this.#problem = toPagurusError(error).message;
      this.#retryAt = this.#now() + RETRY_MS;
      return known?.sums;
    }
  }
}
