/** What a turn may still cost, asked before each request: a limit stops a request and not the answer to it. */
import { PagurusError } from "../contract/errors.ts";
import type { CostSoFar } from "../contract/events.ts";
import type { Usage } from "../contract/message.ts";
import type { ModelCost, ModelInfo } from "../contract/model.ts";
import type { CostLimits } from "../config/types.ts";
import type { SpendLedger } from "../session/spend.ts";

const MILLION = 1_000_000;

/** The limits of a turn: the smaller of the request's and the configured one. Throws `usage_invalid`. */
export function costLimits(maxCost: number | undefined, configured: CostLimits | undefined): CostLimits {
  if (maxCost !== undefined && !(maxCost >= 0)) {
    throw new PagurusError(
      "usage_invalid",
      `The most that a turn may cost was given as ${maxCost}; give dollars, for example 0.50.`,
    );
  }
  const turn = Math.min(maxCost ?? Infinity, configured?.turn ?? Infinity);
  return {
    ...(turn !== Infinity && { turn }),
    ...(configured?.session !== undefined && { session: configured.session }),
    ...(configured?.day !== undefined && { day: configured.day }),
  };
}

/** What a request is priced with; another model than the turn's for a compaction that has its own. */
export type PricedModel = Pick<ModelInfo, "ref" | "cost">;

export interface CostRequest {
  /** Upper estimate of the request's input. */
  inputTokens: number;
  /** Output tokens below which the request is not worth sending. */
  minOutputTokens: number;
  /** Default: the turn's. */
  model?: PricedModel | undefined;
}

export interface CostGateOptions {
  /** From `costLimits`. */
  limits: CostLimits;
  model: PricedModel;
  ledger: SpendLedger;
  sessionId: string;
  turnId: string;
}

type Limit = keyof CostLimits;
const LIMITS: readonly Limit[] = ["turn", "session", "day"];

export class CostGate {
  readonly #options: CostGateOptions;
  readonly #limited: boolean;
  /** Absent until a request of known cost. */
  #turn: number | undefined;
  /** Day of the last request that was let through: its answer is paid from that day's limit, also after midnight. */
  #day: string | undefined;

  constructor(options: CostGateOptions) {
    this.#options = options;
    this.#limited = LIMITS.some((limit) => options.limits[limit] !== undefined);
  }

  /**
   * Call before each paid request; its output must not exceed `maxOutputTokens` (absent: no bound from costs).
   * Throws `cost_limit` when the request could exceed a limit, or its price is not known while there is a limit;
   * `store_read_failed` when a limit needs the ledger and it cannot be read.
   */
  before(request: CostRequest): { maxOutputTokens?: number } {
    if (!this.#limited) return {};
    const model = request.model ?? this.#options.model;
    const prices = model.cost;
    if (!prices) throw this.#unknownPrices(model.ref);
    const inputPrice = Math.max(prices.input, prices.cacheRead ?? 0, prices.cacheWrite ?? 0);
    if (inputPrice === 0 && prices.output === 0) return {};
    const inputCost = (request.inputTokens * inputPrice) / MILLION;
    const next = inputCost + (request.minOutputTokens * prices.output) / MILLION;
    const day = this.#options.ledger.today();
    let left = Infinity;
    for (const limit of LIMITS) {
      const most = this.#options.limits[limit];
      if (most === undefined) continue;
      const spent = this.#spent(limit, day);
      if (spent + next > most) throw this.#exceeded({ limit, most, spent, next, request, ref: model.ref });
      left = Math.min(left, most - spent - inputCost);
    }
    this.#day = day;
    if (prices.output === 0) return {};
    return {
      maxOutputTokens: Math.max(request.minOutputTokens, Math.floor((left * MILLION) / prices.output)),
    };
  }

  /** Records what a request cost. Why it could not be written down, if it could not: the sum here holds. */
  spent(usage: Usage, purpose?: string, model: PricedModel = this.#options.model): string | undefined {
    const cost = usage.cost ?? (model.cost && priceOf(usage, model.cost));
    if (cost === undefined) return undefined;
    this.#turn = (this.#turn ?? 0) + cost;
    if (cost === 0) return undefined;
    const { ledger, sessionId, turnId } = this.#options;
    const record = { sessionId, turnId, cost, ...(purpose !== undefined && { purpose }) };
    return ledger.record(record, this.#day ?? ledger.today());
  }

  /** What is known of the costs now. */
  soFar(): CostSoFar {
    const { limits, model } = this.#options;
    const known = model.cost !== undefined || this.#turn !== undefined;
    const session = this.#readable("session");
    const day = this.#readable("day");
    const turn = this.#turn ?? (known ? 0 : undefined);
    return {
      ...(turn !== undefined && { turn }),
      ...(session !== undefined && (known || session > 0) && { session }),
      ...(day !== undefined && (known || day > 0) && { day }),
      ...(this.#limited && { limits }),
    };
  }

  #spent(limit: Limit, day: string): number {
    const { ledger, sessionId } = this.#options;
    if (limit === "turn") return this.#turn ?? 0;
    return limit === "session" ? ledger.sessionTotal(sessionId) : ledger.dayTotal(day);
  }

  #readable(limit: "session" | "day"): number | undefined {
    try {
      return this.#spent(limit, this.#options.ledger.today());
    } catch {
      // A figure that cannot be read is absent; a limit that needs it refuses in `before`.
      return undefined;
    }
  }

  #unknownPrices(ref: string): PagurusError {
    return new PagurusError(
      "cost_limit",
      `A cost limit is set, but the prices of ${ref} are not known; set models.providers.<provider>.models[].cost, or drop the limit.`,
      { details: { model: ref } },
    );
  }

  #exceeded(refused: Refused): PagurusError {
    const { limit, most, spent, next, request, ref } = refused;
    return new PagurusError(
      "cost_limit",
      `The next request was not sent: the ${limit} has cost ${dollars(spent)} of ${dollars(most)}, and ${request.inputTokens} tokens of input with a short answer from ${ref} would cost ${dollars(next)}; ${REMEDIES[limit]}.`,
      { details: { limit, most, spent, next, model: ref } },
    );
  }
}

interface Refused {
  limit: Limit;
  most: number;
  spent: number;
  next: number;
  request: CostRequest;
  ref: string;
}

const REMEDIES: Record<Limit, string> = {
  turn: "raise --max-cost or agents.defaults.maxCost.turn, or make the context smaller with /compact",
  session: "raise agents.defaults.maxCost.session, or start anew with /new",
  day: "raise agents.defaults.maxCost.day, or go on tomorrow",
};

/** Cents, and below a dollar as many digits as show a difference. */
function dollars(amount: number): string {
  if (amount >= 1) return `$${amount.toFixed(2)}`;
  return `$${amount.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}

/** US dollars of one call, by the rules of `src/model/usage.ts`. */
function priceOf(usage: Usage, cost: ModelCost): number {
  const cached =
    (usage.cacheRead ?? 0) * (cost.cacheRead ?? cost.input) +
    (usage.cacheWrite ?? 0) * (cost.cacheWrite ?? cost.input);
  return (usage.input * cost.input + usage.output * cost.output + cached) / MILLION;
}
