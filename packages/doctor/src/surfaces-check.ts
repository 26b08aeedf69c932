/** Checks that each model of the tools for images and sound serves its surface. */
import { agentIds, agentSettings } from "@pagurus/core/config/agent-settings";
import { loadConfig } from "@pagurus/core/config/load-config";
import { isPagurusError } from "@pagurus/contract/errors";
import type { DirectSurface } from "@pagurus/contract/model";
import { surfaceModel } from "@pagurus/core/model/surfaces/surface-models";
import type { Finding } from "./finding.ts";

const SURFACES = ["images", "speech", "transcription"] as const;

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
  return [...new Set(found)].map((detail) => ({ level: "warn", check: "models", detail, fix }));
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
    surfaceModel(ref, surface, setting);
    return undefined;
  } catch (error) {
    if (isPagurusError(error)) return error.message;
    throw error;
  }
}
