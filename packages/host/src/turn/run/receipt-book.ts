/** Receipts of a turn's requests, as they are sent and answered. */
import type { ModelFallback } from "@pagurus/contract/fallback";
import type { Usage } from "@pagurus/contract/message";
import type { CacheReport, OwnParts, Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";
import { quirksOf } from "@pagurus/core/model/quirks/quirk-table";
import { costOf } from "@pagurus/core/model/model-usage";
import type { Assembly } from "../context/assemble-context.ts";
import { measuredIn, reportedContext } from "../context/own-parts.ts";
import { changeSince, missReported, pricedMiss } from "../receipts/cache-miss.ts";
import { receiptParts, sharedPrefix } from "../receipts/receipt-parts.ts";
import type { ContextScope } from "../context/context-scope.ts";
import type { TurnState } from "../state/turn-state.ts";
import type { CostRequest } from "../cost/cost-limits.ts";
import { isSilentCut, isTrusted, isWhole, type Counted } from "../receipts/silent-cut.ts";
import { inputTokens } from "@pagurus/core/tokens/add-usage";
import { defined } from "@pagurus/core/data/defined";

/** With a cost limit: output tokens below which a request is not worth its input. */
const SMALLEST_ANSWER_TOKENS = 256;

/** Records the receipt of each request: its parts when it is sent, its usage when that is known. */
export class ReceiptBook {
  readonly #turn: TurnState;
  #assembly: Assembly | undefined;
  /** Messages of the turn in the assembly, and whether a receipt of it was made. */
  #recorded = 0;
  #isRecorded = false;
  /** Parts that a thread shows beside the assembly. */
  #beside: readonly ReceiptPart[] = [];
  /** The session's newest request of a turn, and the one before it. */
  #previous: Receipt | undefined;
  #before: Receipt | undefined;
  #sent: Receipt | undefined;
  #recordedAtSent = 0;
  /** Tokens of the previous request, when known. */
  #counted: Counted | undefined;

  constructor(turn: TurnState) {
    this.#turn = turn;
    this.#previous = turn.admitted.receipts.lastOwn();
    const { model, usage, tokens } = this.#previous ?? {};
    if (usage && tokens !== undefined && model === turn.model.ref) {
      this.#counted = { estimated: tokens, reported: inputTokens(usage) };
    }
  }

  /** What a request may cost, by the calibrated estimate of all of it. */
  costOf({ parts }: Assembly): CostRequest {
    const plain = parts.reduce((sum, part) => sum + part.tokens, 0);
    return {
      inputTokens: Math.ceil(this.#turn.calibration().apply(plain)),
      minOutputTokens: SMALLEST_ANSWER_TOKENS,
      wantedOutputTokens: this.#turn.model.maxTokens,
    };
  }

  /** Id of the provider's answer to the session's previous request; undefined for another provider's. */
  get previousResponseId(): string | undefined {
    const { model = "", cache } = this.#previous ?? {};
    return model.startsWith(`${this.#turn.model.provider}/`) ? cache?.responseId : undefined;
  }

  assembled(assembly: Assembly): void {
    this.#assembly = assembly;
    this.#recorded = this.#turn.recorder.messages.length;
    this.#isRecorded = false;
    this.#beside = [];
  }

  /** Sets what a thread shows beside the assembly, in every request until the next one; returns its tokens. */
  beside(parts: readonly ReceiptPart[]): number {
    this.#beside = parts;
    return parts.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** The assembly with these parts before the live turn. */
  #withBeside(assembly: Assembly): Assembly {
    const extra = this.#beside;
    if (extra.length === 0) return assembly;
    const { parts, liveFrom, contextTokens } = assembly;
    return {
      ...assembly,
      parts: [...parts.slice(0, liveFrom), ...extra, ...parts.slice(liveFrom)],
      liveFrom: liveFrom + extra.length,
      contextTokens: contextTokens + extra.reduce((sum, { tokens }) => sum + tokens, 0),
    };
  }

  /** Records a request: the first after an assembly has the assembly's parts, a later one also the messages added since. */
  sent({ own, fallback }: { own?: OwnParts | undefined; fallback?: ModelFallback | undefined } = {}): void {
    const last = this.#assembly;
    if (!last) return;
    const assembly = this.#withBeside(this.#isRecorded ? this.#continued(last) : last);
    this.#isRecorded = true;
    const { turnId, seam, isMeasured, fixedTokens } = this.#turn;
    const { receipts } = this.#turn.admitted;
    const receipt = makeReceipt(this.#turn, assembly, {
      request: receipts.next(turnId),
      previous: this.#previous,
    });
    receipt.seam = seam;
    if (isMeasured) receipt.fixedTokens = fixedTokens;
    if (own) receipt.own = own;
    if (fallback) receipt.fallback = { from: fallback.from, reason: fallback.reason };
    const miss = this.#previous && changeSince(this.#previous, receipt);
    if (miss) receipt.cache = { miss };
    this.#before = this.#previous;
    this.#previous = receipt;
    this.#sent = receipt;
    this.#recordedAtSent = this.#turn.recorder.messages.length;
    receipts.append(receipt);
    const { request, tokens, sharedTokens } = receipt;
    this.#turn.emit({ type: "model.request", request, tokens, sharedTokens });
  }

  /** The last assembly plus the messages that a runtime's thread has added itself. */
  #continued(last: Assembly): Assembly {
    const { parts } = receiptParts({
      system: [],
      tools: [],
      messages: this.#turn.recorder.messages.slice(this.#recorded),
      historyCount: 0,
      trims: new Map(),
      developerRole: quirksOf(this.#turn.model).developerMessages,
    });
    return { ...last, parts: [...last.parts, ...parts] };
  }

  usage(usage: Usage, report: CacheReport = {}): void {
    const receipt = this.#sent;
    if (!receipt) return;
    const { model, harness } = this.#turn;
    const reported = inputTokens(usage);
    const now: Counted = { estimated: receipt.tokens, reported };
    // Another model counts otherwise.
    const before = this.#before?.model === receipt.model ? this.#counted : undefined;
    const cut = isSilentCut(model, now, before);
    this.#counted = now;
    if (cut) {
      const reason = `${model.ref} reported ${reported} input tokens of about ${receipt.tokens} that were sent: its server cuts what exceeds its window; set the contextWindow of the model to the window that is served`;
      this.#turn.guard.degrade("trim", reason);
    } else if (isWhole(receipt) && isTrusted(model, now)) {
      this.#turn.calibration().observe(receipt.tokens, reported);
    }
    // A runtime's report has counts; prices are the host's.
    const { cost = model.cost && costOf(usage, model.cost) } = usage;
    const priced = cost === undefined ? usage : { ...usage, cost };
    const cache = this.#cacheOf(receipt, usage, report);
    this.#turn.admitted.receipts.setUsage(receipt.turnId, receipt.request, priced, cache);
    if (cache && this.#previous === receipt) this.#previous = { ...receipt, cache };
    const counted = measuredIn({ ...receipt, usage }, harness, model.contextWindow);
    if (counted !== undefined && !this.#turn.isMeasured) this.#turn.noteFixed(counted);
    const context = reportedContext({ ...receipt, usage }, harness, model.contextWindow);
    if (context !== undefined) this.#turn.noteSent(context, this.#recordedAtSent);
  }

  #cacheOf(receipt: Receipt, usage: Usage, report: CacheReport): Receipt["cache"] {
    const before = this.#before;
    const miss = receipt.cache?.miss ?? (before && missReported(before, receipt, usage));
    const cache = { ...report, ...(miss ? { miss: pricedMiss(miss, this.#turn.model.cost) } : {}) };
    return Object.keys(cache).length > 0 ? cache : undefined;
  }
}

export function makeReceipt(
  turn: Pick<ContextScope, "turnId" | "harness" | "engine" | "model" | "tokenBudget">,
  assembly: Assembly,
  { request, previous }: { request: number; previous: Receipt | undefined },
): Receipt {
  const { parts, liveFrom, degraded, projection } = assembly;
  return {
    turnId: turn.turnId,
    request,
    timestamp: new Date().toISOString(),
    seam: turn.harness.seam,
    runtime: turn.harness.id,
    engine: turn.engine.info.id,
    model: turn.model.ref,
    ...defined({ epoch: projection?.epoch, fingerprint: projection?.fingerprint }),
    parts,
    liveFrom,
    ...sharedPrefix(parts, previous?.parts),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
    tokenBudget: turn.tokenBudget,
    contextTokens: assembly.contextTokens,
    ...defined({ degraded }),
  };
}
