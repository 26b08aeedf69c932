/** The default model of a run. */
import { PagurusError } from "@pagurus/contract/errors";
import type { PagurusConfig } from "../config/config-types.ts";
import type { Env } from "./credentials.ts";
import { discover, type DiscoverOptions } from "./discover.ts";
import { nearest } from "../platform/nearest.ts";
import { OFFLINE_REF } from "./offline.ts";

export interface DefaultModel {
  ref: string;
  /** Shown to people. */
  source: string;
  /** Why a run without a model is refused. */
  problem?: PagurusError;
}

/**
 * `agents.defaults.model`, else the first discovered one. Without any configuration it is the built-in offline model; with a
 * configuration that yields no model, `problem` has the reason, with which a run is refused.
 */
export async function defaultModel(
  config: PagurusConfig,
  env: Env,
  options: DiscoverOptions = {},
): Promise<DefaultModel> {
  const configured = config.agents?.defaults?.model;
  const ref = typeof configured === "string" ? configured : configured?.primary;
  if (ref) return { ref, source: "agents.defaults.model" };
  // Keys come first and cost nothing to find; servers are probed only without one.
  const withoutProbe = await discover(config, env, { ...options, probe: false });
  const found =
    withoutProbe.find((entry) => entry.ref) ?? (await discover(config, env, options)).find((e) => e.ref);
  if (found?.ref) return { ref: found.ref, source: `found ${found.source}` };
  const keyOnly = withoutProbe.find(({ kind }) => kind === "key")?.source;
  const why =
    misspelledKey(config) ??
    unusedProviders(config) ??
    (keyOnly && `${keyOnly} is set, and its provider has no default model`);
  return {
    ref: OFFLINE_REF,
    source: "no model was found",
    ...(why === undefined ? {} : { problem: noModel(why) }),
  };
}

function noModel(why: string): PagurusError {
  return new PagurusError(
    "model_unknown",
    `No model can be chosen: ${why}; set agents.defaults.model to a provider/model, or name one with --model.`,
  );
}

/** A mistyped key that was meant to name a model or its source; it is unknown and so not used. */
function misspelledKey(config: PagurusConfig): string | undefined {
  const agents: object = config.agents ?? {};
  const places: [string, unknown, string[]][] = [
    ["", config, ["models", "agents"]],
    ["models.", config.models, ["providers"]],
    ["agents.", agents, ["defaults", "list"]],
    ["agents.defaults.", config.agents?.defaults, ["model", "models"]],
    ...(config.agents?.list ?? []).map((agent, index): [string, unknown, string[]] => [
      `agents.list[${index}].`,
      agent,
      ["model", "models"],
    ]),
  ];
  for (const [where, value, known] of places) {
    for (const key of Object.keys((value ?? {}) as object)) {
      const [meant] = known.includes(key) ? [] : nearest(key, known);
      if (meant !== undefined) return `${where}${key} is not a known key (did you mean ${where}${meant}?)`;
    }
  }
  return undefined;
}

function unusedProviders(config: PagurusConfig): string | undefined {
  const providers = config.models?.providers;
  if (providers === undefined) return undefined;
  const names = Object.keys(providers).map((name) => `models.providers.${name}`);
  return names.length === 0
    ? "none of models.providers can be used"
    : `${names.join(", ")} ${names.length === 1 ? "lists" : "list"} no models`;
}
