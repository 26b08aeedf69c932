/** The runtime that a configuration names for a ref, read from an unchecked value. */
import { listOf, recordOf } from "@pagurus/core/data/record-fields";
import { DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { decidePolicy, isAuto } from "@pagurus/core/config/runtime-policy";
import type {
  AgentModelConfig,
  PagurusConfig,
  ProviderConfig,
  RuntimePolicy,
} from "@pagurus/core/config/config-types";
import { readLegacyRef } from "@pagurus/core/config/legacy/refs";

export type Providers = Pick<PagurusConfig, "models">;

/** `agents.defaults` and each of `agents.list`. */
export function scopesOf(config: unknown): KeyPath[] {
  const list = listOf(valueAt(config, ["agents", "list"]));
  return [["agents", "defaults"], ...list.map((_, index): KeyPath => ["agents", "list", index])];
}

/** The agents that a scope applies to: the one of an entry, or all without a model of their own. */
export function agentsOf(config: unknown, scope: KeyPath): string[] {
  const list = listOf(valueAt(config, ["agents", "list"])).map(recordOf);
  const idOf = ({ id }: Record<string, unknown>): string => (typeof id === "string" ? id : "");
  if (scope[1] === "list") return [idOf(recordOf(valueAt(config, scope)))];
  const others = list.filter(({ model }) => model === undefined).map(idOf);
  const hasMain = list.some((entry) => idOf(entry).toLowerCase() === DEFAULT_AGENT_ID);
  return hasMain ? others : [DEFAULT_AGENT_ID, ...others];
}

/** The deciding policy: a runtime's id, or `auto`, with a fallback only if that is `none`. */
export function decidedPolicy(
  config: unknown,
  agentId: string,
  written: string,
): RuntimePolicy & { id: string } {
  const safe = readable(config);
  const legacy = readLegacyRef(written, safe);
  const ref = legacy?.ref ?? written;
  const slash = ref.indexOf("/");
  const model = {
    ref,
    provider: ref.slice(0, Math.max(0, slash)),
    id: ref.slice(slash + 1),
    ...(legacy ? { writtenAs: written } : {}),
  };
  const { place } = decidePolicy({ config: safe, agentId, model });
  const { id = "auto", fallback } = place?.policy ?? {};
  return isAuto(id) && fallback === "none" ? { id, fallback } : { id };
}

const APIS: ReadonlySet<unknown> = new Set([
  "openai-responses",
  "openai-completions",
  "anthropic-messages",
  "google-generative-ai",
] satisfies ProviderConfig["api"][]);

/** The `api` of a provider, if it is a supported one. */
function decidedApi(provider: unknown): Pick<ProviderConfig, "api"> {
  const { api } = recordOf(provider);
  // The set contains only these.
  return APIS.has(api) ? { api: api as NonNullable<ProviderConfig["api"]> } : {};
}

/** The providers without those of unsupported protocols, which are not used. */
export function usableProviders(config: unknown): Providers {
  const all = Object.entries(recordOf(valueAt(config, ["models", "providers"])));
  return {
    models: { providers: Object.fromEntries(all.map(([id, provider]) => [id, decidedApi(provider)])) },
  };
}

/** The parts that the selection's rules read; values of a wrong type count as absent. */
function readable(config: unknown): PagurusConfig {
  const providers = Object.entries(recordOf(valueAt(config, ["models", "providers"])));
  // A provider of an unsupported protocol is ignored; one without a protocol is its known namesake, if there is one.
  const read = providers.filter(([, provider]) => {
    const { api } = recordOf(provider);
    return api === undefined || APIS.has(api);
  });
  const list = listOf(valueAt(config, ["agents", "list"])).map(recordOf);
  return {
    agents: {
      defaults: { models: readModels(valueAt(config, ["agents", "defaults", "models"])) },
      list: list.map((entry) => ({
        id: typeof entry["id"] === "string" ? entry["id"] : "",
        models: readModels(entry["models"]),
      })),
    },
    models: { providers: Object.fromEntries(read.map(([id, provider]) => [id, readProvider(provider)])) },
  };
}

function readProvider(value: unknown): ProviderConfig {
  const provider = recordOf(value);
  return {
    ...decidedApi(provider),
    agentRuntime: readPolicy(provider["agentRuntime"]),
    models: listOf(provider["models"])
      .map(recordOf)
      .map(({ id, agentRuntime }) => ({
        id: typeof id === "string" ? id : "",
        agentRuntime: readPolicy(agentRuntime),
      })),
  };
}

function readModels(value: unknown): Record<string, AgentModelConfig> {
  return Object.fromEntries(
    Object.entries(recordOf(value)).map(([key, entry]) => [
      key,
      { agentRuntime: readPolicy(recordOf(entry)["agentRuntime"]) },
    ]),
  );
}

function readPolicy(value: unknown): RuntimePolicy {
  const { id, fallback } = recordOf(value);
  return {
    ...(typeof id === "string" && id !== "" ? { id } : {}),
    ...(fallback === "none" || fallback === "embedded" ? { fallback } : {}),
  };
}
