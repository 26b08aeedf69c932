/** `plugins.entries.lossless.config` of the host's configuration, and what follows from a model's budget. */

export interface LosslessSettings {
  /** Tokens of history and live turn at which a compaction is due. */
  trigger: number;
  /** Tokens of summary, requests, files and exact strings after a compaction; a share of the trigger where absent. */
  headTokens?: number;
  /** Tokens of newest messages that a compaction leaves as they are; a share of the trigger where absent. */
  tailTokens?: number;
  /** Globs over session keys: nothing is kept of these; the host's transcript is all there is. */
  ignoreSessions: readonly string[];
  /** Globs over session keys: as ignored ones, and no earlier turn is shown to the model. */
  statelessSessions: readonly string[];
  /** Summaries that a model may be asked for within an hour, over all sessions of the agent. */
  summariesPerHour: number;
  /** Days after its last use when a session leaves the database (its transcript stays); never where absent. */
  retentionDays?: number;
}

/** Cost against far strings (measured): a smaller trigger is cheaper, a larger one keeps more in sight. Tokens. */
const TRIGGER = 130_000;
/** Most of a budget: behind the trigger one round of large results still has room. */
const BUDGET_SHARE = 0.83;
/** Measured: exact strings in the head show more of what is far for a token than a longer tail does. */
const TAIL_SHARE = 0.04;
const LEAST_TAIL = 2_000;
const MOST_TAIL_SHARE = 0.2;
const HEAD_SHARE = 0.066;
const LEAST_HEAD = 5_500;
const MOST_HEAD_SHARE = 0.3;
const USER_SHARE = 0.25;
const MINIMUM_GAIN_SHARE = 0.15;
const SUMMARIES_PER_HOUR = 60;
/** Of the head, for pinned entries that stand nowhere else in it. */
export const PIN_SHARE = 0.25;

function child(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : undefined;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** A value of another type counts as absent. */
export function losslessSettings(config: unknown): LosslessSettings {
  const section = child(child(child(child(config, "plugins"), "entries"), "lossless"), "config");
  const headTokens = count(child(section, "headTokens"));
  const tailTokens = count(child(section, "tailTokens"));
  const calls = child(section, "summariesPerHour");
  const days = child(child(section, "retention"), "sessionsOlderThanDays");
  return {
    trigger: count(child(section, "trigger")) ?? TRIGGER,
    ignoreSessions: texts(child(section, "ignoreSessions")),
    statelessSessions: texts(child(section, "statelessSessions")),
    summariesPerHour: calls === 0 ? 0 : (count(calls) ?? SUMMARIES_PER_HOUR),
    ...(headTokens === undefined ? {} : { headTokens }),
    ...(tailTokens === undefined ? {} : { tailTokens }),
    ...(typeof days === "number" && days > 0 ? { retentionDays: days } : {}),
  };
}

/**
 * `kept`: everything of the session is in the database. `ignored`: nothing is, and the transcript is all there is.
 * `stateless`: as ignored, and a turn begins with nothing before it.
 */
export function sessionPolicy(
  settings: LosslessSettings,
  sessionKey: string | undefined,
): "kept" | "ignored" | "stateless" {
  const key = sessionKey ?? "";
  if (matchesGlob(settings.statelessSessions, key)) return "stateless";
  return matchesGlob(settings.ignoreSessions, key) ? "ignored" : "kept";
}

/** Tokens, as the provider counts them. */
export interface Shares {
  trigger: number;
  head: number;
  /** The user's own words may take so much, also where the head grows by it. */
  users: number;
  tail: number;
  /** A compaction that gains less is not made. */
  minimumGain: number;
}

/** What the settings mean for one budget of history and live turn. */
export function sharesOf(settings: LosslessSettings, tokenBudget: number): Shares {
  const trigger = Math.max(1, Math.min(settings.trigger, Math.floor(tokenBudget * BUDGET_SHARE)));
  const within = (wanted: number, share: number): number =>
    Math.max(1, Math.min(wanted, Math.floor(trigger * share)));
  return {
    trigger,
    head: within(
      settings.headTokens ?? Math.max(LEAST_HEAD, Math.floor(trigger * HEAD_SHARE)),
      MOST_HEAD_SHARE,
    ),
    users: Math.floor(trigger * USER_SHARE),
    tail: within(
      settings.tailTokens ?? Math.max(LEAST_TAIL, Math.floor(trigger * TAIL_SHARE)),
      MOST_TAIL_SHARE,
    ),
    minimumGain: Math.floor(trigger * MINIMUM_GAIN_SHARE),
  };
}

/** `*` stands for any characters, `?` for one. */
function matchesGlob(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const source = pattern.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", ".*");
    return new RegExp(`^${source.replaceAll("?", ".")}$`, "s").test(name);
  });
}
