/** Which runtime executes a model, and the rule that chose it. Source: agent runtimes, selection order. */
import { PagurusError } from "../contract/errors.ts";
import type { AgentHarness } from "../contract/harness.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { PagurusConfig, RuntimePolicy } from "../config/types.ts";

export interface RuntimeChoice {
  harness: AgentHarness;
  /** For `status`: which rule chose, in words. */
  rule: string;
}

const COMPATIBILITY_RUNTIME = "embedded";

interface Policy {
  policy: RuntimePolicy;
  rule: string;
}

function configuredPolicy(config: PagurusConfig, agentId: string, model: ModelInfo): Policy | undefined {
  const agent = config.agents?.list?.find((entry) => entry.id === agentId);
  const scopes = [
    { models: agent?.models, name: `agents.list[${agentId}].models` },
    { models: config.agents?.defaults?.models, name: "agents.defaults.models" },
  ];
  for (const key of [model.ref, `${model.provider}/*`]) {
    for (const { models, name } of scopes) {
      const policy = models?.[key]?.agentRuntime;
      if (policy?.id) return { policy, rule: `${name}["${key}"].agentRuntime.id` };
    }
  }
  const policy = config.models?.providers?.[model.provider]?.agentRuntime;
  return policy?.id ? { policy, rule: `models.providers.${model.provider}.agentRuntime.id` } : undefined;
}

/** Throws `runtime_unknown`, `runtime_unsupported`: a runtime that was named fails closed. */
export function selectRuntime(options: {
  harnesses: readonly AgentHarness[];
  model: ModelInfo;
  config: PagurusConfig;
  agentId: string;
  requested?: string | undefined;
}): RuntimeChoice {
  const { harnesses, model, config, agentId, requested } = options;
  const configured = configuredPolicy(config, agentId, model);
  const id = requested ?? configured?.policy.id;
  if (id !== undefined && id !== "auto") {
    const rule = requested === undefined ? (configured?.rule ?? "") : "asked for by the run";
    return { harness: named(harnesses, id, model), rule };
  }
  return { harness: named(harnesses, COMPATIBILITY_RUNTIME, model), rule: "default runtime" };
}

function named(harnesses: readonly AgentHarness[], id: string, model: ModelInfo): AgentHarness {
  const harness = harnesses.find((candidate) => candidate.id === id || candidate.aliases?.includes(id));
  if (!harness) {
    const known = harnesses.map((candidate) => candidate.id).join(", ");
    throw new PagurusError("runtime_unknown", `No agent runtime is called "${id}"; choose one of: ${known}.`);
  }
  const support = harness.supports(model);
  if (!support.supported) {
    throw new PagurusError(
      "runtime_unsupported",
      `The runtime "${harness.id}" cannot run ${model.ref}: ${support.reason} Choose another runtime or model.`,
    );
  }
  return harness;
}
