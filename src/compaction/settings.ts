/** `agents.defaults.compaction` of the host's resolved configuration, as far as a compaction reads it. */
export interface CompactionSettings {
  /** Model ref that writes summaries; the session's model where absent. */
  model?: string;
  keepRecentTokens: number;
  timeoutSeconds: number;
  mode: "default" | "safeguard";
  identifierPolicy: "strict" | "off";
  customInstructions?: string;
}

const DEFAULT_KEEP_RECENT_TOKENS = 20_000;
const DEFAULT_TIMEOUT_SECONDS = 180;

function child(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function positive(value: unknown, fallback: number): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : fallback;
}

/** The configuration was checked when it was loaded; here a value of another type counts as absent. */
export function compactionSettings(config: unknown): CompactionSettings {
  const section = child(child(child(config, "agents"), "defaults"), "compaction");
  const model = child(section, "model");
  const customInstructions = child(section, "customInstructions");
  return {
    keepRecentTokens: positive(child(section, "keepRecentTokens"), DEFAULT_KEEP_RECENT_TOKENS),
    timeoutSeconds: positive(child(section, "timeoutSeconds"), DEFAULT_TIMEOUT_SECONDS),
    mode: child(section, "mode") === "safeguard" ? "safeguard" : "default",
    identifierPolicy: child(section, "identifierPolicy") === "off" ? "off" : "strict",
    ...(typeof model === "string" && model !== "" ? { model } : {}),
    ...(typeof customInstructions === "string" && customInstructions !== "" ? { customInstructions } : {}),
  };
}
