/** Fourth room: the harness runs the turn; what it needs of the host reaches it through the `HarnessTurn` made here. */
import type { TurnEvent } from "../contract/events.ts";
import { DEFAULT_CONTEXT_ENGINE } from "../config/defaults.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import { orAborted } from "../platform/deadline.ts";
import type { HarnessTurn, HarnessTurnResult, SteeringMessage } from "../contract/harness.ts";
import type { Usage, UserMessage } from "../contract/message.ts";
import type { Receipt } from "../contract/receipt.ts";
import { readBinding, writeBinding } from "../session/bindings.ts";
import type { Assembler, Assembly } from "./assemble.ts";
import type { Steering } from "./channel.ts";
import type { TurnFragments } from "./fragments/turn-fragments.ts";
import { sharedPrefix } from "./receipt-parts.ts";
import { nextRequest, type ReceiptSink } from "./receipt-sink.ts";
import type { Allowance } from "./cost.ts";
import { inputBlocked } from "./gate.ts";
import type { Prepared } from "./prepare.ts";
import type { Recorder } from "./record.ts";
import type { Admission } from "./scope.ts";
import type { SubagentResults } from "./volatile.ts";
import { inputTokens } from "./usage.ts";
import { isSilentCut, isTrusted, type Counted } from "./silent-cut.ts";

export interface RunInput {
  admission: Admission;
  prepared: Prepared;
  assembler: Assembler;
  recorder: Recorder;
  receipts: ReceiptSink;
  /** Input as recorded, with its entry id. */
  input: HarnessTurn["input"];
  fragments: TurnFragments;
  takeSteering(): Steering[];
  closeInputs(): boolean;
  hasSteering(): boolean;
  /** Resolves when steering has arrived, or the turn's inputs are closed. */
  steeringArrives(): Promise<void>;
  onUsage(usage: Usage): void;
  /** Told of each context that is about to be sent, in tokens. */
  onAssembled(tokens: number): void;
  /** Results of subagents, which join the live turn. */
  results: SubagentResults;
}

/** Output tokens below which a request is not worth its input, where costs are limited. */
const SMALLEST_ANSWER_TOKENS = 256;
/** How long a runtime may take to end its turn after an abort, ms. */
const ABANDON_AFTER_MS = 10_000;

/** Throws what the runtime throws; `runtime_failed` when it does not end after an abort. */
export async function runHarness(run: RunInput): Promise<HarnessTurnResult> {
  const { harness, signal } = run.admission;
  const end = { reached: false };
  const turn = harnessTurn(run, end);
  try {
    for (;;) {
      const result = await orAbandoned(harness.runTurn(turn), signal, harness.id);
      const goesOn = result.stopReason === "stop" || result.stopReason === "length";
      if (signal.aborted || !goesOn) return result;
      if (!(await moreInput(run, signal)))
        return signal.aborted ? { ...result, stopReason: "aborted" } : result;
    }
  } finally {
    end.reached = true;
    // What was accepted is written down, also when nothing answers it any more.
    for (const steering of run.takeSteering()) {
      takeContext(run, steering);
      recordSteering(run, steering.text);
    }
    run.closeInputs();
  }
}

/** Input that arrived while the harness was finishing still belongs to this turn, and so do its children's results. */
async function moreInput(run: RunInput, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    if (await run.results.waiting()) return true;
    const child = run.results.nextEnd();
    if (!child) return !run.closeInputs();
    if (run.hasSteering()) return true;
    await Promise.race([orAborted(child, signal), run.steeringArrives()]).catch(() => undefined);
    if (signal.aborted) return false;
  }
}

function orAbandoned<T>(work: Promise<T>, signal: AbortSignal, runtime: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      const message = `The runtime ${runtime} did not end its turn within ${ABANDON_AFTER_MS} ms of an abort.`;
      timer = setTimeout(() => reject(new PagurusError("runtime_failed", message)), ABANDON_AFTER_MS);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    work.then(
      (value) => {
        done();
        resolve(value);
      },
      (error: unknown) => {
        done();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

/** `end.reached`: the turn is over, and what the harness still says is not part of it. */
function harnessTurn(run: RunInput, end: { reached: boolean }): HarnessTurn {
  const { admission, prepared, assembler } = run;
  const { host, sessionKey, turnId, cwd, model, signal } = admission;
  const book = new ReceiptBook(run);
  let allowance: Allowance = { done: () => undefined };
  const thinking = host.settings.models[model.ref]?.thinking ?? host.settings.thinking;
  return {
    sessionKey,
    get sessionId() {
      return admission.writer.record.sessionId;
    },
    turnId,
    cwd,
    model,
    input: run.input,
    instructions: prepared.system.map((piece) => piece.text).join("\n\n"),
    tokenBudget: prepared.tokenBudget,
    maxSteps: host.settings.maxSteps,
    ...(thinking === undefined ? {} : { thinking }),
    tools: prepared.tools,
    get fragments() {
      return run.fragments.injected;
    },
    additionalContext: admission.request.additionalContext ?? null,
    assemble: async (request) => {
      const assembly = await assembler.assemble(request);
      allowance.done();
      allowance = admission.cost.before({
        inputTokens: book.requestTokens(assembly),
        minOutputTokens: SMALLEST_ANSWER_TOKENS,
        wantedOutputTokens: model.maxTokens,
      });
      const { maxOutputTokens } = allowance;
      book.assembled(assembly);
      run.onAssembled(assembly.estimatedTokens);
      return { ...assembly, ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }) };
    },
    permissionMode: admission.request.permission ?? host.settings.permission.mode ?? "ask",
    engine: engineFacts(admission),
    takeInputs: () => takeInputs(run),
    inputArrives: () => run.steeringArrives(),
    ...bindingAccess(admission),
    degrade: (stage, reason) => admission.guard.degrade(stage, reason),
    emit: (event) => {
      if (!end.reached) forward(run, event);
      return Promise.resolve();
    },
    receipt: (request) => {
      if (request.usage) book.usage(request.usage);
      else book.sent();
    },
    signal,
  };
}

function engineFacts({ engine }: Admission): HarnessTurn["engine"] {
  const { id, ownsCompaction = false } = engine.info;
  return { id, governs: id !== DEFAULT_CONTEXT_ENGINE, ownsCompaction };
}

function bindingAccess(admission: Admission): Pick<HarnessTurn, "binding" | "bind"> {
  const { harness, guard } = admission;
  return {
    binding: () => {
      try {
        return readBinding(admission.writer.record, harness.id);
      } catch (error) {
        guard.degrade("transcript", toPagurusError(error).message);
        return undefined;
      }
    },
    bind: (binding) => {
      try {
        writeBinding(admission.writer.record, harness.id, binding);
      } catch (error) {
        guard.degrade("transcript", toPagurusError(error).message);
      }
    },
  };
}

/** Steering goes through the same gate as a prompt. */
async function takeInputs(run: RunInput): Promise<SteeringMessage[]> {
  const { host, sessionKey, turnId, writer, guard, signal, emit } = run.admission;
  const taken: SteeringMessage[] = await run.results.take(writer.leafId ?? undefined);
  for (const steering of run.takeSteering()) {
    const { text, additionalContext } = steering;
    takeContext(run, steering);
    const ids = { sessionKey, sessionId: writer.record.sessionId, turnId };
    const onFailure = (reason: string): void => guard.degrade("hook", reason);
    const blocked = await inputBlocked(host, text, ids, { signal, logger: host.logger, onFailure });
    if (blocked === undefined) taken.push({ ...recordSteering(run, text), additionalContext });
    else
      emit({
        type: "notice",
        kind: "input_blocked",
        detail: `Input to the running turn was blocked: ${blocked}`,
      });
  }
  return taken;
}

/** No hook is asked about it, and a hook that blocks the text leaves it: as Codex does. */
function takeContext({ fragments, recorder, admission }: RunInput, { additionalContext }: Steering): void {
  if (recorder.failure) return;
  try {
    fragments.merge(additionalContext, "steering");
  } catch (error) {
    admission.guard.degrade("transcript", toPagurusError(error).message);
  }
}

function recordSteering(run: RunInput, text: string): UserMessage {
  const message: UserMessage = { role: "user", content: [{ type: "text", text }], timestamp: Date.now() };
  const recorded = run.recorder.message(message);
  if (recorded.entryId !== undefined) run.admission.emit({ type: "steered", entryId: recorded.entryId });
  return message;
}

function forward(run: RunInput, event: TurnEvent): void {
  if (event.type === "message") {
    if (event.message.role === "assistant") run.results.answered();
    run.admission.emit({ type: "message", message: run.recorder.message(event.message) });
    return;
  }
  if (event.type === "usage") run.onUsage(event.usage);
  run.admission.emit(event);
}

/** Keeps the receipt of each request: its parts when it is sent, its usage when that is known. */
class ReceiptBook {
  readonly #run: RunInput;
  #assembly: Assembly | undefined;
  #previous: Receipt | undefined;
  #sent: Receipt | undefined;
  /** Tokens of the request before, where they are known. */
  #counted: Counted | undefined;

  constructor(run: RunInput) {
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
  }

  sent(): void {
    const assembly = this.#assembly;
    if (!assembly) return;
    const receipt = makeReceipt(
      this.#run.admission,
      this.#run.prepared.tokenBudget,
      assembly,
      nextRequest(this.#run.receipts, this.#run.admission.turnId),
      this.#previous,
    );
    this.#previous = receipt;
    this.#sent = receipt;
    this.#run.receipts.append(receipt);
    const { request, tokens, sharedTokens } = receipt;
    this.#run.admission.emit({ type: "model.request", request, tokens, sharedTokens });
  }

  usage(usage: Usage): void {
    const receipt = this.#sent;
    if (!receipt) return;
    const { host, writer, model } = this.#run.admission;
    const reported = inputTokens(usage);
    const now: Counted = { estimated: receipt.tokens, reported };
    const cut = isSilentCut(model, now, this.#counted);
    this.#counted = now;
    if (cut) {
      const reason = `${model.ref} reported ${reported} input tokens of about ${receipt.tokens} that were sent: its server cuts what exceeds its window; set the contextWindow of the model to the window that is served`;
      this.#run.admission.guard.degrade("trim", reason);
    } else if (isTrusted(model, now)) {
      host.calibration(writer.record.sessionId, model.ref).observe(receipt.tokens, reported);
    }
    this.#run.receipts.setUsage(receipt.turnId, receipt.request, usage);
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
