/** Cost limits of a turn, checked before each request: a limit stops a request, not the answer to it. */
import { PagurusError } from "@pagurus/contract/errors";
import type { CostSoFar } from "@pagurus/contract/host/cost";
import type { Usage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import type { CostLimits } from "@pagurus/core/config/config-types";
import { defined } from "@pagurus/core/data/defined";
import { costOf } from "@pagurus/core/model/model-usage";
import type { SpendLedger } from "../../stores/files/spend/spend-ledger.ts";
import { HeldCosts } from "./held-costs.ts";

const MILLION = 1_000_000;
/** US dollars that are nothing. */
const SMALLEST = 1e-9;

/** The limits of a turn: the smaller of the request's and the configured one. Throws `usage_invalid`. */
export function costLimits(maxCost: number | undefined, configured: CostLimits | undefined): CostLimits {
  if (maxCost !== undefined && !(maxCost >= 0)) {
    throw new PagurusError(
      "usage_invalid",
      `The most that a turn may cost was set to ${maxCost}; give dollars, for example 0.50.`,
    );
  }
  const turn = Math.min(maxCost ?? Infinity, configured?.turn ?? Infinity);
  return {
    ...(turn !== Infinity && { turn }),
    ...(configured?.session !== undefined && { session: configured.session }),
    ...(configured?.day !== undefined && { day: configured.day }),
  };
}

/** Model that a request is priced with; differs from the turn's for a compaction with a model of its own. */
export type PricedModel = Pick<ModelInfo, "ref" | "cost">;

export interface CostRequest {
  /** Upper estimate of the request's input. */
  inputTokens: number;
  /** Output tokens below which the request is not worth sending. */
  minOutputTokens: number;
  /** Output tokens that the request would allow without a limit. */
  wantedOutputTokens?: number | undefined;
  /** Default: the turn's. */
  model?: PricedModel | undefined;
}

/** A request whose price does not follow from the tokens of a conversation. */
export interface PricedRequest {
  /** US dollars; undefined: the price is unknown. */
  cost: number | undefined;
  /** The request in a sentence, for example `2 images of openai/gpt-image-1`. */
  label: string;
  ref: string;
}

/** A request that may be sent. */
export interface Allowance {
  /** Upper limit of its output; absent: costs set none. */
  maxOutputTokens?: number;
  /** Call once the request has ended, paid or not: its cost is reserved until then. Idempotent. */
  done(): void;
}

export interface CostGateOptions {
  /** From `costLimits`. */
  limits: CostLimits;
  model: PricedModel;
  ledger: SpendLedger;
  /** The current session: a compaction may rotate it. Undefined: the requests belong to none. */
  sessionId(): string | undefined;
  turnId: string;
  /** Id of the runtime whose requests it counts; absent: the host's own between turns. */
  program?: string | undefined;
  /** Gate of the turn that started this one as a subagent: its limits apply too, and it pays. */
  parent?: CostGate | undefined;
  /** Amounts of all requests under way that the limits of the session and the day count. Default: those of this gate alone. */
  held?: HeldCosts | undefined;
}

type Limit = keyof CostLimits;
const LIMITS: readonly Limit[] = ["turn", "session", "day"];

const UNLIMITED: Allowance = { done: () => undefined };

export class CostGate {
  readonly #options: CostGateOptions;
  readonly #limited: boolean;
  /** Absent before the first request of known cost. */
  #turn: number | undefined;
  /** Reserved for requests of the turn in flight. */
  #pending = 0;
  readonly #held: HeldCosts;
  /** The gate's part of `#held`. */
  #shared = 0;
  /** Releases of the requests in flight. */
  readonly #holds = new Set<() => void>();
  /** Cost of the turn's subagents that the parent's session does not include yet. */
  #children = 0;
  readonly #childSessions = new Set<string>();
  /** Refs of models without prices that requests of the turn were sent to. */
  readonly #unpriced = new Set<string>();
  #model: PricedModel;
  /** Day of the last allowed request: its answer counts toward that day's limit, also after midnight. */
  #day: string | undefined;

  constructor(options: CostGateOptions) {
    this.#options = options;
    this.#model = options.model;
    this.#held = options.held ?? new HeldCosts();
    this.#limited = LIMITS.some((limit) => options.limits[limit] !== undefined);
  }

  /** Another model has taken over: its prices apply from now on. */
  useModel(model: PricedModel): void {
    this.#model = model;
  }

  /**
   * Call before each paid request. Throws `cost_limit` when the request could exceed a limit of the turn or of a parent turn, or when its
   * price is unknown while there is a limit; `store_read_failed` when a limit needs the ledger and it cannot be read.
   */
  before(request: CostRequest): Allowance {
    const gates = this.#limitedGates();
    if (gates.length === 0) return UNLIMITED;
    const model = request.model ?? this.#model;
    const prices = model.cost;
    if (!prices) throw unknownPrices(model.ref);
    const inputPrice = Math.max(prices.input, prices.cacheRead ?? 0, prices.cacheWrite ?? 0);
    if (inputPrice === 0 && prices.output === 0) return UNLIMITED;
    const inputCost = (request.inputTokens * inputPrice) / MILLION;
    const next = inputCost + (request.minOutputTokens * prices.output) / MILLION;
    const label = `${request.inputTokens} tokens of input with a short answer from ${model.ref}`;
    const left = this.#leftOf(gates, next, { label, ref: model.ref }) - inputCost;
    const paid = prices.output === 0 ? Infinity : Math.floor((left * MILLION) / prices.output);
    const most = Math.max(request.minOutputTokens, paid);
    const output = Math.min(most, request.wantedOutputTokens ?? most);
    const held = inputCost + (output === Infinity ? 0 : (output * prices.output) / MILLION);
    return { done: this.#hold(gates, held, next), ...(most === Infinity ? {} : { maxOutputTokens: most }) };
  }

  /** Like `before`, for a request with a price of its own. */
  reserve({ cost, label, ref }: PricedRequest): Allowance {
    const gates = this.#limitedGates();
    if (gates.length === 0 || cost === 0) return UNLIMITED;
    if (cost === undefined) throw unknownPrices(ref);
    this.#leftOf(gates, cost, { label, ref });
    return { done: this.#hold(gates, cost, cost) };
  }

  /** Records what a request cost. Returns why it could not be written, if so: the sum in memory is still right. */
  spent(usage: Usage, purpose?: string, model: PricedModel = this.#model): string | undefined {
    const cost = usage.cost ?? (model.cost && costOf(usage, model.cost));
    if (cost !== undefined) return this.paid(cost, purpose, model);
    this.noteUnpriced(model.ref);
    return undefined;
  }

  /** Notes a request whose cost is not known. */
  noteUnpriced(ref: string): void {
    for (const gate of this.#gates()) gate.#unpriced.add(ref);
  }

  /** Like `spent`, for a request with a price of its own. `cost`: US dollars. */
  paid(
    cost: number,
    purpose?: string,
    { ref: model }: Pick<PricedModel, "ref"> = this.#model,
  ): string | undefined {
    const { ledger, turnId, parent, program } = this.#options;
    const sessionId = this.#options.sessionId();
    this.#turn = (this.#turn ?? 0) + cost;
    if (cost === 0) return undefined;
    if (parent) parent.#childSpent(cost, sessionId);
    const record = { sessionId, turnId, cost, model, ...defined({ purpose, program }) };
    return ledger.record(record, this.#day ?? ledger.today());
  }

  /** Nothing of the turn is in flight any more. */
  release(): void {
    for (const done of this.#holds) done();
  }

  /** Ends the turn: the session now includes its subagents' costs. Returns why it could not be written. */
  close(): string | undefined {
    const { ledger } = this.#options;
    const sessionId = this.#options.sessionId();
    let unwritten: string | undefined;
    if (sessionId !== undefined)
      for (const child of this.#childSessions) unwritten ??= ledger.carry(child, sessionId);
    this.#childSessions.clear();
    this.#children = 0;
    return unwritten;
  }

  /** Costs known so far. */
  soFar(): CostSoFar {
    const known = this.#model.cost !== undefined || this.#turn !== undefined;
    const session = this.#readable("session");
    const day = this.#readable("day");
    const turn = this.#turn ?? (known ? 0 : undefined);
    const unpriced = turn === undefined ? [] : [...this.#unpriced];
    return {
      ...defined({ turn }),
      ...(session !== undefined && (known || session > 0) && { session }),
      ...(day !== undefined && (known || day > 0) && { day }),
      ...(unpriced.length > 0 && { unpriced }),
      ...(this.#limited && { limits: this.#raisedLimits() }),
    };
  }

  /** This gate and those of its parent turns. */
  #gates(): CostGate[] {
    const { parent } = this.#options;
    return [this, ...(parent ? parent.#gates() : [])];
  }

  /**
   * Reserves dollars of each gate until the returned function, or `release`, is called. `shared`: the part that other sessions see; the
   * longest answer that a turn may get would leave them nothing.
   */
  #hold(gates: readonly CostGate[], dollars: number, shared: number): () => void {
    for (const gate of gates) gate.#add(dollars, shared);
    const sessions = gates.map((gate) => gate.#options.sessionId()).filter((id) => id !== undefined);
    const releases = [...new Set(gates.map((gate) => gate.#held))].map((held) => held.hold(sessions, shared));
    const done = (): void => {
      if (!this.#holds.delete(done)) return;
      for (const gate of gates) gate.#add(-dollars, -shared);
      for (const release of releases) release();
    };
    this.#holds.add(done);
    return done;
  }

  /** Names a limit as it applies here. */
  #nameOf(limit: Limit, day: string): string {
    const { turnId, sessionId } = this.#options;
    return limit === "turn" ? `turn ${turnId}` : `${limit === "day" ? day : "session"} ${sessionId()}`;
  }

  /** The configured limit with what the person has added. */
  #most(limit: Limit, day: string): number | undefined {
    const most = this.#options.limits[limit];
    return most === undefined ? undefined : most + this.#held.raised(this.#nameOf(limit, day));
  }

  #raisedLimits(): CostLimits {
    const day = this.#options.ledger.today();
    return Object.fromEntries(
      LIMITS.map((limit) => [limit, this.#most(limit, day)]).filter(([, most]) => most !== undefined),
    ) as CostLimits;
  }

  #add(dollars: number, shared: number): void {
    this.#pending = Math.max(0, this.#pending + dollars);
    this.#shared = Math.max(0, this.#shared + shared);
  }

  #limitedGates(): CostGate[] {
    return this.#gates().filter((gate) => gate.#limited);
  }

  #childSpent(cost: number, childSession: string | undefined): void {
    const { parent, sessionId } = this.#options;
    this.#turn = (this.#turn ?? 0) + cost;
    // The total of the gate's own session has the cost already.
    if (childSession === undefined || childSession !== sessionId()) {
      this.#children += cost;
      if (childSession !== undefined) this.#childSessions.add(childSession);
    }
    if (parent) parent.#childSpent(cost, childSession);
  }

  /** Smallest remainder of these gates. Throws `cost_limit`. */
  #leftOf(gates: readonly CostGate[], next: number, refused: Pick<Refused, "label" | "ref">): number {
    const day = this.#options.ledger.today();
    const left = Math.min(...gates.map((gate) => gate.#left(day, next, refused)));
    this.#day = day;
    return left;
  }

  /** Smallest remainder of the limits, after requests in flight are paid. Throws `cost_limit` when `next` exceeds it. */
  #left(day: string, next: number, refused: Pick<Refused, "label" | "ref">): number {
    let left = Infinity;
    for (const limit of LIMITS) {
      const most = this.#most(limit, day);
      if (most === undefined) continue;
      const pending = this.#pendingOf(limit);
      const spent = this.#spent(limit, day) + pending;
      if (spent + next > most) {
        const name = this.#nameOf(limit, day);
        throw new CostLimitReached(
          { limit, most, spent, pending, next, ...refused },
          { name, held: this.#held },
        );
      }
      left = Math.min(left, most - spent);
    }
    return left;
  }

  #pendingOf(limit: Limit): number {
    const sessionId = this.#options.sessionId();
    const held = limit === "day" ? this.#held.all : sessionId === undefined ? 0 : this.#held.of(sessionId);
    const ofOthers = limit === "turn" ? 0 : held - this.#shared;
    // Sums of fractions do not come back to exactly zero.
    return this.#pending + (ofOthers > SMALLEST ? ofOthers : 0);
  }

  #spent(limit: Limit, day: string): number {
    const { ledger } = this.#options;
    if (limit === "turn") return this.#turn ?? 0;
    if (limit === "day") return ledger.dayTotal(day);
    const sessionId = this.#options.sessionId();
    return (sessionId === undefined ? 0 : ledger.sessionTotal(sessionId)) + this.#children;
  }

  #readable(limit: "session" | "day"): number | undefined {
    try {
      return this.#spent(limit, this.#options.ledger.today());
    } catch {
      // An unreadable figure is absent; a limit that needs it refuses in `before`.
      return undefined;
    }
  }
}

function unknownPrices(ref: string): PagurusError {
  return new PagurusError(
    "cost_limit",
    `A cost limit is set, but the prices of ${ref} are not known; set its cost or unitCost at models.providers.${ref.slice(0, Math.max(0, ref.indexOf("/")))}.models, for example cost: { input: 3, output: 15 } (US dollars per million tokens), or drop the limit.`,
    { details: { model: ref } },
  );
}

/** A request would exceed a limit, which the person may raise. */
export class CostLimitReached extends PagurusError {
  readonly refused: Readonly<Refused>;
  readonly #name: string;
  readonly #held: HeldCosts;

  /** `name`: of the limit in `held`. */
  constructor(refused: Refused, { name, held }: { name: string; held: HeldCosts }) {
    const { limit, most, spent, pending, next, label, ref } = refused;
    const underWay = pending > 0 ? `, ${limitDollars(pending)} of it under way` : "";
    super(
      "cost_limit",
      `The next request was not sent: the ${limit} has cost ${limitDollars(spent)} of ${limitDollars(most)}${underWay}, and ${label} would cost ${limitDollars(next)}; ${REMEDIES[limit]}.`,
      { details: { limit, most, spent, next, model: ref } },
    );
    this.refused = refused;
    this.#name = name;
    this.#held = held;
  }

  /** Raises the limit by the dollars that `ask` resolves with; false where it resolves with none. Never rejects if `ask` does not. */
  raise(ask: () => Promise<number | undefined>): Promise<boolean> {
    return this.#held.asked(this.#name, async () => {
      const dollars = await ask();
      if (dollars !== undefined) this.#held.raise(this.#name, dollars);
      return dollars !== undefined;
    });
  }
}

interface Refused {
  limit: Limit;
  most: number;
  spent: number;
  /** Part of it that is reserved for requests in flight. */
  pending: number;
  next: number;
  /** The request in a sentence. */
  label: string;
  ref: string;
}

const REMEDIES: Record<Limit, string> = {
  turn: "raise --max-cost or agents.defaults.maxCost.turn, or make the context smaller with /compact",
  session: "raise agents.defaults.maxCost.session, or start a new session with /new",
  day: "raise agents.defaults.maxCost.day, or continue tomorrow",
};

/** Cents; below a dollar three significant digits. */
export function limitDollars(amount: number): string {
  if (amount >= 1) return `$${amount.toFixed(2)}`;
  return `$${amount.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}
