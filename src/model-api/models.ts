/** The models that a client may name: those of configured providers with a key. */
import type { PagurusConfig } from "../config/config-types.ts";
import { catalogIds, KNOWN_PROVIDERS } from "../model/model-catalog.ts";
import { resolveModel } from "../model/resolve.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Refs of the models that can be called, sorted. */
export function usableModels(config: PagurusConfig, env: Env): string[] {
  const configured = config.models?.providers ?? {};
  const refs = new Set<string>();
  for (const provider of new Set([...Object.keys(configured), ...Object.keys(KNOWN_PROVIDERS)])) {
    const ids = [...(configured[provider]?.models ?? []).map(({ id }) => id), ...catalogIds(provider)];
    for (const id of ids) refs.add(`${provider}/${id}`);
  }
  return [...refs].filter((ref) => isUsable(ref, config, env)).sort();
}

function isUsable(ref: string, config: PagurusConfig, env: Env): boolean {
  try {
    resolveModel(ref, config, env);
    return true;
  } catch {
    return false;
  }
}
