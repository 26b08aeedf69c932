/**
 * Second room: the engine meets a session that already existed, once, and is offered the turns that it has not
 * taken yet. What it does wrong here is warned of; the turn goes on.
 */
import type { BootstrapResult } from "../contract/engine-params.ts";
import type { Admission } from "./scope.ts";
import { maintain } from "./maintenance.ts";
import { settle, type SettleInput } from "./settle.ts";

function checkBootstrap(result: BootstrapResult): string | undefined {
  return typeof result === "object" && result !== null && typeof result.bootstrapped === "boolean"
    ? undefined
    : "bootstrap() does not say whether it bootstrapped";
}

/**
 * `base` is what every engine call of this turn is given; its `turn` is empty here. Whether the engine has taken
 * all earlier turns.
 */
export async function open(admission: Admission, base: SettleInput): Promise<boolean> {
  const { host, engine, guard, writer, signal, existed } = admission;
  const { sessionId } = writer.record;
  if (existed && engine.bootstrap && !host.slot.bootstrapped.has(sessionId)) {
    const facts = { engineId: engine.info.id, sessionId, runtime: admission.harness.id };
    host.logger.debug("context engine bootstrap started", facts);
    const params = base.context.fileBase();
    const outcome = await guard.call<BootstrapResult>(
      "bootstrap",
      () => engine.bootstrap?.(params) ?? { bootstrapped: false },
      {
        signal,
        check: checkBootstrap,
      },
    );
    host.logger.debug(`context engine bootstrap ${outcome.ok ? "completed" : "failed"}`, facts);
    if (outcome.ok) {
      const { bootstrapped, importedMessages: imported, reason } = outcome.value;
      host.logger.debug("context engine bootstrap answered", {
        ...facts,
        bootstrapped,
        imported,
        gaveReason: reason !== undefined,
      });
      host.slot.bootstrapped.add(sessionId);
      await maintain(base, "bootstrap-maintain", admission.session, signal);
    }
  } else if (!existed) {
    // A session that starts under this engine has nothing to import later.
    host.slot.bootstrapped.add(sessionId);
  }
  return offerAgain(admission, base);
}

/**
 * Turns that the engine has not taken, oldest first; at the first that it refuses again the rest waits, so that it
 * meets them in order. Whether it has all of them now.
 */
async function offerAgain({ host, writer, signal }: Admission, base: SettleInput): Promise<boolean> {
  for (const { turnId, messages, heartbeat } of writer.unfinalizedTurns()) {
    // Taken from the fallback snapshot, when its commit could not be written.
    const taken = host.slot.takenUncommitted.has(turnId);
    const first = messages[0]?.entryId;
    const before = base.history.findIndex((message) => message.entryId === first);
    const history = before < 0 ? base.history : base.history.slice(0, before);
    if (!taken && !(await settle({ ...base, turnId, turn: messages, history, heartbeat }, signal)))
      return false;
    host.slot.takenUncommitted.delete(turnId);
    writer.markFinalized(turnId);
  }
  return true;
}
