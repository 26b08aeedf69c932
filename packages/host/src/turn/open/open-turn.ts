/**
 * Open stage: bootstraps the engine once for a session that already existed, and offers it the turns that it has not taken yet. Its
 * failures here are warnings; the turn continues.
 */
import type { BootstrapResult } from "@pagurus/contract/engine/engine-params";
import type { AgentMessage } from "@pagurus/contract/message";
import type { TurnState } from "../state/turn-state.ts";
import { maintain } from "../engine/engine-maintenance.ts";
import { settle } from "../engine/settle-turn.ts";

function checkBootstrap(result: BootstrapResult): string | undefined {
  return typeof result === "object" && result !== null && typeof result.bootstrapped === "boolean"
    ? undefined
    : "bootstrap() does not say whether it bootstrapped";
}

/** Sets whether the engine has taken all earlier turns. `history`: the messages before the turn. */
export async function open(turn: TurnState, history: AgentMessage[]): Promise<void> {
  const { host, engine, guard, signal, sessionId } = turn;
  const { existed } = turn.admitted;
  if (existed && engine.bootstrap && !host.slot.bootstrapped.has(sessionId)) {
    const facts = { engineId: engine.info.id, sessionId, runtime: turn.harness.id };
    host.logger.debug("context engine bootstrap started", facts);
    const params = turn.context.fileBase();
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
      await maintain(turn, "bootstrap-maintain", turn.session, signal);
    }
  } else if (!existed) {
    // A session that starts with this engine has nothing to import later.
    host.slot.bootstrapped.add(sessionId);
  }
  turn.caughtUp = await offerAgain(turn, history);
}

/**
 * Offers the turns that the engine has not taken, oldest first; stops at the first refusal, so that it gets them in order. Returns whether
 * it has all of them now.
 */
async function offerAgain(turn: TurnState, before: AgentMessage[]): Promise<boolean> {
  const { host, writer, signal } = turn;
  for (const { turnId, messages, heartbeat } of writer.unfinalizedTurns()) {
    // Taken from the fallback snapshot when its commit could not be written.
    const taken = host.slot.takenUncommitted.has(turnId);
    const first = messages[0]?.entryId;
    const index = before.findIndex((message) => message.entryId === first);
    const history = index < 0 ? before : before.slice(0, index);
    if (!taken && !(await settle(turn.settleInput({ turnId, turn: messages, history, heartbeat }), signal)))
      return false;
    host.slot.takenUncommitted.delete(turnId);
    writer.markFinalized(turnId);
  }
  return true;
}
