/** Aliases of models (`agents.defaults.models.<ref>.alias`), which may be used wherever a model is named. */
import type { AgentModelConfig } from "./config-types.ts";

/** Settings by model ref, as `agents.defaults.models` and `agents.list[].models` have them. */
type ModelSettings = Readonly<Record<string, AgentModelConfig>>;

/** Model ref that `name` is an alias of, ignoring case; undefined if it is none. Of two equal aliases the first one counts. */
export function aliasedRef(name: string, models: ModelSettings | undefined): string | undefined {
  if (models === undefined) return undefined;
  const wanted = name.trim().toLowerCase();
  return Object.keys(models).find((ref) => models[ref]?.alias?.trim().toLowerCase() === wanted);
}

/** All aliases, for proposals after a mistyped name. */
export function aliasesOf(models: ModelSettings | undefined): string[] {
  return Object.values(models ?? {}).flatMap(({ alias }) => (alias === undefined ? [] : [alias]));
}

/** Aliases that more than one model has, ignoring case, each with its models; the first model has it. */
export function repeatedAliases(models: ModelSettings | undefined): { alias: string; refs: string[] }[] {
  const named = Object.entries(models ?? {}).flatMap(([ref, { alias }]) =>
    alias === undefined ? [] : [{ ref, alias: alias.trim().toLowerCase() }],
  );
  return [...Map.groupBy(named, ({ alias }) => alias)]
    .filter(([, group]) => group.length > 1)
    .map(([alias, group]) => ({ alias, refs: group.map(({ ref }) => ref) }));
}
