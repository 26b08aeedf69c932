/** Finds the models that serve a direct surface: OpenAI's own by their names, others by `surfaces` of their configuration. */
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { DirectSurface, ModelApi, ModelInfo } from "@pagurus/contract/model";
import type { PagurusConfig } from "../../config/config-types.ts";
import type { Env } from "../credentials.ts";
import { KNOWN_PROVIDERS } from "../model-catalog.ts";
import type { ResolvedModel } from "../provider-types.ts";
import { describeModel, resolveModel } from "../resolve.ts";
import { knownSurfaceIds } from "./known-surfaces.ts";

/** Protocols whose servers may have OpenAI's paths of the surfaces. */
const APIS: ReadonlySet<ModelApi> = new Set(["openai-responses", "openai-completions"]);

/** Refs of the models that serve a direct surface, of providers whose key is known; sorted. */
export function surfaceRefs(config: PagurusConfig, env: Env): string[] {
  const configured = config.models?.providers ?? {};
  const providers = new Set([...Object.keys(configured), ...Object.keys(KNOWN_PROVIDERS)]);
  const refs = [...providers].flatMap((provider) => {
    const ids = [...(configured[provider]?.models ?? []).map(({ id }) => id), ...knownSurfaceIds(provider)];
    return [...new Set(ids)].map((id) => `${provider}/${id}`);
  });
  return refs.filter((ref) => isServed(ref, config, env)).toSorted();
}

function isServed(ref: string, config: PagurusConfig, env: Env): boolean {
  try {
    const { surfaces = [], api } = describeModel(ref, config);
    if (surfaces.length === 0 || !APIS.has(api)) return false;
    resolveModel(ref, config, env);
    return true;
  } catch {
    // A provider without a key or an address serves nothing.
    return false;
  }
}

/**
 * The model for a surface, by ref or alias. Throws `model_unknown` for a model that does not serve it, `credential_missing`,
 * `config_invalid`.
 */
export function surfaceModel(
  ref: string,
  surface: DirectSurface,
  { config, env }: { config: PagurusConfig; env: Env },
): ResolvedModel {
  const info = describeModel(ref, config);
  const problem = surfaceProblem(info, surface);
  if (problem !== undefined) throw new PagurusError("model_unknown", problem, { details: { ref, surface } });
  try {
    return resolveModel(ref, config, env);
  } catch (error) {
    if (!isPagurusError(error) || error.code !== "credential_missing") throw error;
    const message = `${error.message.replace(/\.$/, "")}; a login by subscription does not serve ${surface}.`;
    throw new PagurusError("credential_missing", message, { cause: error, details: error.details });
  }
}

function surfaceProblem({ ref, provider, id, api, surfaces }: ModelInfo, surface: DirectSurface) {
  if (!APIS.has(api))
    return `The provider "${provider}" has no ${surface} here, as its API is ${api}; name a model of a provider with OpenAI's API.`;
  if (surfaces?.includes(surface)) return undefined;
  if (surfaces)
    return `The model "${ref}" serves ${surfaces.join(" and ")}, not ${surface}; name another one.`;
  return `The model "${ref}" is not known to serve ${surface}; if it does, add surfaces: ["${surface}"] to the entry "${id}" of models.providers.${provider}.models.`;
}
