/** The host's configuration for a program of the user's own: in memory, over what the user has. */
import type { LoadedConfig } from "../../../config/load.ts";
import type { ModelEntryConfig, PagurusConfig, ProviderConfig } from "../../../config/types.ts";
import type { WireApi } from "../../../contract/wire.ts";
import type { WrapProvider } from "../../../contract/wrap.ts";
import { catalogIds } from "../../../model/catalog.ts";

export interface WrapSettings {
  api: WireApi;
  provider: WrapProvider;
  /** Ids of models that the program is set to use. */
  models: readonly string[];
  /** Tokens. */
  contextWindow?: number | undefined;
  /** Instead of the configuration's. */
  engine?: string | undefined;
}

/** The engine where none is named: `legacy` would leave all as it is. */
const ENGINE = "lossless";
/** A program waits for its user for as long as it likes. */
const LONGEST_TURN_SECONDS = 2_000_000;

export function wrapConfig(loaded: LoadedConfig, settings: WrapSettings): PagurusConfig {
  const config = structuredClone(loaded.config);
  const named = loaded.slotSource === "config" ? loaded.contextEngine : ENGINE;
  const { provider } = settings;
  const known = config.models?.providers?.[provider.id];
  // Its tools are its own, and servers that nobody asks need not run.
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
      slots: { ...config.plugins?.slots, contextEngine: settings.engine ?? named },
    },
  };
}

function withoutDeadlines(agents: PagurusConfig["agents"]): NonNullable<PagurusConfig["agents"]> {
  const list = agents?.list?.map((each) => ({ ...each, timeoutSeconds: LONGEST_TURN_SECONDS }));
  return {
    ...agents,
    defaults: { ...agents?.defaults, timeoutSeconds: LONGEST_TURN_SECONDS },
    ...(list ? { list } : {}),
  };
}

/** Summaries are asked for where the program asks, with its key where that is in the environment. */
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
  // A key of the configuration's goes to the address that it was given for, and to no other.
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
