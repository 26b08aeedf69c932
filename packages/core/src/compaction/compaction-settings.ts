/** The fields of `agents.defaults.compaction` in the host's resolved configuration that a compaction reads. */
import { fieldOf } from "../data/record-fields.ts";
export interface CompactionSettings {
  /** Model ref that writes summaries; default: the session's model. */
  model?: string;
  keepRecentTokens: number;
  timeoutSeconds: number;
  mode: "default" | "safeguard";
  identifierPolicy: "strict" | "off";
  customInstructions?: string;
}

const DEFAULT_KEEP_RECENT_TOKENS = 20_000;
const DEFAULT_TIMEOUT_SECONDS = 180;

function positive(value: unknown, fallback: number): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : fallback;
}

/** Reads the settings. The configuration was validated when it was loaded; here a value of another type counts as absent. */
export function compactionSettings(config: unknown): CompactionSettings {
  const section = fieldOf(fieldOf(fieldOf(config, "agents"), "defaults"), "compaction");
  const model = fieldOf(section, "model");
  const customInstructions = fieldOf(section, "customInstructions");
  return {
    keepRecentTokens: positive(fieldOf(section, "keepRecentTokens"), DEFAULT_KEEP_RECENT_TOKENS),
    timeoutSeconds: positive(fieldOf(section, "timeoutSeconds"), DEFAULT_TIMEOUT_SECONDS),
    mode: fieldOf(section, "mode") === "safeguard" ? "safeguard" : "default",
    identifierPolicy: fieldOf(section, "identifierPolicy") === "off" ? "off" : "strict",
    ...(typeof model === "string" && model !== "" ? { model } : {}),
    ...(typeof customInstructions === "string" && customInstructions !== "" ? { customInstructions } : {}),
  };
}
