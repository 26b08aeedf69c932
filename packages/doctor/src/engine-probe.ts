/**
 * Tests the compaction of an engine that leaves compaction to the host. Source: context-engine page, "ownsCompaction": a no-op
 * `compact()` is unsafe for an active engine that does not own compaction, because `/compact` and overflow recovery call it.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContextEngine, ContextEngineFactory } from "@pagurus/contract/engine/engine";
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { FileParams, SessionParams } from "@pagurus/contract/engine/engine-params";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { IdSource } from "@pagurus/core/platform/ids";
import { runInEngineFrame } from "@pagurus/host/plugin/engine-frame";
import { makeProbeSession, PROBE_KEY, type ProbeSession } from "./probe-session.ts";

/** Timeout of each call of the engine, ms. */
const CALL_DEADLINE_MS = 15_000;

export interface EngineVerdict {
  /** `unavailable`: it cannot be created. `skipped`: it owns its compaction. */
  compact: "works" | "no-op" | "fails" | "skipped" | "unavailable";
  /** Reason, if any; one sentence without a full stop. */
  reason?: string;
  /** It declares `interceptsCompaction` and has no `interceptCompaction()`. */
  interceptsWithoutMember: boolean;
}

export interface ProbeOptions {
  config: unknown;
  /** For each call of the engine, ms. Default 15 s. */
  deadlineMs?: number;
}

/** Creates the engine in a folder of its own, tests it, disposes of it and removes the folder. Never throws. */
export async function probeEngine(
  id: string,
  factory: ContextEngineFactory,
  options: ProbeOptions,
): Promise<EngineVerdict> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-doctor-"));
  const ms = options.deadlineMs ?? CALL_DEADLINE_MS;
  let engine: ContextEngine | undefined;
  try {
    const [agentDir, workspaceDir] = [join(folder, "agent"), join(folder, "workspace")];
    for (const path of [agentDir, workspaceDir]) mkdirSync(path);
    engine = await withDeadline(() => factory({ config: options.config, agentDir, workspaceDir }), {
      ms,
      label: "Creating it",
    });
    return await judge(engine, makeProbeSession(agentDir, new IdSource().next(), options.config), ms);
  } catch (error) {
    return { compact: "unavailable", reason: sentence(error), interceptsWithoutMember: false };
  } finally {
    await dispose(engine, id, ms);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function judge(engine: ContextEngine, session: ProbeSession, ms: number): Promise<EngineVerdict> {
  // A plugin may return any value.
  const { info } = engine as Partial<ContextEngine>;
  if (typeof info !== "object" || typeof engine.compact !== "function")
    throw new PagurusError("engine_contract", "it has no info, or no compact().");
  const interceptsWithoutMember =
    info.interceptsCompaction === true && typeof engine.interceptCompaction !== "function";
  if (info.ownsCompaction === true) return { compact: "skipped", interceptsWithoutMember };
  return { ...(await tryCompact(engine, session, ms)), interceptsWithoutMember };
}

async function tryCompact(
  engine: ContextEngine,
  session: ProbeSession,
  ms: number,
): Promise<Pick<EngineVerdict, "compact" | "reason">> {
  let delegated = false;
  const delegateCompaction = (): Promise<CompactResult> => {
    delegated = true;
    return Promise.resolve(builtIn(session));
  };
  const work = async (): Promise<CompactResult> => {
    await handOver(engine, session, ms);
    return withDeadline(
      (abortSignal) =>
        engine.compact({
          ...callBase(session),
          tokenBudget: session.runtimeContext.tokenBudget,
          currentTokenCount: session.tokens,
          compactionTarget: "threshold",
          force: true,
          abortSignal,
        }),
      { ms, label: "compact()" },
    );
  };
  try {
    const answer: Partial<CompactResult> | undefined = await runInEngineFrame(
      { memorySections: [], delegateCompaction },
      work,
    );
    if (delegated || (answer?.ok === true && answer.compacted === true)) return { compact: "works" };
    const reason = typeof answer?.reason === "string" && answer.reason !== "" ? answer.reason : undefined;
    return { compact: "no-op", ...(reason === undefined ? {} : { reason: withoutStop(reason) }) };
  } catch (error) {
    return delegated ? { compact: "works" } : { compact: "fails", reason: sentence(error) };
  }
}

function callBase(session: ProbeSession): FileParams {
  const { sessionId, file, runtimeContext } = session;
  const { agentId, cwd } = runtimeContext;
  return {
    sessionId,
    sessionKey: PROBE_KEY,
    sessionFile: file,
    sessionTarget: { agentId, sessionId, sessionKey: PROBE_KEY, storePath: cwd },
    runtimeContext,
  };
}

/** Passes the conversation to the engine as a host does; one that cannot take it may still compact. */
async function handOver(engine: ContextEngine, session: ProbeSession, ms: number): Promise<void> {
  const base = callBase(session);
  const { messages, sessionId, runtimeContext } = session;
  const named: SessionParams = { sessionId, sessionKey: PROBE_KEY, runtimeContext };
  const work = async (): Promise<void> => {
    if (engine.bootstrap) await engine.bootstrap(base);
    else if (engine.afterTurn) await engine.afterTurn({ ...base, messages, prePromptMessageCount: 0 });
    else if (engine.ingestBatch) await engine.ingestBatch({ ...named, messages });
    else for (const message of messages) await engine.ingest({ ...named, message });
  };
  try {
    await withDeadline(work, { ms, label: "Taking the conversation" });
  } catch {
    // A run continues without it as well; the result of compact() decides.
    return;
  }
}

/** The built-in compaction's answer: the newest turn is kept. */
function builtIn({ entries, tokens, runtimeContext }: ProbeSession): CompactResult {
  const last = entries.findLast((entry) => entry.type === "message" && entry.message.role === "user");
  const summary = "The modules were gone through one by one.";
  return {
    ok: true,
    compacted: true,
    result: {
      summary,
      firstKeptEntryId: last?.id ?? "",
      origin: "extractive",
      tokensBefore: tokens,
      tokensAfter: runtimeContext.tokens(summary),
    },
  };
}

async function dispose(engine: ContextEngine | undefined, id: string, ms: number): Promise<void> {
  try {
    await withDeadline(() => engine?.dispose?.(), { ms, label: `Disposing of the engine ${id}` });
  } catch {
    // The engine was created for this check only; its folder is removed in any case.
    return;
  }
}

function sentence(error: unknown): string {
  const [line = ""] = toPagurusError(error).message.trim().split("\n");
  return withoutStop(line === "" ? "it failed without a message" : line);
}

function withoutStop(text: string): string {
  const flat = text.replace(/\s+/g, " ").trim().slice(0, 300);
  return flat.replace(/\.$/, "");
}
