/** Receipts of a turn's requests, as they are sent and answered. */
import type { Usage } from "../contract/message.ts";
import type { Receipt, Seam } from "../contract/receipt.ts";
import { takesDeveloper } from "../model/developer-role.ts";
import { costOf } from "../model/usage.ts";
import type { Assembly } from "./assemble.ts";
import { measuredIn } from "./harness-own.ts";
import { receiptParts, sharedPrefix } from "./receipt-parts.ts";
import type { ReceiptSink } from "./receipt-sink.ts";
import { noteFixed, type Prepared } from "./prepare.ts";
import type { Recorder } from "./record.ts";
import type { Admission } from "./scope.ts";
import { isSilentCut, isTrusted, isWhole, type Counted } from "./silent-cut.ts";
import { inputTokens } from "./usage.ts";

interface ReceiptRun {
  admission: Admission;
  prepared: Prepared;
  recorder: Recorder;
  receipts: ReceiptSink;
  /** How contexts reach the model in this turn. */
  seam(): Seam;
}

/** Keeps the receipt of each request: its parts when it is sent, its usage when that is known. */
export class ReceiptBook {
  readonly #run: ReceiptRun;
  #assembly: Assembly | undefined;
  /** Messages of the turn that the assembly holds, and whether a receipt of it was made. */
  #recorded = 0;
  #told = false;
  #previous: Receipt | undefined;
  #sent: Receipt | undefined;
  /** Tokens of the request before, where they are known. */
  #counted: Counted | undefined;

  constructor(run: ReceiptRun) {
    this.#run = run;
    this.#previous = run.receipts.last();
    const { model, usage, tokens } = this.#previous ?? {};
    if (usage && tokens !== undefined && model === run.admission.model.ref) {
      this.#counted = { estimated: tokens, reported: inputTokens(usage) };
    }
  }

  /** Calibrated estimate of the whole request, tokens. */
  requestTokens({ parts }: Assembly): number {
    const { host, writer, model } = this.#run.admission;
    const plain = parts.reduce((sum, part) => sum + part.tokens, 0);
    return Math.ceil(host.calibration(writer.record.sessionId, model.ref).apply(plain));
  }

  assembled(assembly: Assembly): void {
    this.#assembly = assembly;
    this.#recorded = this.#run.recorder.messages.length;
    this.#told = false;
  }

  /** A request goes out: the first since the assembly is the assembly, a later one has what was said since behind it. */
  sent(): void {
    const last = this.#assembly;
    if (!last) return;
    const assembly = this.#told ? this.#continued(last) : last;
    this.#told = true;
    const receipt = makeReceipt(
      this.#run.admission,
      this.#run.prepared.tokenBudget,
      assembly,
      this.#run.receipts.next(this.#run.admission.turnId),
      this.#previous,
    );
    receipt.seam = this.#run.seam();
    const { isMeasured, fixedTokens } = this.#run.prepared;
    if (isMeasured) receipt.fixedTokens = fixedTokens;
    this.#previous = receipt;
    this.#sent = receipt;
    this.#run.receipts.append(receipt);
    const { request, tokens, sharedTokens } = receipt;
    this.#run.admission.emit({ type: "model.request", request, tokens, sharedTokens });
  }

  /** As a runtime's thread goes on by itself. */
  #continued(last: Assembly): Assembly {
    const { model } = this.#run.admission;
    const { parts } = receiptParts({
      system: [],
      tools: [],
      messages: this.#run.recorder.messages.slice(this.#recorded),
      historyCount: 0,
      trims: new Map(),
      developerRole: takesDeveloper(model),
    });
    return { ...last, parts: [...last.parts, ...parts] };
  }

  usage(usage: Usage): void {
    const receipt = this.#sent;
    if (!receipt) return;
    const { host, writer, model, harness } = this.#run.admission;
    const reported = inputTokens(usage);
    const now: Counted = { estimated: receipt.tokens, reported };
    const cut = isSilentCut(model, now, this.#counted);
    this.#counted = now;
    if (cut) {
      const reason = `${model.ref} reported ${reported} input tokens of about ${receipt.tokens} that were sent: its server cuts what exceeds its window; set the contextWindow of the model to the window that is served`;
      this.#run.admission.guard.degrade("trim", reason);
    } else if (isWhole(receipt) && isTrusted(model, now)) {
      host.calibration(writer.record.sessionId, model.ref).observe(receipt.tokens, reported);
    }
    // What a runtime reports has counts, and prices are the host's.
    const { cost = model.cost && costOf(usage, model.cost) } = usage;
    const priced = cost === undefined ? usage : { ...usage, cost };
    this.#run.receipts.setUsage(receipt.turnId, receipt.request, priced);
    const counted = measuredIn({ ...receipt, usage }, harness, model.contextWindow);
    if (counted !== undefined && !this.#run.prepared.isMeasured)
      noteFixed(this.#run.prepared, this.#run.admission, counted);
  }
}

export function makeReceipt(
  admission: Pick<Admission, "turnId" | "harness" | "engine" | "model">,
  tokenBudget: number,
  assembly: Assembly,
  request: number,
  previous: Receipt | undefined,
): Receipt {
  const { parts, liveFrom, degraded, projection } = assembly;
  return {
    turnId: admission.turnId,
    request,
    timestamp: new Date().toISOString(),
    seam: admission.harness.seam,
    runtime: admission.harness.id,
    engine: admission.engine.info.id,
    model: admission.model.ref,
    ...(projection?.epoch === undefined ? {} : { epoch: projection.epoch }),
    ...(projection?.fingerprint === undefined ? {} : { fingerprint: projection.fingerprint }),
    parts,
    liveFrom,
    ...sharedPrefix(parts, previous?.parts),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
    tokenBudget,
    ...(degraded === undefined ? {} : { degraded }),
  };
}
