/**
 * Places where a configuration may name a runtime for a model, in order of precedence. Source: agent runtimes, "Runtime
 * selection".
 */
import type { ModelInfo } from "@pagurus/contract/model";
import type { RuntimeRule } from "@pagurus/contract/harness/runtimes";
import { readLegacyRef } from "./legacy/refs.ts";
import type { AgentModelConfig, PagurusConfig, RuntimePolicy } from "./config-types.ts";

/** A place that a rule reads, with its value. */
export interface PolicyPlace {
  rule: RuntimeRule;
  source: string;
  policy: RuntimePolicy | undefined;
}

export interface PolicyQuestion {
  config: PagurusConfig;
  agentId: string;
  model: Pick<ModelInfo, "ref" | "writtenAs" | "provider" | "id">;
  /** The run's own policy, for this run only. */
  requested?: string | undefined;
}

/** Whether a policy leaves the choice to the claims; case-insensitive, like runtime names. */
export function isAuto(id: string | undefined): boolean {
  return id === undefined || id.trim().toLowerCase() === "auto";
}

/** The policy; undefined if it names neither a runtime nor a fallback. */
function stated(policy: RuntimePolicy | undefined): RuntimePolicy | undefined {
  return policy?.id === undefined && policy?.fallback === undefined ? undefined : policy;
}

function inModels(
  rule: RuntimeRule,
  scope: string,
  models: Record<string, AgentModelConfig> | undefined,
  key: string,
): PolicyPlace {
  const policy = models && Object.hasOwn(models, key) ? models[key]?.agentRuntime : undefined;
  return { rule, source: `${scope}[${JSON.stringify(key)}].agentRuntime`, policy: stated(policy) };
}

/** Every place for a model in order of precedence: the first policy wins. */
export function policyPlaces({ config, agentId, model, requested }: PolicyQuestion): PolicyPlace[] {
  const { defaults, list = [] } = config.agents ?? {};
  const index = list.findIndex(({ id }) => id.toLowerCase() === agentId.toLowerCase());
  const own = { scope: `agents.list[${index}].models`, models: list[index]?.models };
  const shared = { scope: "agents.defaults.models", models: defaults?.models };
  const { ref, writtenAs, provider } = model;
  const wildcard = `${provider}/*`;
  const places: PolicyPlace[] = [
    {
      rule: "run",
      source: "the run itself",
      policy: requested === undefined ? undefined : { id: requested },
    },
  ];
  const look = (rule: RuntimeRule, at: typeof own | typeof shared, key: string): void => {
    if (at === shared || index >= 0) places.push(inModels(rule, at.scope, at.models, key));
  };
  if (writtenAs !== undefined) {
    look("agent-model", own, writtenAs);
    look("default-model", shared, writtenAs);
    const runtime = readLegacyRef(writtenAs, config)?.runtime;
    places.push({
      rule: "ref",
      source: `the ref ${writtenAs}`,
      policy: runtime === undefined ? undefined : { id: runtime },
    });
  }
  look("agent-model", own, ref);
  look("agent-wildcard", own, wildcard);
  look("default-model", shared, ref);
  places.push(providerModel(config, model));
  look("default-wildcard", shared, wildcard);
  const atProvider = config.models?.providers?.[provider]?.agentRuntime;
  places.push({
    rule: "provider",
    source: `models.providers.${provider}.agentRuntime`,
    policy: stated(atProvider),
  });
  return places;
}

function providerModel(config: PagurusConfig, { provider, id }: PolicyQuestion["model"]): PolicyPlace {
  const models = config.models?.providers?.[provider]?.models ?? [];
  const index = models.findIndex((entry) => entry.id === id);
  const at = index < 0 ? JSON.stringify(id) : String(index);
  return {
    rule: "provider-model",
    source: `models.providers.${provider}.models[${at}].agentRuntime`,
    policy: stated(models[index]?.agentRuntime),
  };
}
