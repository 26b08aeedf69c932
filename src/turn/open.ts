/**
 * Second room: the engine meets a session that already existed, once, and is offered the turns that it has not
 * taken yet. What it does wrong here is warned of; the turn goes on.
 */
import type { BootstrapResult } from "../contract/engine-params.ts";
import type { Admission } from "./scope.ts";
import { maintain, settle, type SettleInput } from "./settle.ts";

function checkBootstrap(result: BootstrapResult): string | undefined {
  return typeof result === "object" && result !== null && typeof result.bootstrapped === "boolean"
    ? undefined
    : "bootstrap() does not say whether it bootstrapped";
}

/** `base` is what every engine call of this turn is given; its `turn` is empty here. */
export async function open(admission: Admission, base: SettleInput): Promise<void> {
  const { host, engine, guard, writer, signal, existed } = admission;
  const { sessionId, sessionKey } = writer.record;
  if (existed && engine.bootstrap && !host.slot.bootstrapped.has(sessionId)) {
    host.logger.debug("context engine bootstrap started", { engineId: engine.info.id, sessionId });
    const { sessionFile, runtimeContext, runtimeSettings } = base;
    const params = { sessionId, sessionKey, sessionFile, runtimeContext, runtimeSettings };
    const outcome = await guard.call(
      "bootstrap",
      () => engine.bootstrap?.(params) ?? { bootstrapped: false },
      {
        signal,
        check: checkBootstrap,
      },
    );
    host.logger.debug(`context engine bootstrap ${outcome.ok ? "completed" : "failed"}`, {
      engineId: engine.info.id,
      sessionId,
    });
    if (outcome.ok) {
      host.slot.bootstrapped.add(sessionId);
      await maintain(base, "bootstrap-maintain", signal);
    }
  } else if (!existed) {
    // A session that starts under this engine has nothing to import later.
    host.slot.bootstrapped.add(sessionId);
  }
  for (const { turnId, messages } of writer.unfinalizedTurns()) {
    const first = messages[0]?.entryId;
    const before = base.history.findIndex((message) => message.entryId === first);
    const history = before < 0 ? base.history : base.history.slice(0, before);
    if (await settle({ ...base, turnId, turn: messages, history })) writer.markFinalized(turnId);
  }
}
