/** Fourth room: the harness runs the turn; what it needs of the host reaches it through the `HarnessTurn` made here. */
import type { TurnEvent } from "../contract/events.ts";
import type { HarnessTurn, HarnessTurnResult } from "../contract/harness.ts";
import type { Usage, UserMessage } from "../contract/message.ts";
import type { Receipt } from "../contract/receipt.ts";
import type { Assembler, Assembly } from "./assemble.ts";
import { sharedPrefix } from "./receipt-parts.ts";
import type { Prepared } from "./prepare.ts";
import type { Recorder } from "./record.ts";
import type { Admission } from "./scope.ts";

/** Where receipts go; the session room's log, or nowhere for a preview. */
export interface ReceiptSink {
  append(receipt: Receipt): void;
  setUsage(turnId: string, request: number, usage: Usage): void;
  last(): Receipt | undefined;
}

export interface RunInput {
  admission: Admission;
  prepared: Prepared;
  assembler: Assembler;
  recorder: Recorder;
  receipts: ReceiptSink;
  /** Input as recorded, with its entry id. */
  input: HarnessTurn["input"];
  takeSteering(): string[];
  closeInputs(): boolean;
  onUsage(usage: Usage): void;
}

export async function runHarness(run: RunInput): Promise<HarnessTurnResult> {
  const { admission } = run;
  const turn = harnessTurn(run);
  let result = await admission.harness.runTurn(turn);
  // Input that arrived while the harness was finishing still belongs to this turn.
  while (!run.closeInputs() && result.stopReason === "stop" && !admission.signal.aborted) {
    result = await admission.harness.runTurn(turn);
  }
  return result;
}

function harnessTurn(run: RunInput): HarnessTurn {
  const { admission, prepared, assembler } = run;
  const { host, sessionKey, turnId, cwd, model, writer, signal } = admission;
  const book = new ReceiptBook(run);
  const thinking = host.settings.models[model.ref]?.thinking ?? host.settings.thinking;
  return {
    sessionKey,
    sessionId: writer.record.sessionId,
    turnId,
    cwd,
    model,
    input: run.input,
    instructions: prepared.system.map((piece) => piece.text).join("\n\n"),
    tokenBudget: prepared.tokenBudget,
    maxSteps: host.settings.maxSteps,
    ...(thinking === undefined ? {} : { thinking }),
    tools: prepared.tools,
    fragments: [],
    assemble: async (request) => {
      const assembly = await assembler.assemble(request);
      book.assembled(assembly);
      return assembly;
    },
    takeInputs: () => Promise.resolve(takeInputs(run)),
    emit: (event) => Promise.resolve(forward(run, event)),
    receipt: (request) => {
      if (request.usage) book.usage(request.usage);
      else book.sent();
    },
    signal,
  };
}

function takeInputs(run: RunInput): UserMessage[] {
  return run.takeSteering().map((text) => {
    const message: UserMessage = { role: "user", content: [{ type: "text", text }], timestamp: Date.now() };
    const recorded = run.recorder.message(message);
    if (recorded.entryId !== undefined) run.admission.emit({ type: "steered", entryId: recorded.entryId });
    return message;
  });
}

function forward(run: RunInput, event: TurnEvent): void {
  if (event.type === "message") {
    run.admission.emit({ type: "message", message: run.recorder.message(event.message) });
    return;
  }
  if (event.type === "usage") run.onUsage(event.usage);
  run.admission.emit(event);
}

/** A server that truncates silently is caught by its own count: less than this share of the estimate was read. */
const CUT_SHARE = 0.6;
/** Requests smaller than this say nothing about a cut, tokens. */
const SMALLEST_CUT = 2_000;

/** Keeps the receipt of each request: its parts when it is sent, its usage when that is known. */
class ReceiptBook {
  readonly #run: RunInput;
  #assembly: Assembly | undefined;
  #previous: Receipt | undefined;
  #request = 0;
  #sent: Receipt | undefined;

  constructor(run: RunInput) {
    this.#run = run;
    this.#previous = run.receipts.last();
  }

  assembled(assembly: Assembly): void {
    this.#assembly = assembly;
  }

  sent(): void {
    const assembly = this.#assembly;
    if (!assembly) return;
    const receipt = makeReceipt(
      this.#run.admission,
      this.#run.prepared.tokenBudget,
      assembly,
      this.#request++,
      this.#previous,
    );
    this.#previous = receipt;
    this.#sent = receipt;
    this.#write(() => this.#run.receipts.append(receipt));
    const { request, tokens, sharedTokens } = receipt;
    this.#run.admission.emit({ type: "model.request", request, tokens, sharedTokens });
  }

  usage(usage: Usage): void {
    const receipt = this.#sent;
    if (!receipt) return;
    const { host, writer, model } = this.#run.admission;
    const reported = usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
    if (model.truncatesSilently && receipt.tokens > SMALLEST_CUT && reported < receipt.tokens * CUT_SHARE) {
      const reason = `${model.ref} reported ${reported} input tokens of about ${receipt.tokens} that were sent: its server cuts what exceeds its window; set the contextWindow of the model to the window that is served`;
      this.#run.admission.guard.degrade("trim", reason);
    } else {
      host.calibration(writer.record.sessionId, model.ref).observe(receipt.tokens, reported);
    }
    this.#write(() => this.#run.receipts.setUsage(receipt.turnId, receipt.request, usage));
  }

  /** A receipt that cannot be written costs the receipt, not the turn. */
  #write(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#run.admission.host.logger.warn("receipt not written", { turnId: this.#run.admission.turnId });
      this.#run.admission.guard.degrade(
        "transcript",
        `a receipt could not be written: ${error instanceof Error ? error.message : "unknown"}`,
      );
    }
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
    parts,
    liveFrom,
    ...sharedPrefix(parts, previous?.parts),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
    tokenBudget,
    ...(degraded === undefined ? {} : { degraded }),
  };
}
