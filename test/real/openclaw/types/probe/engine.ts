/** An engine written from OpenClaw's types: calls each helper in their form and returns each field of a result. */
import type { TheirContext, TheirEngine, TheirFactory } from "../openclaw.ts";
import { note } from "./calls.ts";

const CODES = ["provider_timeout", "rate_limited", "unknown"];

type Assemble = Parameters<TheirEngine["assemble"]>[0];
type Maintain = Parameters<NonNullable<TheirEngine["maintain"]>>[0];

function noteSettings({ runtimeSettings }: Assemble): void {
  if (!runtimeSettings) return note("runtimeSettings", { there: false });
  const { schemaVersion, runtime, model, contextEngineSelection, executionHost, limits, diagnostics } =
    runtimeSettings;
  note("runtimeSettings.runtime", {
    schemaVersion: schemaVersion === 1,
    host: runtime.host === "openclaw",
    mode: ["normal", "fallback", "degraded"].includes(runtime.mode),
    ids: typeof runtime.harnessId === "string" && typeof runtime.runtimeId === "string",
  });
  note("runtimeSettings.model", {
    resolved: model.resolved === "test/model",
    family: model.family === null || typeof model.family === "string",
  });
  note("runtimeSettings.contextEngineSelection", {
    selectedId: contextEngineSelection.selectedId === "probe",
    source: contextEngineSelection.source === "configured",
  });
  note("runtimeSettings.executionHost", { label: typeof executionHost.label === "string" });
  note("runtimeSettings.limits", {
    prompt: Number(limits.promptTokenBudget) > 0,
    output: Number(limits.maxOutputTokens) > 0,
  });
  const { degradedReason, fallbackReason } = diagnostics;
  note("runtimeSettings.diagnostics", {
    degradedReason: degradedReason === null || CODES.includes(degradedReason),
    fallbackReason: fallbackReason === null,
  });
}

async function noteCompletions({ llm }: TheirContext, agentId: string | undefined): Promise<void> {
  if (!llm) return note("llm", { there: false });
  const answer = await llm.complete({
    messages: [
      { role: "system", content: "Be short." },
      { role: "user", content: "Sum it up." },
    ],
    temperature: 0,
    reasoning: "minimal",
    purpose: "probe",
    maxTokens: 64,
    ...(agentId === undefined ? {} : { agentId }),
  });
  const { text, usage, execution, audit, provider, stopReason } = answer;
  note("llm.complete", {
    text: text === "A digest.",
    provider: provider === "test",
    stopReason: stopReason === "stop",
  });
  note("llm.complete.usage", {
    inputTokens: Number(usage.inputTokens) > 0,
    outputTokens: Number(usage.outputTokens) > 0,
    totalTokens: Number(usage.totalTokens) > 0,
  });
  note("llm.complete.audit", {
    caller: audit.caller.kind === "context-engine" && audit.caller.id === "probe",
    purpose: audit.purpose === "probe",
    sessionKey: audit.sessionKey === "main",
    execution: execution.mode === "direct-provider",
  });
  const isolated = llm.complete({
    messages: [{ role: "user", content: "Sum it up." }],
    execution: { mode: "isolated-agent-runtime" },
  });
  const refused = await isolated.then(
    () => "",
    (error: unknown) => String(error),
  );
  note("llm.complete.execution", { refused: refused.includes("isolated-agent-runtime") });
}

function noteCache({ promptCache }: TheirContext): void {
  if (!promptCache) return note("promptCache", { there: false });
  const { lastCallUsage, observation, lastCacheTouchAt } = promptCache;
  const context = lastCallUsage?.contextUsage;
  note("promptCache.lastCallUsage", {
    contextUsage: context?.state === "available" && context.totalTokens === lastCallUsage?.total,
    touched: Number(lastCacheTouchAt) > 0,
  });
  note("promptCache.observation", {
    broke: typeof observation?.broke === "boolean",
    cacheRead: observation?.cacheRead === 700,
  });
}

async function noteRewrites(params: Maintain, entries: readonly string[]): Promise<boolean> {
  const rewrite = params.runtimeContext?.rewriteTranscriptEntries;
  const [entryId] = entries;
  if (!rewrite || entryId === undefined) return false;
  const message = { role: "user" as const, content: "[redacted]", timestamp: 1 };
  const refused = await rewrite({
    replacements: [{ entryId, message }],
    allowedRewriteSuffixEntryIds: [entryId],
  });
  note("rewriteTranscriptEntries, not all allowed", {
    changed: !refused.changed,
    rewritten: refused.rewrittenEntries === 0,
    reason: typeof refused.reason === "string",
  });
  const made = await rewrite({
    replacements: [{ entryId, message }],
    allowedRewriteSuffixEntryIds: [...entries],
  });
  note("rewriteTranscriptEntries", { changed: made.changed, bytes: made.bytesFreed > 0 });
  const nothing = await rewrite({ replacements: [] });
  note("rewriteTranscriptEntries, nothing", { changed: !nothing.changed });
  return made.changed;
}

type Read = (target: NonNullable<Maintain["sessionTarget"]>) => Promise<{ entryId: string }[]>;

/** `read`: the kit's reader of a session. */
export function probeFactory(read: Read): TheirFactory {
  return ({ config, agentDir, workspaceDir }) => {
    note("factory", {
      config: config !== undefined,
      agentDir: typeof agentDir === "string",
      workspaceDir: typeof workspaceDir === "string",
    });
    return probeEngine(read);
  };
}

function probeEngine(read: Read): TheirEngine {
  let assembled = 0;
  let hasRewritten = false;
  return {
    info: {
      id: "probe",
      name: "Probe",
      version: "1.0.0",
      ownsCompaction: true,
      turnMaintenanceMode: "foreground",
    },
    bootstrap: async ({ sessionFile, sessionTarget }) => {
      note("bootstrap", { file: sessionFile !== "", target: sessionTarget?.agentId === "main" });
      return { bootstrapped: true, importedMessages: 2, reason: "imported" };
    },
    ingest: async () => ({ ingested: true }),
    assemble: async (params) => {
      const {
        messages,
        runtimeContext = {},
        availableTools,
        model,
        prompt,
        citationsMode,
        tokenBudget,
      } = params;
      assembled += 1;
      if (assembled === 1) {
        note("assemble", {
          tools: availableTools?.has("read") === true,
          model: model === "model",
          prompt: typeof prompt === "string",
          citationsMode: typeof citationsMode === "string",
          tokenBudget: Number(tokenBudget) > 0,
        });
        note("runtimeContext", {
          cwd: typeof runtimeContext.cwd === "string",
          tokenBudget: Number(runtimeContext.tokenBudget) > 0,
          harness: runtimeContext.agentHarnessId === "embedded",
          deferred: runtimeContext.allowDeferredCompactionExecution === false,
          target: runtimeContext.sessionTarget?.sessionKey === "main",
          noRewrite: runtimeContext.rewriteTranscriptEntries === undefined,
        });
        noteSettings(params);
        await noteCompletions(runtimeContext, runtimeContext.sessionTarget?.agentId);
      }
      if (assembled === 2) noteCache(runtimeContext);
      return {
        messages,
        estimatedTokens: 100,
        promptAuthority: "preassembly_may_overflow",
        systemPromptAddition: "The probe's addition.",
        contextProjection: { mode: "thread_bootstrap", epoch: "one", fingerprint: "f" },
      };
    },
    afterTurn: async ({ messages, prePromptMessageCount, tokenBudget, isHeartbeat, runtimeContext }) => {
      if (prePromptMessageCount > 0) return;
      note("afterTurn", {
        messages: messages.length >= 2,
        tokenBudget: Number(tokenBudget) > 0,
        isHeartbeat: isHeartbeat === false,
        count: Number(runtimeContext?.currentTokenCount) > 0,
      });
    },
    maintain: async (params) => {
      const entries = params.sessionTarget ? await read(params.sessionTarget) : [];
      if (!hasRewritten) {
        note("readVisibleSessionTranscriptMessageEntries", { entries: entries.length >= 2 });
        hasRewritten = await noteRewrites(
          params,
          entries.map(({ entryId }) => entryId),
        );
      }
      return {
        changed: hasRewritten,
        bytesFreed: 0,
        rewrittenEntries: hasRewritten ? 1 : 0,
        reason: "probed",
      };
    },
    compact: async (params) => {
      const { sessionKey, agentId, sessionTarget, force, currentTokenCount, compactionTarget, abortSignal } =
        params;
      note("compact", {
        sessionKey: sessionKey === "main",
        agentId: agentId === "main",
        target: sessionTarget?.sessionId === params.sessionId,
        force: force === true,
        count: Number(currentTokenCount) > 0,
        compactionTarget: compactionTarget === "threshold",
        instructions: params.customInstructions === "keep names",
        signal: abortSignal?.aborted === false,
      });
      return {
        ok: true,
        compacted: true,
        reason: "probed",
        result: {
          summary: "The probe's own note.",
          tokensBefore: 100,
          tokensAfter: 50,
          details: { probe: true },
        },
      };
    },
    dispose: async () => note("dispose", {}),
  };
}
