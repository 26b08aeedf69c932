/**
 * Codex's own compaction of a session's thread between turns. Source: harness port, "8. Compaction policy"; facts of the
 * app-server, section 6.
 */
import type { PagurusError } from "@pagurus/contract/errors";
import type {
  HarnessBinding,
  NativeCompaction,
  NativeCompactionRequest,
} from "@pagurus/contract/harness/harness";
import { recordOf } from "@pagurus/core/data/record-fields";
import { orAborted } from "@pagurus/core/platform/deadline";
import { compactable, compacted } from "../thread/thread-compaction.ts";
import type { AppServer, ThreadListener } from "./app-server/app-server.ts";
import { turnFailure } from "./codex-failure.ts";
import { interrupted } from "./app-server/interrupt.ts";
import { threadSettings, type TurnSurroundings } from "./codex-place.ts";
import type { ThreadCompactStartParams } from "./protocol.ts";
import { closedBinding, readCodexState, resumeParams } from "./codex-thread.ts";
import { REQUEST_MS } from "./codex-threads.ts";

/** Collects the messages of a compaction turn. */
class Watch implements ThreadListener {
  readonly #end = Promise.withResolvers<{ compacted: boolean }>();
  readonly ended = this.#end.promise;
  tokens: number | undefined;
  /** Native turn of the compaction, once it runs. */
  turnId: string | undefined;
  #compacted = false;

  constructor() {
    this.ended.catch(() => undefined);
  }

  notification(method: string, params: unknown): void {
    const message = recordOf(params);
    if (method === "thread/tokenUsage/updated") {
      const tokens = recordOf(recordOf(message["tokenUsage"])["last"])["totalTokens"];
      if (typeof tokens === "number") this.tokens = tokens;
    }
    if (method === "item/completed" && recordOf(message["item"])["type"] === "contextCompaction")
      this.#compacted = true;
    const { id, status, error } = recordOf(message["turn"]);
    if (method === "turn/started" && typeof id === "string") this.turnId ??= id;
    if (method !== "turn/completed" || (this.turnId !== undefined && id !== this.turnId)) return;
    if (status === "failed") this.#end.reject(turnFailure(recordOf(error)));
    else this.#end.resolve({ compacted: this.#compacted && status === "completed" });
  }

  request(): Promise<unknown> {
    return Promise.reject(new Error("Requests to the host are refused while Codex compacts."));
  }

  closed(error: PagurusError): void {
    this.#end.reject(error);
  }
}

/** Throws Codex's refusal, `turn_aborted`, and the error of a failed turn. */
export async function compactThread(
  binding: HarnessBinding,
  request: NativeCompactionRequest,
  around: TurnSurroundings,
): Promise<NativeCompaction> {
  const { governs, model, cwd, signal } = request;
  if (governs && around.seam === "wire")
    return {
      compacted: false,
      reason: "the model is sent the engine's context, whatever the thread holds",
    };
  if (!governs && model.api !== "openai-responses")
    return {
      compacted: false,
      reason: "its model is called over the model gateway, which serves turns only",
    };
  const found = compactable(request, readCodexState(binding), "thread");
  if ("reason" in found) return { compacted: false, ...found };
  const { state } = found;
  const server = await around.servers.get(signal);
  const { nativeId } = binding;
  const settings = await threadSettings({ model, governs, cwd }, around);
  const thread =
    around.threads.use(server, nativeId) ??
    (await around.threads.resume(server, resumeParams(nativeId, model.id, cwd, settings), signal));
  if ("lost" in thread)
    return { compacted: false, reason: `the thread ${thread.lost}; the next turn begins a new one` };
  thread.tokens ??= state.tokens;
  const watch = new Watch();
  const unlisten = server.listen(nativeId, watch);
  try {
    const params: ThreadCompactStartParams = { threadId: nativeId };
    await server.request("thread/compact/start", params, { signal, deadlineMs: REQUEST_MS });
    const end = await endOf(watch, server, nativeId, signal);
    if (end === false) return { compacted: false, reason: "Codex ended the compaction without one" };
    const { held: _, ...known } = state;
    // Also when the outcome is unknown: at worst a fragment is shown twice.
    const { shown } = state;
    const kept = closedBinding(nativeId, known, { isCompacted: true, tokens: watch.tokens, shown });
    if (end === undefined)
      return { compacted: false, reason: "Codex was interrupted while it compacted", binding: kept };
    const tokensBefore = thread.tokens;
    thread.tokens = watch.tokens;
    return compacted(kept, { before: tokensBefore, after: watch.tokens });
  } finally {
    unlisten();
    around.threads.rest(server, thread);
  }
}

/** Whether Codex compacted; undefined without an answer in time after an abort. Throws the error of a failed turn. */
async function endOf(
  watch: Watch,
  server: AppServer,
  threadId: string,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  try {
    return (await orAborted(watch.ended, signal)).compacted;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const end = await interrupted(server, { threadId, turnId: watch.turnId ?? "" }, watch.ended);
  return end?.compacted;
}
