/** Resolves the model of a turn: the caller's, else the configured one, which plugins may replace (`before_model_resolve`). */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { ModelInfo } from "@pagurus/contract/model";
import { runHooks } from "../guard/turn-hooks.ts";
import type { AgentHost } from "../agent/agent-host.ts";

export interface ResolvedModel {
  model: ModelInfo;
  /** Names the model that a plugin chose: no fallback takes over for it. */
  request: RunRequest;
  /** Failures of hooks; a sentence each. */
  failures: string[];
}

interface Place {
  sessionKey: string;
  turnId: string;
  signal: AbortSignal;
}

/** Throws what `host.modelInfo` and the default model throw, and `plugin_failed` for an unknown model of a plugin. */
export async function resolveTurnModel(
  host: AgentHost,
  request: RunRequest,
  place: Place,
): Promise<ResolvedModel> {
  if (request.model !== undefined) return { model: host.modelInfo(request.model), request, failures: [] };
  const model = host.modelInfo(await usableDefault(host));
  if (host.hooks.hooks("before_model_resolve").length === 0) return { model, request, failures: [] };
  const failures: string[] = [];
  const ref = await overrideOf(host, request, { ...place, model, failures });
  if (ref === undefined || ref === model.ref) return { model, request, failures };
  return { model: infoOf(host, ref), request: { ...request, model: ref }, failures };
}

export async function usableDefault(host: AgentHost): Promise<string> {
  const { ref, problem } = await host.defaultModel();
  if (problem) throw problem;
  return ref;
}

/** The first plugin that names a model decides the model, the first that names a provider the provider. */
async function overrideOf(
  host: AgentHost,
  { prompt, parts = [] }: RunRequest,
  { sessionKey, turnId, signal, model, failures }: Place & { model: ModelInfo; failures: string[] },
): Promise<string | undefined> {
  const attachments = parts.flatMap((part) =>
    part.type === "image" ? [{ kind: "image" as const, mimeType: part.mimeType }] : [],
  );
  const payload = attachments.length > 0 ? { prompt, attachments } : { prompt };
  const sessionId = host.store.find(sessionKey)?.sessionId ?? "";
  const context = { sessionKey, sessionId, agentId: host.agentId, turnId };
  const options = { signal, logger: host.logger, onFailure: (reason: string) => failures.push(reason) };
  const { answers } = await runHooks(host.hooks, "before_model_resolve", payload, context, options);
  const first = (field: "modelOverride" | "providerOverride"): string | undefined =>
    answers.map(({ result }) => result[field]).find((each) => typeof each === "string" && each !== "");
  const [provider, id] = [first("providerOverride"), first("modelOverride")];
  if (provider === undefined && id === undefined) return undefined;
  return `${provider ?? model.provider}/${id ?? model.id}`;
}

function infoOf(host: AgentHost, ref: string): ModelInfo {
  try {
    return host.modelInfo(ref);
  } catch (error) {
    throw new PagurusError(
      "plugin_failed",
      `A plugin chose the model ${ref} for this turn (before_model_resolve), which cannot be used: ${toPagurusError(error).message}`,
      { cause: error, details: { model: ref } },
    );
  }
}
