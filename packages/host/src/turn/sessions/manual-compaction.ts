import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import type { HarnessBinding, NativeCompaction } from "@pagurus/contract/harness/harness";
import { readBinding } from "../../stores/files/bindings.ts";
import { checkCompactionOwner } from "../admit/admit-turn.ts";
import { readContext } from "../context/context-slice.ts";
import { checkHostRequirements } from "../selection/host-requirements.ts";
import { surroundings } from "./inspect-session.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { runtimeKeepsContext } from "../context/native-context.ts";
import { noteDegradations, openLane } from "./open-lane.ts";
import { compactInRuntime, compactThread } from "../compaction/native-compaction-lane.ts";
import { compactQueued } from "../compaction/queued.ts";
import { contextTokens, type LaneScope } from "../compaction/lane-scope.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { defined } from "@pagurus/core/data/defined";

export interface ManualCompaction {
  sessionKey?: string;
  /** Topic that the summary should keep. */
  focus?: string;
  cwd?: string;
  signal?: AbortSignal;
}

/** `/compact [focus]`: the active engine's `compact()`, between turns. Throws `session_not_found`, `session_locked`, `host_requirement`. */
export async function compactManually(
  host: AgentHost,
  request: ManualCompaction,
  emit: (event: TurnEvent) => void = () => undefined,
): Promise<CompactionReport> {
  const sessionKey = sessionKeyOf(host, request);
  const around = await surroundings(host, { cwd: request.cwd, sessionKey, turnId: "manual" });
  const { engine, harness, model, cwd } = around;
  checkHostRequirements(engine, harness, "compaction", { harnesses: host.harnesses, model });
  checkCompactionOwner(host, engine);
  if (!host.store.find(sessionKey)) {
    throw new PagurusError(
      "session_not_found",
      `There is no session "${sessionKey}" to compact; see pagurus sessions list.`,
    );
  }
  const signal = request.signal ?? new AbortController().signal;
  const scope = openLane(host, around, { sessionKey, signal, emit });
  const { guard, session } = scope;
  try {
    const { messages } = readContext(session.writer, model.contextWindow);
    const currentTokens = contextTokens(scope, messages);
    const kept = runtimeKeepsContext(harness, engine) ? await compactInRuntime(scope, cwd) : undefined;
    if (kept) return { ...kept, degraded: [...guard.degraded] };
    // A rotation gives the session another id, and its binding stays with the old one.
    const binding = readBinding(session.writer.record, harness.id, scope.host.store.shared);
    const { compacted, reason, tokensBefore, tokensAfter } = await compactQueued(scope, {
      trigger: "manual",
      currentTokens,
      focus: request.focus,
    });
    if (!compacted && signal.aborted) {
      throw new PagurusError("turn_aborted", "The compaction was aborted; the conversation is as it was.");
    }
    noteDegradations(scope);
    const native = compacted ? await nativeCompaction(scope, cwd, binding) : undefined;
    return {
      compacted,
      ...(native === undefined ? {} : { details: { [`${harness.id}NativeCompaction`]: native } }),
      ...defined({ reason, tokensBefore, tokensAfter }),
      degraded: [...guard.degraded],
    };
  } finally {
    session.close();
  }
}

/**
 * Compacts the session's native thread after the engine has compacted; its failure fails nothing. Source: harness port, "8. Compaction
 * policy".
 */
async function nativeCompaction(
  scope: LaneScope,
  cwd: string,
  binding: HarnessBinding | undefined,
): Promise<NativeCompaction | undefined> {
  const { host, session, engine, harness } = scope;
  const { record } = session.writer;
  const isRotated = binding !== undefined && !readBinding(record, harness.id, host.store.shared);
  const native = await compactThread(scope, cwd, binding).catch((error: unknown) => ({
    compacted: false,
    reason: toPagurusError(error).message,
  }));
  // The former session's thread is not continued.
  if (isRotated) await harness.reset?.(binding).catch(() => undefined);
  if (native) {
    const facts = { sessionId: session.writer.record.sessionId, engineId: engine.info.id };
    const about = { ...facts, runtime: harness.id };
    if (native.compacted)
      host.logger.debug("native compaction completed alongside context-engine compaction", about);
    else host.logger.debug("native compaction not made alongside context-engine compaction", about);
  }
  return native;
}
