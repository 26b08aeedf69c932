/**
 * Admit stage: checks everything a turn needs before anything starts. A run that cannot be served is refused here, with one sentence, and
 * leaves no trace in the session.
 */
import { backOffMs } from "@pagurus/core/data/back-off";
import { statSync } from "node:fs";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { isBundledId } from "@pagurus/core/config/bundled";
import type { HookContext } from "@pagurus/contract/host/hooks";
import type { RunRequest } from "@pagurus/contract/host/run";
import { orAborted, sleep } from "@pagurus/core/platform/deadline";
import { checkHostRequirements } from "../selection/host-requirements.ts";
import { takeBlockedContext } from "./blocked-context.ts";
import { contextEntries } from "../fragments/merge.ts";
import { endIdleSessions } from "./idle-sessions.ts";
import { checkInputLength } from "./input-length.ts";
import { inputBlocked } from "../agent/input-gate.ts";
import { resolveTurnModel } from "./resolve-model.ts";
import { runtimeCompacts } from "../context/in-attempt-gauge.ts";
import { heldCosts } from "../cost/held-costs.ts";
import { CostGate, costLimits, type CostGateOptions } from "../cost/cost-limits.ts";
import { Guard } from "../guard/guard.ts";
import { runHooks, type HookOptions } from "../guard/turn-hooks.ts";
import { LiveSession } from "../record/live-session.ts";
import { safeSink } from "./safe-sink.ts";
import { Recorder } from "../record/record-turn.ts";
import type { TurnChannel } from "../state/steering-channel.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { Admitted } from "../state/admitted.ts";
import type { OpenNotice, SessionWriter } from "@pagurus/contract/session/writer";
import { checkKeys, REQUEST_KEYS } from "./request-keys.ts";
import { reasonOf, selectRuntime } from "../selection/select-runtime.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** Longest wait for another writer of the session, ms. */
const LOCK_WAIT_MS = 1_000;
/** Pauses between two tries, ms. */
const LOCK_PAUSES = { firstMs: 10, longestMs: 160 };

/** Throws what `errors.ts` lists under usage, model, runtime, engine, session; the writer is open afterwards. */
export async function admit(
  host: AgentHost,
  asked: RunRequest,
  port: Pick<Admitted, "channel" | "signal" | "deadline">,
): Promise<Admitted> {
  const { channel, signal, deadline } = port;
  const sessionKey = sessionKeyOf(host, asked);
  const cwd = asked.cwd ?? host.settings.workspace ?? currentFolder();
  await checkInput(host, asked, cwd);
  const turnId = asked.turnId ?? host.newTurnId();
  const { model, request, failures } = await resolveTurnModel(host, asked, { sessionKey, turnId, signal });
  const choice = selectRuntime({ ...host, model, requested: request.runtime });
  const engine = await orAborted(host.slot.get(), signal);
  checkHostRequirements(engine, choice.harness, "agent-run", { harnesses: host.harnesses, model });
  checkCompactionOwner(host, engine);
  checkPlugins(host);
  const limits = costLimits(request.maxCost, host.config.agents?.defaults?.maxCost);
  const guard = new Guard({
    engineId: engine.info.id,
    turnId,
    logger: host.logger,
    report: (degradation) => channel.emit({ type: "context.degraded", ...degradation }),
    deadlines: host.config.agents?.defaults?.engineDeadlines,
  });
  const hooks = {
    signal,
    logger: host.logger,
    onFailure: (reason: string) => guard.degrade("hook", reason),
  };
  reportPlugins(host, guard);
  for (const reason of failures) hooks.onFailure(reason);
  // Runs before the session is touched: a blocked input leaves no trace in it.
  const ids = { sessionKey, sessionId: undefined, turnId };
  const blocked = await inputBlocked(host, request.prompt, ids, hooks);
  if (blocked !== undefined) {
    takeBlockedContext(host, request, { sessionKey, cwd, model, guard });
    throw new PagurusError("prompt_blocked", `The input was blocked: ${blocked}`);
  }
  if (signal.aborted) throw new PagurusError("turn_aborted", "The turn was aborted before it started.");
  // Only a runtime without a thread of its own can continue with what is recorded.
  const continues = choice.harness.seam === "embedded" ? request.turnId : undefined;
  const writer = await openInTime(host, sessionKey, { cwd, continues, signal });
  try {
    const existed = writer.leafId !== null;
    showNotices(writer, channel);
    const { sessionId } = writer.record;
    const context = { sessionKey, sessionId, agentId: host.agentId, turnId };
    await announceInput(host, request, { context, existed, hooks });
    const session = new LiveSession(writer);
    const stop = (error: PagurusError): void => deadline.abort(error);
    const recorder = new Recorder({ writer: () => session.writer, turnId, guard, stop });
    takeUp(recorder, writer, request);
    return {
      ...port,
      host,
      request,
      sessionKey,
      turnId,
      cwd,
      engine,
      model,
      session,
      recorder,
      checkpoint: host.checkpoints.begin({
        cwd,
        turnId,
        sessionKey,
        onNotice: (detail) => channel.emit({ type: "notice", kind: "restore_finished", detail }),
      }),
      receipts: safeSink({ host, guard, turnId, session }),
      cost: costGate(host, { limits, model, turnId, sessionKey, session, program: choice.harness.id }),
      existed,
      guard,
      harness: choice.harness,
      runtimeReason: reasonOf(choice),
    };
  } catch (error) {
    writer.close();
    throw error;
  }
}

function costGate(
  host: AgentHost,
  {
    session,
    sessionKey,
    ...of
  }: Pick<CostGateOptions, "limits" | "model" | "turnId" | "program"> &
    Pick<Admitted, "session" | "sessionKey">,
): CostGate {
  return new CostGate({
    ...of,
    ledger: host.spend,
    sessionId: () => session.writer.record.sessionId,
    parent: host.subagents.costOf(sessionKey),
    held: heldCosts(host.store),
  });
}

/** Waits for another writer of the session, while the other turns of this process run. Throws `session_locked`, and as `openWriter`. */
async function openInTime(
  { store }: AgentHost,
  sessionKey: string,
  { signal, ...options }: { cwd: string; continues: string | undefined; signal: AbortSignal },
): Promise<SessionWriter> {
  const giveUpAt = performance.now() + LOCK_WAIT_MS;
  for (let failures = 1; ; failures += 1) {
    try {
      return store.openWriter(sessionKey, { ...options, deadlineMs: 0 });
    } catch (error) {
      const isLocked = isPagurusError(error) && error.code === "session_locked";
      if (!isLocked || performance.now() >= giveUpAt || signal.aborted) throw error;
    }
    await sleep(backOffMs(failures, LOCK_PAUSES), signal).catch(() => undefined);
  }
}

/** Takes over what an earlier process recorded of the turn, until a later one has it. Throws `turn_exists` where it has ended. */
function takeUp(recorder: Recorder, writer: SessionWriter, { turnId, signal }: RunRequest): void {
  if (signal?.aborted) abandonWhenLost(recorder, signal);
  signal?.addEventListener("abort", () => abandonWhenLost(recorder, signal), { once: true });
  if (turnId === undefined) return;
  const recorded = writer.recordedTurn(turnId);
  if (recorded?.isOver === true) {
    const { sessionKey } = writer.record;
    throw new PagurusError(
      "turn_exists",
      `The session ${sessionKey} has the turn ${turnId} already, and it has ended; look it up in its transcript, or take another id.`,
      { details: { sessionKey, turnId } },
    );
  }
  if (recorded?.messages[0]?.role === "user") recorder.resume(recorded);
}

/** An abort because another host has the turn now: it must not be recorded as aborted. */
function abandonWhenLost(recorder: Recorder, signal: AbortSignal): void {
  const reason: unknown = signal.reason;
  if (isPagurusError(reason) && reason.code === "lock_lost") recorder.abandon(reason);
}

/** Emits what opening the session found, and what a later read finds. */
function showNotices(writer: SessionWriter, channel: TurnChannel): void {
  const show = ({ kind, detail }: OpenNotice): void => channel.emit({ type: "notice", kind, detail });
  writer.notices.forEach(show);
  writer.listen(show);
}

/** `session_start` for the first turn of a session in this process, then `message_received`. */
async function announceInput(
  host: AgentHost,
  { heartbeat, prompt }: RunRequest,
  { context, existed, hooks }: { context: HookContext; existed: boolean; hooks: HookOptions },
): Promise<void> {
  const { sessionId, sessionKey } = context;
  // The one that was used last is the last key.
  const isStarted = host.started.delete(sessionId);
  host.started.set(sessionId, sessionKey);
  if (!isStarted) {
    await runHooks(host.hooks, "session_start", { resumed: existed }, context, hooks);
    endIdleSessions(host);
  }
  if (heartbeat === true) return;
  const received = { content: prompt, timestamp: Date.now() };
  await runHooks(host.hooks, "message_received", received, context, hooks);
}

/** Model ref of a run that names none. Throws `model_unknown`. */
async function checkInput(host: AgentHost, request: RunRequest, cwd: string): Promise<void> {
  checkKeys("A run's request", request, REQUEST_KEYS);
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new PagurusError(
      "usage_invalid",
      `The working folder ${cwd} does not exist; name an existing one with --cwd.`,
    );
  }
  contextEntries(request.additionalContext);
  if (request.prompt.trim() === "" && (request.parts ?? []).length === 0) {
    throw new PagurusError(
      "usage_invalid",
      "The prompt is empty; give a text, or - to read it from standard input.",
    );
  }
  await checkInputLength(host, request);
}

/** Refuses a configuration that leaves compaction to the runtime while the engine owns it. Throws `host_requirement`. */
export function checkCompactionOwner(host: AgentHost, { info }: ContextEngine): void {
  if (!runtimeCompacts(host) || info.ownsCompaction !== true) return;
  throw new PagurusError(
    "host_requirement",
    `agents.defaults.compaction.owner is "native", but the engine "${info.id}" owns its compaction; set it to "engine", or choose another engine in plugins.slots.contextEngine.`,
    { details: { engine: info.id } },
  );
}

/** Refuses runs while a failed plugin is a gate, or its absence is unsafe. Throws `plugin_failed`. */
export function checkPlugins(host: AgentHost): void {
  const [first, ...more] = host.pluginFailures.filter(({ needed }) => needed !== undefined);
  if (first === undefined) return;
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  throw new PagurusError(
    "plugin_failed",
    `The plugin ${first.pluginId} failed: ${first.reason.replace(/\.$/, "")}${others}. No run starts without it, since it ${first.needed}. ${remedyOf(first)}.`,
    { details: { plugin: first.pluginId } },
  );
}

function remedyOf({ pluginId, path }: AgentHost["pluginFailures"][number]): string {
  // A plugin that a caller passed, or the list itself, has no config key.
  if (path === undefined) return "Repair it";
  // The entry of this id belongs to a bundled part.
  if (isBundledId(pluginId)) return `Remove it with pagurus plugins uninstall ${path}`;
  return `Repair it, or disable it: pagurus plugins disable ${pluginId}`;
}

/** Reports each failed plugin that runs can do without, in every run. */
function reportPlugins(host: AgentHost, guard: Guard): void {
  for (const { pluginId, reason, needed } of host.pluginFailures)
    if (needed === undefined) guard.degrade("plugin", `The plugin ${pluginId} is not loaded: ${reason}`);
  for (const error of host.plugins.takeErrors()) guard.degrade("plugin", error);
}
