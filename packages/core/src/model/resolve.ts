import { whySetAside } from "../config/set-aside.ts";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { ModelInfo } from "@pagurus/contract/model";
import { readLegacyRef } from "../config/legacy/refs.ts";
import { aliasedRef, aliasesOf } from "../config/model-aliases.ts";
import type { ModelEntryConfig, PagurusConfig, ProviderConfig } from "../config/config-types.ts";
import {
  catalogEntry,
  catalogIds,
  KNOWN_PROVIDERS,
  UNKNOWN_MODEL,
  type KnownProvider,
  type ModelDefaults,
} from "./model-catalog.ts";
import { resolveHeaders, resolveKey, type Env } from "./credentials.ts";
import { diagnosesAt } from "./quirks/cache-diagnosis.ts";
import { baseUrlOf } from "./model-endpoint.ts";
import { learnedWindow } from "./learned-windows.ts";
import { nearest } from "../platform/nearest.ts";
import { OFFLINE_MODEL, OFFLINE_REF } from "./offline.ts";
import { knownSurfaces } from "./surfaces/known-surfaces.ts";
import { quirksOf } from "./quirks/quirk-table.ts";
import { Secret } from "./secret.ts";
import type { ResolvedModel } from "./provider-types.ts";
import { defined } from "../data/defined.ts";

/**
 * Resolves a model ref (`provider/model`; the model's id may contain slashes) or alias with endpoint, key and metadata. No network
 * access. Throws `model_unknown`, `credential_missing`, `config_invalid`.
 */
export function resolveModel(ref: string, config: PagurusConfig, env: Env): ResolvedModel {
  const info = describeModel(ref, config);
  if (info.ref === OFFLINE_REF) return { info, baseUrl: "", headers: new Secret({}) };
  const { provider } = info;
  const { configured, known } = providerOf(provider, config);
  const key = resolveKey(provider, known, configured, env);
  const baseUrl = baseUrlOf(info, known, configured, env);
  return {
    info,
    baseUrl,
    diagnosesCache: configured?.cacheDiagnostics ?? diagnosesAt(baseUrl),
    headers: resolveHeaders(configured?.headers, `models.providers.${provider}.headers`, env),
    knownIds: knownIds(provider, configured),
    ...(key ? { apiKey: key.secret, keySource: key.source } : {}),
  };
}

/** Metadata of a model, by ref or alias (of `models`), whether or not it can be reached. Throws `model_unknown`, `config_invalid`. */
export function describeModel(
  ref: string,
  config: PagurusConfig,
  models = config.agents?.defaults?.models,
): ModelInfo {
  if (ref === OFFLINE_REF) return OFFLINE_MODEL;
  const aliased = ref.includes("/") ? undefined : aliasedRef(ref, models);
  if (aliased !== undefined) return describeModel(aliased, config);
  const legacy = readLegacyRef(ref, config);
  if (legacy) return { ...describeModel(legacy.ref, config), writtenAs: ref };
  const slash = ref.indexOf("/");
  const providerId = slash < 0 ? "" : ref.slice(0, slash);
  const id = ref.slice(slash + 1);
  const { configured, known } = providerOf(providerId, config);
  if (id === "" || (!configured && !known)) throw unknownModel(ref, config);
  return modelInfo(providerId, id, known, configured);
}

function providerOf(
  id: string,
  config: PagurusConfig,
): { configured: ProviderConfig | undefined; known: KnownProvider | undefined } {
  return {
    configured: config.models?.providers?.[id],
    known: Object.hasOwn(KNOWN_PROVIDERS, id) ? KNOWN_PROVIDERS[id] : undefined,
  };
}

/** Endpoint and credentials of a model, for a runtime that calls it itself. */
export interface ServedAt {
  baseUrl: string;
  headers: Record<string, string>;
  /** The key that is also in `headers`, for a program that sends it in its own way. */
  apiKey?: string;
}

/**
 * Undefined where a runtime's own login is to be used: the host has no key, and the model is at its provider's own address.
 * Throws as `resolveModel`.
 */
export function servedAt(info: ModelInfo, config: PagurusConfig, env: Env): ServedAt | undefined {
  try {
    const { baseUrl, headers, apiKey } = resolveModel(info.ref, config, env);
    const key = apiKey?.reveal();
    return {
      baseUrl,
      headers: { ...headers.reveal(), ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      ...defined({ apiKey: key }),
    };
  } catch (error) {
    const { configured, known } = providerOf(info.provider, config);
    const missing = isPagurusError(error) && error.code === "credential_missing";
    const elsewhere = configured?.apiKey !== undefined || configured?.headers !== undefined;
    if (!missing || elsewhere || !known) throw error;
    if (baseUrlOf(info, known, configured, env) === baseUrlOf(info, known, undefined, {})) return undefined;
    throw error;
  }
}

/**
 * True where the size of a model's window is unknown: it is in no catalog and no configuration sets its `contextWindow`, so
 * that it runs with conservative defaults of its provider. A mistyped id is such a model too.
 */
export function factsAssumed(ref: string, config: PagurusConfig): boolean {
  if (ref === OFFLINE_REF) return false;
  const slash = ref.indexOf("/");
  const provider = slash < 0 ? "" : ref.slice(0, slash);
  const id = ref.slice(slash + 1);
  const entry = config.models?.providers?.[provider]?.models?.find((model) => model.id === id);
  return entry?.contextWindow === undefined && catalogEntry(provider, id) === undefined;
}

function knownIds(provider: string, configured: ProviderConfig | undefined): string[] {
  return [...new Set([...(configured?.models ?? []).map(({ id }) => id), ...catalogIds(provider)])];
}

/** All known refs: the catalog's, the configuration's and the offline model. */
export function knownRefs(config: PagurusConfig): string[] {
  const refs: string[] = [];
  for (const provider of Object.keys(KNOWN_PROVIDERS)) {
    for (const id of catalogIds(provider)) refs.push(`${provider}/${id}`);
  }
  for (const [provider, entry] of Object.entries(config.models?.providers ?? {})) {
    for (const model of entry.models ?? []) refs.push(`${provider}/${model.id}`);
  }
  refs.push(OFFLINE_REF, ...aliasesOf(config.agents?.defaults?.models));
  return [...new Set(refs)];
}

function unknownModel(ref: string, config: PagurusConfig): PagurusError {
  const why = whySetAside(config, ref.slice(0, Math.max(0, ref.indexOf("/"))));
  if (why !== undefined)
    return new PagurusError(
      "model_unknown",
      `The model "${ref}" cannot be used: ${why.replace(/\.$/, "")}; correct it there.`,
      { details: { ref } },
    );
  const providers = [
    ...new Set([...Object.keys(KNOWN_PROVIDERS), ...Object.keys(config.models?.providers ?? {})]),
  ];
  const near = nearest(ref, knownRefs(config));
  const hint = near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : "";
  return new PagurusError(
    "model_unknown",
    `The model ref "${ref}" names no known provider and model; a ref is provider/model, with one of the providers ` +
      `${providers.join(", ")}, or one that models.providers configures.${hint}`,
    { details: { ref, near } },
  );
}

function modelInfo(
  provider: string,
  id: string,
  known: KnownProvider | undefined,
  configured: ProviderConfig | undefined,
): ModelInfo {
  const api = configured?.api ?? known?.api;
  if (!api) {
    throw new PagurusError(
      "config_invalid",
      `The provider "${provider}" has no api; set models.providers.${provider}.api to openai-responses, ` +
        `openai-completions, anthropic-messages or google-generative-ai.`,
    );
  }
  const entry = configured?.models?.find((model) => model.id === id);
  const info: ModelInfo = {
    ...UNKNOWN_MODEL,
    ...(quirksOf({ api, provider, id }).cacheMarks ? { promptCache: "marks" } : {}),
    ...known?.defaults,
    ...catalogEntry(provider, id),
    ...knownSurfaces(provider, id),
    ...overrides(entry),
    ref: `${provider}/${id}`,
    provider,
    id,
    api,
  };
  const baseUrl = configured?.baseUrl ?? known?.baseUrl;
  const learned = baseUrl === undefined ? undefined : learnedWindow({ baseUrl, info });
  return learned === undefined ? info : { ...info, contextWindow: Math.min(learned, info.contextWindow) };
}

function overrides(entry: ModelEntryConfig | undefined): Partial<ModelDefaults> {
  if (!entry) return {};
  const { id: _id, name: _name, agentRuntime: _runtime, ...facts } = entry;
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}
