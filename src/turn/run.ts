/** Fourth room: the harness runs the turn; what it needs of the host reaches it through the `HarnessTurn` made here. */
import type { TurnEvent } from "../contract/events.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import { orAborted } from "../platform/deadline.ts";
import type {
  CompactionQuestion,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "../contract/harness.ts";
import type { Usage, UserMessage } from "../contract/message.ts";
import type { Fragment } from "../contract/fragment.ts";
import type { Seam } from "../contract/receipt.ts";
import { readBinding, writeBinding } from "../session/bindings.ts";
import type { Assembler } from "./assemble.ts";
import type { Steering } from "./channel.ts";
import type { TurnFragments } from "./fragments/turn-fragments.ts";
import type { ReceiptSink } from "./receipt-sink.ts";
import type { Allowance } from "./cost.ts";
import { inputBlocked } from "./gate.ts";
import { noteFixed, type Prepared } from "./prepare.ts";
import type { Recorder } from "./record.ts";
import type { Admission } from "./scope.ts";
import type { SubagentResults } from "./volatile.ts";
import { NATIVE_COMPACTION_ENTRY, nativeCompactionData } from "./native-compactions.ts";
import { governs } from "./native-context.ts";
import { ReceiptBook } from "./receipt-book.ts";

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
  /** How contexts reach the model in this turn. */
  seam(): Seam;
  onSeam(seam: Seam): void;
  /** Told of each context that is about to be sent, in tokens. */
  onAssembled(tokens: number): void;
  /** Offers a compaction of the harness to the engine. Never throws. */
  answerCompaction(question: CompactionQuestion): ReturnType<HarnessTurn["answerCompaction"]>;
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
  const end: TurnEnd = { reached: false, takes: 0 };
  const turn = harnessTurn(run, end);
  try {
    for (let again = false; ; again = true) {
      const { takes } = end;
      const result = await orAbandoned(harness.runTurn(turn), signal, harness.id);
      const goesOn = result.stopReason === "stop" || result.stopReason === "length";
      if (signal.aborted || !goesOn) return result;
      if (!(await moreInput(run, signal)))
        return signal.aborted ? { ...result, stopReason: "aborted" } : result;
      // It was run for the input alone, and would be for ever.
      if (again && end.takes === takes) {
        run.admission.guard.degrade(
          "settle",
          `the runtime ${harness.id} does not take input that joins a turn`,
        );
        return result;
      }
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

interface TurnEnd {
  /** The turn is over, and what the harness still says is not part of it. */
  reached: boolean;
  /** How often the harness has asked for input. */
  takes: number;
}

function harnessTurn(run: RunInput, end: TurnEnd): HarnessTurn {
  const { admission, prepared, assembler } = run;
  const { host, sessionKey, turnId, cwd, model, signal } = admission;
  const book = new ReceiptBook(run);
  let allowance: Allowance = { done: () => undefined };
  const thinking =
    admission.request.thinking ?? host.settings.models[model.ref]?.thinking ?? host.settings.thinking;
  return {
    sessionKey,
    get sessionId() {
      return admission.writer.record.sessionId;
    },
    turnId,
    cwd,
    model,
    hostAgentId: host.agentId,
    ...(admission.runtimeReason.agentId === undefined ? {} : { agentId: admission.runtimeReason.agentId }),
    input: run.input,
    instructions: prepared.system.map((piece) => piece.text).join("\n\n"),
    get tokenBudget() {
      return prepared.tokenBudget;
    },
    maxSteps: host.settings.maxSteps,
    ...(thinking === undefined ? {} : { thinking }),
    tools: prepared.tools,
    get fragments() {
      return run.fragments.injected;
    },
    additionalContext: admission.request.additionalContext ?? null,
    fragmentsLost: () => lostFragments(run),
    said: () => run.recorder.messages,
    newestEntryId: () => run.recorder.messages.at(-1)?.entryId,
    assemble: async (request) => {
      if (request?.fixedTokens !== undefined) noteFixed(prepared, admission, request.fixedTokens);
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
    answerCompaction: (question) =>
      end.reached ? Promise.resolve(undefined) : run.answerCompaction(question),
    permissionMode: admission.request.permission ?? host.settings.permission.mode ?? "ask",
    engine: engineFacts(admission),
    takeInputs: () => {
      end.takes += 1;
      return takeInputs(run);
    },
    inputArrives: () => run.steeringArrives(),
    ...bindingAccess(admission, end),
    degrade: (stage, reason) => admission.guard.degrade(stage, reason),
    emit: (event) => {
      if (!end.reached) forward(run, event);
      return Promise.resolve();
    },
    receipt: (request) => {
      if (request.seam) run.onSeam(request.seam);
      if (request.usage) book.usage(request.usage);
      else book.sent();
    },
    signal,
  };
}

function engineFacts({ engine }: Admission): HarnessTurn["engine"] {
  const { id, ownsCompaction = false } = engine.info;
  return { id, governs: governs(engine), ownsCompaction };
}

/** Failures of the transcript stop the turn by themselves. */
function lostFragments({ fragments, recorder, admission }: RunInput): Fragment[] {
  const before = fragments.injected.length;
  try {
    if (!recorder.failure) fragments.settle([]);
  } catch (error) {
    admission.guard.degrade("transcript", toPagurusError(error).message);
  }
  return fragments.injected.slice(before);
}

/** A turn that has ended has no say in what the next one goes on with. */
function bindingAccess(
  admission: Admission,
  end: { reached: boolean },
): Pick<HarnessTurn, "binding" | "bind"> {
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
      if (end.reached) return;
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
  if (event.type === "plan.updated") {
    run.prepared.plan.show(event);
    return;
  }
  const compacted = nativeCompactionData(event);
  if (compacted) run.recorder.note(NATIVE_COMPACTION_ENTRY, compacted);
  if (event.type === "usage") run.onUsage(event.usage);
  run.admission.emit(event);
}
