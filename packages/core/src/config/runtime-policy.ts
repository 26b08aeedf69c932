/**
 * Places where a configuration may name a runtime for a model, in order of precedence. Source: agent runtimes, "Runtime
 * selection".
 */
import type { ModelInfo } from "@pagurus/contract/model";
import type { RuntimeRule, SelectionStep } from "@pagurus/contract/harness/runtimes";
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

const AUTO = "auto";

/** Whether a policy leaves the choice to the claims; case-insensitive, like runtime names. */
export function isAuto(id: string | undefined): boolean {
  return id === undefined || id.trim().toLowerCase() === AUTO;
}

/** The settings of the configuration and the run for the runtime of a model. */
interface DecidedPolicy {
  /** The place that decides; undefined if none names a runtime or a fallback. */
  place: PolicyPlace | undefined;
  /** The runtime that the place names; undefined if it leaves the choice to the claims. */
  runtime: string | undefined;
  /** The result of each place, in order of precedence. */
  steps: SelectionStep[];
}

/** Reads every place for a model; the first one with a policy decides. */
export function decidePolicy(question: PolicyQuestion): DecidedPolicy {
  const places = policyPlaces(question);
  const deciding = places.findIndex(({ policy }) => policy !== undefined);
  const place = places[deciding];
  const id = place?.policy?.id;
  return {
    place,
    runtime: isAuto(id) ? undefined : id,
    steps: places.map((each, index) => policyStep(each, index, deciding)),
  };
}

function policyStep({ rule, source, policy }: PolicyPlace, index: number, deciding: number): SelectionStep {
  if (index !== deciding) {
    const later = deciding >= 0 && index > deciding && policy !== undefined;
    return { rule, source, outcome: later ? "unasked" : "absent", ...detailOf(policy) };
  }
  return { rule, source, outcome: isAuto(policy?.id) ? "auto" : "chosen", ...detailOf(policy) };
}

function detailOf(policy: RuntimePolicy | undefined): { detail?: string } {
  if (!policy) return {};
  const id = policy.id === undefined || isAuto(policy.id) ? AUTO : policy.id;
  return { detail: policy.fallback === undefined ? id : `${id}, fallback ${policy.fallback}` };
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
function policyPlaces({ config, agentId, model, requested }: PolicyQuestion): PolicyPlace[] {
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
