/** Run stage: the harness runs the turn through the `HarnessTurn` that is built here. */
import type { TurnEvent } from "@pagurus/contract/host/events";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { boundedArguments } from "@pagurus/core/platform/call-arguments";
import { orAborted } from "@pagurus/core/platform/deadline";
import type {
  HarnessRun,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
  TurnThread,
} from "@pagurus/contract/harness/harness";
import type { UserMessage } from "@pagurus/contract/message";
import { readBinding, threadElsewhere, writeBinding } from "../../stores/files/bindings.ts";
import type { Steering } from "../state/steering-channel.ts";
import { inputBlocked } from "../agent/input-gate.ts";
import { AnswerRevisions } from "./answer-revision.ts";
import { retryOptions } from "@pagurus/core/config/defaults";
import type { TurnState } from "../state/turn-state.ts";
import { RunContext } from "./run-context.ts";
import { showPlan } from "../state/turn-plan.ts";
import { NATIVE_COMPACTION_ENTRY, nativeCompactionData } from "../record/native-compactions.ts";
import { governs } from "../context/native-context.ts";
import { resultsFolder, withBoundedResults } from "../record/large-results.ts";
import { withRepeatLimit } from "./repeated-calls.ts";
import { durationText } from "@pagurus/core/platform/duration";
import { defined } from "@pagurus/core/data/defined";

/** Time limit for the retries of a model while a fallback is left, ms. */
const RETRY_BEFORE_FALLBACK_MS = 10_000;
/** Longest wait for a runtime to end its turn after an abort, ms. */
const ABANDON_AFTER_MS = 10_000;

/** Throws what the runtime throws; `runtime_failed` when it does not end after an abort. */
export async function runHarness(run: TurnState): Promise<HarnessTurnResult> {
  const { harness, signal, guard } = run;
  const end = { reached: false };
  let started: HarnessRun | undefined;
  try {
    started = harness.start(harnessTurn(run, end));
    const revisions = new AnswerRevisions(run);
    let result = await orAbandoned(started.run(), signal, harness.id);
    for (;;) {
      const continues = result.stopReason === "stop" || result.stopReason === "length";
      if (!continues) return result;
      const ended = result;
      const inputs = signal.aborted ? undefined : await moreInput(run, signal, () => revisions.next(ended));
      // Also an abort that comes between an answer and the wait for what belongs to the turn.
      if (!inputs) return signal.aborted ? { ...result, stopReason: "aborted" } : result;
      result = await orAbandoned(started.continueWith(inputs), signal, harness.id);
    }
  } finally {
    try {
      started?.end?.();
    } catch (error) {
      guard.degrade("settle", toPagurusError(error).message);
    }
    end.reached = true;
    run.admitted.cost.release();
    // Accepted input is recorded, also when no answer follows.
    for (const steering of run.admitted.channel.takeSteering()) {
      takeContext(run, steering);
      recordSteering(run, steering.text);
    }
    run.admitted.channel.closeInputs();
  }
}

/**
 * Input that arrived while the harness was finishing still belongs to this turn, and so do its subagents' results and the revisions
 * that plugins ask for. Undefined when there is none and no more can join.
 */
async function moreInput(
  run: TurnState,
  signal: AbortSignal,
  revision: () => Promise<UserMessage | undefined>,
): Promise<SteeringMessage[] | undefined> {
  for (;;) {
    if (run.admitted.channel.hasSteering() || (await run.results.waiting())) {
      const inputs = await takeInputs(run);
      if (inputs.length > 0) return inputs;
    }
    const child = run.results.nextEnd();
    if (!child) {
      const message = await revision();
      if (message) return [message];
      if (run.admitted.channel.closeInputs()) return undefined;
    }
    if (!child || run.admitted.channel.hasSteering()) continue;
    await Promise.race([orAborted(child, signal), run.admitted.channel.steeringArrives()]).catch(
      () => undefined,
    );
    if (signal.aborted) return undefined;
  }
}

function orAbandoned<T>(work: Promise<T>, signal: AbortSignal, runtime: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      const message = `The runtime ${runtime} did not end its turn within ${durationText(ABANDON_AFTER_MS)} of an abort.`;
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

/** `end.reached`: the turn is over; later events of the harness are dropped. */
function harnessTurn(run: TurnState, end: { readonly reached: boolean }): HarnessTurn {
  const { host, sessionKey, turnId, cwd, signal } = run;
  const { request, runtimeReason, deadline } = run.admitted;
  const context = new RunContext(run, end);
  const retry = retryOptions(host.config.agents?.defaults?.retry, request.oneShot === true);
  const turn: HarnessTurn = {
    sessionKey,
    get sessionId() {
      return run.sessionId;
    },
    turnId,
    cwd,
    model: run.model,
    hostAgentId: host.agentId,
    ...defined({ agentId: runtimeReason.agentId }),
    input: run.input,
    instructions: run.system.map((piece) => piece.text).join("\n\n"),
    get tokenBudget() {
      return run.tokenBudget;
    },
    maxSteps: host.settings.maxSteps,
    thinking: request.thinking ?? host.settings.models[run.model.ref]?.thinking ?? host.settings.thinking,
    retry,
    permissionMode: request.permission ?? host.settings.permission.mode,
    engine: engineFacts(run),
    signal,
    tools: withRepeatLimit(
      withBoundedResults(run.tools, () => resultsFolder(run.writer.record.file)),
      (error) => deadline.abort(error),
    ),
    context: context.view(),
    thread: turnThread(run, end),
    io: {
      takeInputs: () => takeInputs(run),
      inputArrives: () => run.admitted.channel.steeringArrives(),
      emit: (event) => {
        if (!end.reached) forward(run, event);
        const answer = event.type === "message" && event.message.role === "assistant" && event.message;
        if (answer && answer.stopReason !== "aborted") context.chain?.answered();
        return Promise.resolve();
      },
      degrade: (stage, reason) => run.guard.degrade(stage, reason),
    },
  };
  return host.settings.fallbacks.length === 0 ? turn : followingModel(turn, run, context);
}

/** Where fallbacks are configured: what depends on the model is read at each use. */
function followingModel(turn: HarnessTurn, run: TurnState, context: RunContext): HarnessTurn {
  const { retry } = turn;
  const { models, thinking } = run.host.settings;
  return Object.defineProperties(turn, {
    model: { get: () => run.model },
    thinking: { get: () => run.admitted.request.thinking ?? models[run.model.ref]?.thinking ?? thinking },
    retry: { get: () => (retry && context.chain?.hasNext === true ? beforeFallback(retry) : retry) },
  });
}

type RetryLimits = NonNullable<HarnessTurn["retry"]>;

/** A failing model that a fallback can take over from is not retried for long. */
function beforeFallback(retry: RetryLimits): RetryLimits {
  if (retry.maxElapsedMs <= RETRY_BEFORE_FALLBACK_MS) return retry;
  return { ...retry, maxElapsedMs: RETRY_BEFORE_FALLBACK_MS, limit: "a model with a fallback" };
}

function engineFacts({ engine }: TurnState): HarnessTurn["engine"] {
  const { id, ownsCompaction = false } = engine.info;
  return { id, governs: governs(engine), ownsCompaction };
}

/** Access to the session's binding. A turn that has ended must not change the next one's. */
function turnThread(run: TurnState, end: { readonly reached: boolean }): TurnThread {
  const { harness, guard } = run;
  const { shared } = run.host.store;
  let isReported = false;
  return {
    binding: () => {
      try {
        const binding = readBinding(run.writer.record, harness.id, shared);
        if (!binding && !isReported) reportElsewhere(run);
        isReported = true;
        return binding;
      } catch (error) {
        guard.degrade("transcript", toPagurusError(error).message);
        return undefined;
      }
    },
    bind: (binding) => {
      if (end.reached) return;
      try {
        writeBinding(run.writer.record, harness.id, binding, shared);
      } catch (error) {
        guard.degrade("transcript", toPagurusError(error).message);
      }
    },
  };
}

/** A thread is never continued after another host had the session: it lacks the messages of that one. */
function reportElsewhere({ harness, writer, host, emit }: TurnState): void {
  const bound = threadElsewhere(writer.record, harness.id, host.store.shared);
  if (!bound) return;
  const detail = `The thread ${bound.nativeId} of ${harness.id} is of the host ${bound.host}, from before the session was on another host; it continues from its transcript in a new thread.`;
  emit({ type: "notice", kind: "thread_elsewhere", detail });
}

/** Steering passes the same hooks as a prompt. */
async function takeInputs(run: TurnState): Promise<SteeringMessage[]> {
  const { host, sessionKey, sessionId, turnId, writer, guard, signal, emit } = run;
  const taken: SteeringMessage[] = await run.results.take(writer.leafId ?? undefined);
  for (const steering of run.admitted.channel.takeSteering()) {
    const { text, additionalContext } = steering;
    takeContext(run, steering);
    const ids = { sessionKey, sessionId, turnId };
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

/** No hook runs on it, and a hook that blocks the text does not block it: as Codex does. */
function takeContext(run: TurnState, { additionalContext }: Steering): void {
  run.changeFragments((fragments) => fragments.merge(additionalContext, "steering"));
}

function recordSteering(run: TurnState, text: string): UserMessage {
  const message: UserMessage = {
    role: "user",
    content: [{ type: "text", text: text.toWellFormed() }],
    timestamp: Date.now(),
  };
  const recorded = run.recorder.message(message);
  if (recorded.entryId !== undefined) run.emit({ type: "steered", entryId: recorded.entryId });
  return message;
}

function forward(run: TurnState, event: TurnEvent): void {
  if (event.type === "message") {
    if (event.message.role === "assistant") run.results.answered();
    run.emit({ type: "message", message: run.recorder.message(event.message) });
    return;
  }
  if (event.type === "plan.updated") {
    showPlan(run.admitted, event);
    return;
  }
  const compacted = nativeCompactionData(event);
  if (compacted) run.recorder.note(NATIVE_COMPACTION_ENTRY, compacted);
  // Calls of our own loop wait for it.
  if (event.type === "tool.started" && run.harness.seam !== "embedded")
    run.admitted.checkpoint.called(event.toolCallId);
  if (event.type === "usage") run.noteUsage(event.usage);
  // Readers print an event as JSON, which fails on deeply nested arguments.
  if (event.type === "tool.started") run.emit({ ...event, arguments: boundedArguments(event.arguments) });
  else run.emit(event);
}
