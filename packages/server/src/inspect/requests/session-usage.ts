/** What a session's model requests took, for a list of sessions: summed up from its receipts, and from there on at the next look. */
import type { SessionUsage } from "@pagurus/api/types";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { Pace } from "@pagurus/core/platform/pace";
import { receiptFile } from "@pagurus/host/stores/files/receipt-log";
import { receiptSteps, type ReceiptStep } from "@pagurus/host/stores/files/receipt-steps";
import { OneReading } from "../one-reading.ts";

type Usage = NonNullable<ReceiptStep["usage"]>["usage"];

/** Sessions of which the sums are kept. */
const MOST_SUMMED_SESSIONS = 512;

export class SessionUsages {
  readonly #sums = new Map<string, UsageSum>();

  /** Throws `store_read_failed`. */
  async of(record: SessionRecord): Promise<SessionUsage> {
    const file = receiptFile(record);
    const sum = this.#sums.get(file) ?? new UsageSum(file);
    this.#sums.delete(file);
    this.#sums.set(file, sum);
    for (const oldest of this.#sums.keys())
      if (this.#sums.size > MOST_SUMMED_SESSIONS) this.#sums.delete(oldest);
    return sum.fresh();
  }
}

class UsageSum {
  readonly #file: string;
  #end = 0;
  readonly #sum: SessionUsage = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
  readonly #reading = new OneReading(() => this.#read());
  /** The newest usage, which a later line of the same request replaces. */
  #last: { id: string; usage: Usage } | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  async fresh(): Promise<SessionUsage> {
    await this.#reading.fresh();
    return { ...this.#sum };
  }

  async #read(): Promise<void> {
    const pace = new Pace();
    for (const { end, receipt, usage } of receiptSteps(this.#file, this.#end)) {
      this.#end = end;
      if (receipt) this.#sum.requests += 1;
      if (receipt && receipt.purpose === undefined) {
        this.#sum.model = receipt.model;
        this.#sum.runtime = receipt.runtime;
      }
      if (usage) this.#take(usage);
      if (pace.due) await pace.rest();
    }
  }

  #take({ turnId, request, usage }: NonNullable<ReceiptStep["usage"]>): void {
    const id = `${turnId}.${request}`;
    if (this.#last?.id === id) this.#add(this.#last.usage, -1);
    this.#add(usage, 1);
    this.#last = { id, usage };
  }

  #add({ input, output, cacheRead = 0, cacheWrite = 0, cost }: Usage, sign: 1 | -1): void {
    const sum = this.#sum;
    sum.inputTokens += sign * (input + cacheRead + cacheWrite);
    sum.cachedTokens += sign * cacheRead;
    sum.outputTokens += sign * output;
    if (cost !== undefined) sum.cost = (sum.cost ?? 0) + sign * cost;
  }
}
