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
}

/** Cost against far strings (measured): a smaller trigger is cheaper, a larger one keeps more in sight. Tokens. */
const TRIGGER = 100_000;
/** A context is sent whole up to this share of its budget: the live turn grows before it can be cut. */
const BUDGET_SHARE = 0.95;
/** Measured: exact strings in the head show more of what is far for a token than a longer tail does. */
const TAIL_SHARE = 0.1;
const LEAST_TAIL = 4_000;
const MOST_TAIL_SHARE = 0.2;
const HEAD_SHARE = 0.08;
const LEAST_HEAD = 5_500;
const MOST_HEAD_SHARE = 0.3;
const USER_SHARE = 0.25;
const MINIMUM_GAIN_SHARE = 0.15;
const SUMMARIES_PER_HOUR = 60;

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
  return {
    trigger: count(child(section, "trigger")) ?? TRIGGER,
    ignoreSessions: texts(child(section, "ignoreSessions")),
    statelessSessions: texts(child(section, "statelessSessions")),
    summariesPerHour: count(child(section, "summariesPerHour")) ?? SUMMARIES_PER_HOUR,
    ...(headTokens === undefined ? {} : { headTokens }),
    ...(tailTokens === undefined ? {} : { tailTokens }),
  };
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
export function matchesGlob(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const source = pattern.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", ".*");
    return new RegExp(`^${source.replaceAll("?", ".")}$`, "s").test(name);
  });
}
