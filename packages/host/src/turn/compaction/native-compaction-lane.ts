/** The runtime's own compaction of a session's thread, requested between turns. Source: harness port, "8. Compaction policy". */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { HarnessBinding, NativeCompaction } from "@pagurus/contract/harness/harness";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import { readBinding, writeBinding } from "../../stores/files/bindings.ts";
import { NATIVE_COMPACTION_ENTRY } from "../record/native-compactions.ts";
import { governs } from "../context/native-context.ts";
import { Announcement } from "./announce.ts";
import type { LaneScope } from "./lane-scope.ts";

/** Longest wait for a runtime's own compaction, ms. */
const NATIVE_MS = 120_000;

/** Undefined when the session has no thread in the runtime, or the runtime does not compact. Throws what the runtime throws. */
export async function compactThread(
  scope: LaneScope,
  cwd: string,
  binding: HarnessBinding | undefined,
): Promise<NativeCompaction | undefined> {
  const { harness, session, signal, model, engine, host } = scope;
  const { record } = session.writer;
  if (!binding || !harness.compact) return undefined;
  const done = await harness.compact(binding, {
    model,
    cwd,
    governs: governs(engine),
    signal: AbortSignal.any([signal, AbortSignal.timeout(NATIVE_MS)]),
  });
  const { binding: kept, ...reported } = done;
  if (kept) writeBinding(record, harness.id, kept, host.store.shared);
  return reported;
}

/**
 * `/compact` when the runtime keeps the context: runs the runtime's own compaction. Undefined when it has no thread of the session. Throws
 * `turn_aborted`.
 */
export async function compactInRuntime(
  scope: LaneScope,
  cwd: string,
): Promise<Omit<CompactionReport, "degraded"> | undefined> {
  const { harness, session, signal } = scope;
  const binding = readBinding(session.writer.record, harness.id, scope.host.store.shared);
  if (!binding) return undefined;
  const backend = harness.id;
  const facts = { lane: "harness" as const, trigger: "manual" as const, backend };
  const announcement = await Announcement.begin(scope, facts, 0);
  let done: NativeCompaction | undefined;
  try {
    done = await compactThread(scope, cwd, binding);
  } catch (error) {
    if (signal.aborted)
      throw new PagurusError("turn_aborted", "The compaction was aborted; the conversation is as it was.");
    done = { compacted: false, reason: toPagurusError(error).message };
  }
  if (!done) return undefined;
  if (!done.compacted && signal.aborted)
    throw new PagurusError(
      "turn_aborted",
      "The compaction was aborted; no word of the conversation is lost.",
    );
  // The host's own count covers the conversation alone, so it cannot be compared with the runtime's.
  const { compacted, reason, tokensBefore = 0, tokensAfter = 0 } = done;
  if (!compacted) {
    announcement.failed(reason ?? "nothing was compacted", backend);
    return { compacted, reason: reason ?? "nothing was compacted" };
  }
  const data = { trigger: facts.trigger, handledBy: backend, tokensBefore, tokensAfter };
  session.writer.append({ type: "custom", customType: NATIVE_COMPACTION_ENTRY, data });
  await announcement.completed({ tokensBefore, tokensAfter, handledBy: backend });
  return {
    compacted,
    ...(tokensBefore > 0 ? { tokensBefore } : {}),
    ...(tokensAfter > 0 ? { tokensAfter } : {}),
  };
}
