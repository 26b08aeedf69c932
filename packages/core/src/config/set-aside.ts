/** Providers of a configuration that are not used because of a value that Pagurus does not know, each with the sentence that says so. */
import type { PagurusConfig } from "./config-types.ts";
import { formatKeyPath, type KeyPath } from "./key-path.ts";

const asides = new WeakMap<PagurusConfig, ReadonlyMap<string, string>>();

/** Remembers the providers among the ignored paths, for the error of a model that has one of them. */
export function noteSetAside(
  config: PagurusConfig,
  { ignored, warnings }: { ignored: readonly KeyPath[]; warnings: readonly string[] },
): void {
  const providers = ignored.flatMap((path): [string, string][] => {
    const [first, second, id] = path;
    if (first !== "models" || second !== "providers" || path.length !== 3) return [];
    const why = warnings.find((warning) => warning.startsWith(`${formatKeyPath(path)}.`));
    return why === undefined ? [] : [[String(id), why]];
  });
  if (providers.length > 0) asides.set(config, new Map(providers));
}

/** Why a provider of the configuration is not used; undefined for one that is used or absent. */
export function whySetAside(config: PagurusConfig, provider: string): string | undefined {
  return asides.get(config)?.get(provider);
}
