/** The host's configuration for the user's own program: in memory, on top of the user's configuration. */
import type { LoadedConfig } from "@pagurus/core/config/load-config";
import type { ModelEntryConfig, PagurusConfig, ProviderConfig } from "@pagurus/core/config/config-types";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { WrapProvider } from "@pagurus/contract/harness/wrap";
import { catalogIds } from "@pagurus/core/model/model-catalog";
import { defined } from "@pagurus/core/data/defined";

export interface WrapSettings {
  api: WireApi;
  provider: WrapProvider;
  /** Ids of the models that the program is configured to use. */
  models: readonly string[];
  /** Tokens. */
  contextWindow?: number | undefined;
  /** Overrides the configured engine. */
  engine?: string | undefined;
}

/** A program waits for its user without a limit. */
const LONGEST_TURN_SECONDS = 2_000_000;

export function wrapConfig(loaded: LoadedConfig, settings: WrapSettings): PagurusConfig {
  const config = structuredClone(loaded.config);
  const { provider } = settings;
  const known = config.models?.providers?.[provider.id];
  // The program has its own tools, and these servers would run unused.
  Reflect.deleteProperty(config, "mcp");
  return {
    ...config,
    agents: withoutDeadlines(config.agents),
    models: {
      ...config.models,
      providers: { ...config.models?.providers, [provider.id]: providerConfig(settings, known) },
    },
    plugins: {
      ...config.plugins,
      slots: { ...config.plugins?.slots, contextEngine: settings.engine ?? loaded.contextEngine },
    },
  };
}

function withoutDeadlines(agents: PagurusConfig["agents"]): NonNullable<PagurusConfig["agents"]> {
  const list = agents?.list?.map((each) => ({ ...each, timeoutSeconds: LONGEST_TURN_SECONDS }));
  return {
    ...agents,
    defaults: { ...agents?.defaults, timeoutSeconds: LONGEST_TURN_SECONDS },
    ...defined({ list }),
  };
}

/** Summaries are requested from the program's endpoint, with its key if that is in the environment. */
function providerConfig(settings: WrapSettings, known: ProviderConfig | undefined): ProviderConfig {
  const { api, provider } = settings;
  const { keyEnv, baseUrl, headers = {} } = provider;
  const models = modelEntries(settings, known?.models ?? []);
  const here: ProviderConfig = {
    api,
    baseUrl,
    ...(keyEnv === undefined ? {} : { apiKey: `\${${keyEnv}}` }),
    ...(Object.keys(headers).length > 0 ? { headers: { ...headers } } : {}),
    models,
  };
  // A configured key is only sent to the address that it is configured for.
  const usesOwn = keyEnv === undefined && known !== undefined && (known.api ?? api) === api;
  return usesOwn ? { ...known, models } : here;
}

function modelEntries(
  { provider, models, contextWindow }: WrapSettings,
  known: readonly ModelEntryConfig[],
): ModelEntryConfig[] {
  if (contextWindow === undefined) return [...known];
  const ids = new Set([...known.map(({ id }) => id), ...models, ...catalogIds(provider.id)]);
  return [...ids].map((id) => ({ id, ...known.find((each) => each.id === id), contextWindow }));
}
