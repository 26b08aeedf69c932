/**
 * First room: everything a turn needs is checked before anything starts. A run that cannot be served is refused
 * here, in one sentence, and leaves no trace in the session.
 */
import { statSync } from "node:fs";
import type { TurnEvent } from "../contract/events.ts";
import { PagurusError } from "../contract/errors.ts";
import type { RunRequest } from "../contract/host.ts";
import { checkHostRequirements } from "./engine-slot.ts";
import { Guard } from "./guard.ts";
import { runHooks } from "./hooks.ts";
import type { Admission, AgentHost } from "./scope.ts";
import { selectRuntime } from "./select.ts";

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
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new PagurusError(
      "usage_invalid",
      `The working folder ${cwd} does not exist; name an existing one with --cwd.`,
    );
  }
  if (request.prompt.trim() === "" && (request.parts ?? []).length === 0) {
    throw new PagurusError(
      "usage_invalid",
      "The prompt is empty; give a text, or - to read it from standard input.",
    );
  }
  const ref = request.model ?? (await host.defaultModel()).ref;
  const model = host.modelInfo(ref);
  const choice = selectRuntime({ ...host, model, requested: request.runtime });
  const engine = await host.slot.get();
  checkHostRequirements(engine, choice.harness, "agent-run");

  const turnId = host.newTurnId();
  const writer = host.store.openWriter(sessionKey, { cwd, create: true, deadlineMs: LOCK_WAIT_MS });
  try {
    const existed = writer.leafId !== null;
    const guard = new Guard({
      engineId: engine.info.id,
      turnId,
      logger: host.logger,
      report: (degradation) => emit({ type: "context.degraded", ...degradation }),
      deadlines: host.config.agents?.defaults?.engineDeadlines,
    });
    const admission: Admission = {
      host,
      request,
      sessionKey,
      turnId,
      cwd,
      engine,
      model,
      writer,
      existed,
      guard,
      signal,
      emit,
      harness: choice.harness,
      runtimeRule: choice.rule,
    };
    await gate(admission);
    for (const notice of writer.notices) emit({ type: "notice", kind: notice.kind, detail: notice.detail });
    return admission;
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** `session_start` for a session that is new to this process, then the `user_prompt` gate. */
async function gate(admission: Admission): Promise<void> {
  const { host, writer, sessionKey, request, turnId, guard, signal, existed } = admission;
  const context = { sessionKey, sessionId: writer.record.sessionId, agentId: host.agentId, turnId };
  const options = {
    signal,
    logger: host.logger,
    onFailure: (reason: string) => guard.degrade("hook", reason),
  };
  if (!host.started.has(writer.record.sessionId)) {
    host.started.add(writer.record.sessionId);
    await runHooks(host.hooks, "session_start", { resumed: existed }, context, options);
  }
  const outcome = await runHooks(host.hooks, "user_prompt", { prompt: request.prompt }, context, options);
  const reason = outcome.blocked ?? outcome.results.find((result) => result.block)?.reason;
  if (reason !== undefined) throw new PagurusError("prompt_blocked", `The input was blocked: ${reason}`);
}
