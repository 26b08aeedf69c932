/**
 * First room: everything a turn needs is checked before anything starts. A run that cannot be served is refused
 * here, in one sentence, and leaves no trace in the session.
 */
import { statSync } from "node:fs";
import type { ContextEngine } from "../contract/engine.ts";
import type { TurnEvent } from "../contract/events.ts";
import { PagurusError } from "../contract/errors.ts";
import { formatKeyPath } from "../config/key-path.ts";
import type { RunRequest } from "../contract/run.ts";
import { orAborted } from "../platform/deadline.ts";
import { checkHostRequirements } from "./host-requirements.ts";
import { takeBlockedContext } from "./fragments/blocked.ts";
import { contextEntries } from "./fragments/merge.ts";
import { inputBlocked } from "./gate.ts";
import { runtimeCompacts } from "./gauge.ts";
import { CostGate, costLimits } from "./cost.ts";
import { Guard } from "./guard.ts";
import { runHooks } from "./hooks.ts";
import { LiveSession } from "./live-session.ts";
import type { Admission, AgentHost } from "./scope.ts";
import { reasonOf, selectRuntime } from "./select/select.ts";

/** How long a turn waits for another writer of the session, ms. */
const LOCK_WAIT_MS = 1_000;

/** Throws what `errors.ts` lists under usage, model, runtime, engine, session; the writer is open afterwards. */
export async function admit(
  host: AgentHost,
  request: RunRequest,
  port: { signal: AbortSignal; emit(event: TurnEvent): void },
): Promise<Admission> {
  const { signal, emit } = port;
  const sessionKey = request.sessionKey ?? "main";
  const cwd = request.cwd ?? host.settings.workspace ?? process.cwd();
  checkInput(request, cwd);
  const ref = request.model ?? (await host.defaultModel()).ref;
  const model = host.modelInfo(ref);
  const choice = selectRuntime({ ...host, model, requested: request.runtime });
  const engine = await orAborted(host.slot.get(), signal);
  checkHostRequirements(engine, choice.harness, "agent-run", { harnesses: host.harnesses, model });
  checkCompactionOwner(host, engine);
  checkPlugins(host);
  const limits = costLimits(request.maxCost, host.config.agents?.defaults?.maxCost);

  const turnId = host.newTurnId();
  const guard = new Guard({
    engineId: engine.info.id,
    turnId,
    logger: host.logger,
    report: (degradation) => emit({ type: "context.degraded", ...degradation }),
    deadlines: host.config.agents?.defaults?.engineDeadlines,
  });
  const hooks = {
    signal,
    logger: host.logger,
    onFailure: (reason: string) => guard.degrade("hook", reason),
  };
  // Before the session is touched: a blocked input leaves no trace in it.
  const ids = { sessionKey, sessionId: undefined, turnId };
  const blocked = await inputBlocked(host, request.prompt, ids, hooks);
  if (blocked !== undefined) {
    takeBlockedContext(host, request, { sessionKey, cwd, model, guard });
    throw new PagurusError("prompt_blocked", `The input was blocked: ${blocked}`);
  }
  if (signal.aborted) throw new PagurusError("turn_aborted", "The turn was aborted before it started.");
  const writer = host.store.openWriter(sessionKey, { cwd, create: true, deadlineMs: LOCK_WAIT_MS });
  try {
    const existed = writer.leafId !== null;
    for (const notice of writer.notices) emit({ type: "notice", kind: notice.kind, detail: notice.detail });
    const { sessionId } = writer.record;
    if (!host.started.has(sessionId)) {
      host.started.set(sessionId, sessionKey);
      const context = { sessionKey, sessionId, agentId: host.agentId, turnId };
      await runHooks(host.hooks, "session_start", { resumed: existed }, context, hooks);
    }
    const session = new LiveSession(writer);
    return {
      host,
      request,
      sessionKey,
      turnId,
      cwd,
      engine,
      model,
      session,
      get writer() {
        return session.writer;
      },
      cost: new CostGate({
        limits,
        model,
        turnId,
        ledger: host.spend,
        sessionId: () => session.writer.record.sessionId,
        parent: host.subagents.costOf(sessionKey),
      }),
      existed,
      guard,
      signal,
      emit,
      harness: choice.harness,
      runtimeReason: reasonOf(choice),
    };
  } catch (error) {
    writer.close();
    throw error;
  }
}

function checkInput(request: RunRequest, cwd: string): void {
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
}

/** Who compacts is said once: an engine that owns its compaction cannot be told that the runtime does. */
export function checkCompactionOwner(host: AgentHost, { info }: ContextEngine): void {
  if (!runtimeCompacts(host) || info.ownsCompaction !== true) return;
  throw new PagurusError(
    "host_requirement",
    `agents.defaults.compaction.owner is "native", but the engine "${info.id}" owns its compaction; set it to "engine", or choose another engine in plugins.slots.contextEngine.`,
    { details: { engine: info.id } },
  );
}

/** A plugin may be a gate or a guard: without it nothing runs. */
export function checkPlugins(host: AgentHost): void {
  const [first, ...more] = host.pluginFailures;
  if (first === undefined) return;
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  const key = formatKeyPath(["plugins", "entries", first.pluginId, "enabled"]);
  // One that a caller handed over, or the list itself, has no key.
  const mend = first.path === undefined ? "Mend it" : `Mend it, or set ${key} to false`;
  throw new PagurusError(
    "plugin_failed",
    `The plugin ${first.pluginId} failed: ${first.reason.replace(/\.$/, "")}${others}. ${mend}.`,
    { details: { plugin: first.pluginId } },
  );
}
