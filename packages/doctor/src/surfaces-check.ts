/** Checks that each model of the tools for images and sound serves its surface, and has a price. */
import { agentIds, agentSettings } from "@pagurus/core/config/agent-settings";
import { loadConfig } from "@pagurus/core/config/load-config";
import { isPagurusError } from "@pagurus/contract/errors";
import type { DirectSurface } from "@pagurus/contract/model";
import { surfaceModel } from "@pagurus/core/model/surfaces/surface-models";
import type { Finding } from "./finding.ts";

const SURFACES = ["images", "speech", "transcription"] as const;

const UNPRICED = "The cost";

/** No finding for a configuration that cannot be read: that is one of `checkConfigFile`. */
export function checkSurfaces(home: string, env: Readonly<Record<string, string | undefined>>): Finding[] {
  const config = readConfig(home);
  if (!config) return [];
  const found = agentIds(config).flatMap((agentId) => {
    const { surfaces } = agentSettings(config, agentId);
    return SURFACES.flatMap((surface) => {
      const ref = surfaces[surface];
      return (ref === undefined ? undefined : problemOf(ref, surface, { config, env })) ?? [];
    });
  });
  const fix = "Correct agents.defaults.surfaces, or that of the agent.";
  // Agents share the settings of the defaults.
  return [...new Set(found)].map((detail) =>
    detail.startsWith(UNPRICED)
      ? { level: "info", check: "models", detail }
      : { level: "warn", check: "models", detail, fix },
  );
}

type Config = ReturnType<typeof loadConfig>["config"];

function readConfig(home: string): Config | undefined {
  try {
    return loadConfig({ home }).config;
  } catch (error) {
    if (isPagurusError(error)) return undefined;
    throw error;
  }
}

function problemOf(
  ref: string,
  surface: DirectSurface,
  setting: { config: Config; env: Readonly<Record<string, string | undefined>> },
): string | undefined {
  try {
    const { info } = surfaceModel(ref, surface, setting);
    if (info.cost || info.unitCost) return undefined;
    return `${UNPRICED} of ${info.ref}, the model for ${surface}, is not known: set cost or unitCost in its entry of models.providers.${info.provider}.models.`;
  } catch (error) {
    if (isPagurusError(error)) return error.message;
    throw error;
  }
}
