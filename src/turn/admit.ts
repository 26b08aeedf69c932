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
  await gate(host, request.prompt, { sessionKey, turnId }, hooks);
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
    return {
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
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** The `user_prompt` gate, before the session is touched: a blocked input leaves no trace in it. */
async function gate(
  host: AgentHost,
  prompt: string,
  ids: { sessionKey: string; turnId: string },
  options: Parameters<typeof runHooks>[4],
): Promise<void> {
  const sessionId = host.store.find(ids.sessionKey)?.sessionId ?? "";
  const context = { ...ids, sessionId, agentId: host.agentId };
  const outcome = await runHooks(host.hooks, "user_prompt", { prompt }, context, options);
  const reason = outcome.blocked ?? outcome.results.find((result) => result.block)?.reason;
  if (reason !== undefined) throw new PagurusError("prompt_blocked", `The input was blocked: ${reason}`);
}
