/**
 * Maintenance of an engine: after a successful turn, and after a bootstrap. In the foreground the turn waits for it and its rewrites go
 * through the turn's writer; in the background it runs after the turn, one at a time per session, and a rewrite takes the session's lock
 * itself. Source: context-engine page; `turnMaintenanceMode`.
 */
import { setImmediate } from "node:timers/promises";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { isPagurusError, toPagurusError } from "@pagurus/contract/errors";
import type {
  RewriteRequest,
  TranscriptRewriteRequest,
  TranscriptRewriteResult,
} from "@pagurus/contract/engine/runtime-context";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionWriter } from "@pagurus/contract/session/writer";
import { fieldOf } from "@pagurus/core/data/record-fields";
import { LONGEST_TIMER_MS } from "@pagurus/core/platform/deadline";
import type { EngineContext } from "./engine-context.ts";
import type { Guard } from "../guard/guard.ts";
import type { LiveSession } from "../record/live-session.ts";

export interface MaintenanceInput {
  engine: ContextEngine;
  guard: Guard;
  context: EngineContext;
}

/** Result of a rewrite after the call's deadline: later turns do not expect the conversation to change. */
const TOO_LATE: TranscriptRewriteResult = {
  changed: false,
  bytesFreed: 0,
  rewrittenEntries: 0,
  reason: "the maintenance is over; ask again at the next one",
};

type Rewrite = SessionWriter["rewrite"];

/** Runs a request in either of its forms. */
function rewriteAsked(
  request: TranscriptRewriteRequest | RewriteRequest[],
  rewrite: Rewrite,
): TranscriptRewriteResult {
  const { replacements, allowedRewriteSuffixEntryIds: allowed } = Array.isArray(request)
    ? { replacements: request }
    : (request ?? {});
  const areLists = Array.isArray(replacements) && (allowed === undefined || Array.isArray(allowed));
  if (areLists && replacements.every((each: unknown) => typeof fieldOf(each, "entryId") === "string"))
    return rewrite(replacements, allowed);
  const reason = areLists
    ? "a replacement names no entry; give {entryId, message}"
    : "the request has no list of replacements, or its allowed entries are no list";
  return { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason };
}

function checkMaintain(result: TranscriptRewriteResult): string | undefined {
  return typeof result?.changed === "boolean"
    ? undefined
    : "maintain() does not say whether it changed anything";
}

async function callMaintain(
  input: MaintenanceInput,
  stage: "maintain" | "bootstrap-maintain",
  rewrite: Rewrite,
  how: { background: boolean; signal: AbortSignal; deadlineMs?: number },
): Promise<TranscriptRewriteResult | undefined> {
  const { engine, guard, context } = input;
  let over = false;
  const base = context.fileBase({
    allowDeferredCompactionExecution: how.background,
    rewriteTranscriptEntries: (request) =>
      Promise.resolve().then(() => (over ? TOO_LATE : rewriteAsked(request, rewrite))),
  });
  const outcome = await guard.call<TranscriptRewriteResult>(
    stage,
    (abortSignal) =>
      engine.maintain?.({ ...base, abortSignal }) ?? { changed: false, bytesFreed: 0, rewrittenEntries: 0 },
    { signal: how.signal, check: checkMaintain, deadlineMs: how.deadlineMs },
  );
  over = true;
  if (!outcome.ok) return undefined;
  const { changed, bytesFreed, rewrittenEntries, reason } = outcome.value;
  const { sessionId } = base;
  const { background } = how;
  context.scope.host.logger.debug("context engine maintained", {
    engineId: engine.info.id,
    sessionId,
    stage,
    background,
    changed,
    bytesFreed,
    rewrittenEntries,
    gaveReason: reason !== undefined,
  });
  return outcome.value;
}

/** Runs within the turn. A failure is only a degradation. */
export async function maintain(
  input: MaintenanceInput,
  stage: "maintain" | "bootstrap-maintain",
  session: LiveSession,
  signal: AbortSignal,
): Promise<void> {
  if (!input.engine.maintain) return;
  const rewrite: Rewrite = (...request) => session.writer.rewrite(...request);
  await callMaintain(input, stage, rewrite, { background: false, signal });
}

/** Runs one background job of the host until it is done; its signal fires when the host closes. */
export type TrackBackground = (kind: string, work: (signal: AbortSignal) => Promise<void>) => void;

interface Due {
  cwd: string;
  input: MaintenanceInput;
}

export class BackgroundMaintenance {
  readonly #store: SessionStore;
  readonly #track: TrackBackground;
  readonly #last = new Map<string, Promise<void>>();
  /** Queued work by session: only the newest turn's is kept. */
  readonly #waiting = new Map<string, Due>();

  constructor(store: SessionStore, track: TrackBackground) {
    this.#store = store;
    this.#track = track;
  }

  /**
   * Queues the work after the session's running maintenance, in place of what is queued already, and returns at once. `input.context` must
   * not use the turn's writer: its session is read again.
   */
  start(sessionKey: string, cwd: string, input: MaintenanceInput): void {
    const isWaiting = this.#waiting.has(sessionKey);
    this.#waiting.set(sessionKey, { cwd, input });
    if (isWaiting) return;
    const begin = (): Due => {
      const due = this.#waiting.get(sessionKey) ?? { cwd, input };
      this.#waiting.delete(sessionKey);
      return due;
    };
    this.#track("maintenance", async (signal) => {
      // The turn that has ended is reported first.
      await setImmediate();
      await this.#queue(sessionKey, begin, { signal });
    });
  }

  /** Same as `start`, for a caller who waits and can stop it; undefined when it failed, which `input.guard` has recorded. */
  now(
    sessionKey: string,
    cwd: string,
    input: MaintenanceInput,
    signal: AbortSignal,
  ): Promise<TranscriptRewriteResult | undefined> {
    return this.#queue(sessionKey, () => ({ cwd, input }), { signal, deadlineMs: LONGEST_TIMER_MS });
  }

  #queue(
    sessionKey: string,
    begin: () => Due,
    until: { signal: AbortSignal; deadlineMs?: number },
  ): Promise<TranscriptRewriteResult | undefined> {
    const before = this.#last.get(sessionKey) ?? Promise.resolve();
    const mine = before.then(() => {
      const { cwd, input } = begin();
      const rewrite: Rewrite = (...request) => this.#rewrite(sessionKey, cwd, ...request);
      return callMaintain(input, "maintain", rewrite, { background: true, ...until });
    });
    const settled = mine
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        if (this.#last.get(sessionKey) === settled) this.#last.delete(sessionKey);
      });
    this.#last.set(sessionKey, settled);
    return mine;
  }

  #rewrite(sessionKey: string, cwd: string, ...request: Parameters<Rewrite>): TranscriptRewriteResult {
    let writer: SessionWriter;
    try {
      // Does not wait: waiting for the lock blocks the whole process, and a turn in it may be the owner.
      writer = this.#store.openWriter(sessionKey, { cwd, create: false, deadlineMs: 0 });
    } catch (error) {
      if (!isPagurusError(error) || error.code !== "session_locked") throw toPagurusError(error);
      const reason = "a turn of the session is running; ask again at the next maintenance";
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason };
    }
    try {
      return writer.rewrite(...request);
    } finally {
      writer.close();
    }
  }
}
