/** `plugins.entries.lossless.config` of the host's configuration, and the limits that follow from a model's budget. */
import { fieldOf } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

export interface LosslessSettings {
  /** Tokens of history and live turn at which a compaction is due. */
  trigger: number;
  /** Tokens of summary, requests, files and exact strings after a compaction; default: a share of the trigger. */
  headTokens?: number;
  /** Tokens of newest messages that a compaction keeps verbatim; default: a share of the trigger. */
  tailTokens?: number;
  /** Globs over session keys: these sessions are not stored; only the host's transcript has them. */
  ignoreSessions: readonly string[];
  /** Globs over session keys: as ignored sessions, and the model sees no earlier turn. */
  statelessSessions: readonly string[];
  /** Limit on model summaries per hour, over all sessions of the agent. */
  summariesPerHour: number;
  /** Whether passages for a turn's input are added where the conversation is partly out of sight. */
  recall: boolean;
  /** Limit on the passages for one question: the more tokens, the more it costs and the more it shows. */
  recallTokens: number;
  /** Whether passages are also ordered by what they mean, with an optional package for English. */
  encoder: boolean;
  /** Days after its last use when a session is removed from the database (its transcript stays); default: never. */
  retentionDays?: number;
}

/** Trade-off of cost and recall (measured): a smaller trigger is cheaper, a larger one keeps more in context. Tokens. */
const TRIGGER = 130_000;
/** Limit on the trigger as a share of the budget: one round of large results still fits above it. */
const BUDGET_SHARE = 0.83;
/** Measured: per token, exact strings in the head keep more distant content than a longer tail. */
const TAIL_SHARE = 0.04;
const LEAST_TAIL = 1_300;
const MOST_TAIL_SHARE = 0.2;
/** Where people only talk, the passages for their questions show more than the newest messages and a long head do. */
const TALK = { leastTail: 650, mostTailShare: 0.1, mostHeadShare: 0.132 };
/** Measured on conversations of people: more shows little more. */
const RECALL_TOKENS = 8_000;
/** A newest turn of up to so many tokens is not split. */
const WHOLE_TURN = 2_000;
const DEFAULT_HEAD_SHARE = 0.066;
/** Least tokens of a head where the window has them; in a smaller window a head takes its largest share. */
const LEAST_HEAD = 6_000;
const MOST_HEAD_SHARE = 0.33;
const USER_SHARE = 0.25;
const MINIMUM_GAIN_SHARE = 0.15;
const SUMMARIES_PER_HOUR = 60;
/** Share of the head for pinned entries that are not in it otherwise. */
export const PIN_SHARE = 0.25;

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : undefined;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** Reads the settings. A value of another type counts as absent. */
export function losslessSettings(config: unknown): LosslessSettings {
  const section = fieldOf(fieldOf(fieldOf(fieldOf(config, "plugins"), "entries"), "lossless"), "config");
  const headTokens = count(fieldOf(section, "headTokens"));
  const tailTokens = count(fieldOf(section, "tailTokens"));
  const calls = fieldOf(section, "summariesPerHour");
  const days = fieldOf(fieldOf(section, "retention"), "sessionsOlderThanDays");
  return {
    trigger: count(fieldOf(section, "trigger")) ?? TRIGGER,
    ignoreSessions: texts(fieldOf(section, "ignoreSessions")),
    statelessSessions: texts(fieldOf(section, "statelessSessions")),
    summariesPerHour: calls === 0 ? 0 : (count(calls) ?? SUMMARIES_PER_HOUR),
    recall: fieldOf(section, "recall") !== false,
    recallTokens: count(fieldOf(section, "recallTokens")) ?? RECALL_TOKENS,
    encoder: fieldOf(section, "encoder") === true,
    ...defined({ headTokens, tailTokens }),
    ...(typeof days === "number" && days > 0 ? { retentionDays: days } : {}),
  };
}

/**
 * `kept`: the whole session is in the database. `ignored`: nothing is; only the transcript has it. `stateless`: as
 * ignored, and each turn starts without history.
 */
export function sessionPolicy(
  settings: LosslessSettings,
  sessionKey: string | undefined,
): "kept" | "ignored" | "stateless" {
  const key = sessionKey ?? "";
  if (matchesGlob(settings.statelessSessions, key)) return "stateless";
  return matchesGlob(settings.ignoreSessions, key) ? "ignored" : "kept";
}

/** Limits, in tokens as the provider counts them. */
export interface Shares {
  trigger: number;
  head: number;
  /** Limit on the user's messages, even when the head grows by it. */
  users: number;
  tail: number;
  /** A newest turn of up to so many tokens stays whole. */
  wholeTurn: number;
  /** A compaction with a smaller gain is skipped. */
  minimumGain: number;
  /** Passages show the messages of people: where they only talk, a head lists only what they demand. */
  hidesTalk: boolean;
}

/** Applies the settings to one budget for history and live turn. `isTalk`: no work was done in the session. */
export function sharesOf(settings: LosslessSettings, tokenBudget: number, isTalk = false): Shares {
  const trigger = Math.max(1, Math.min(settings.trigger, Math.floor(tokenBudget * BUDGET_SHARE)));
  const within = (wanted: number, share: number): number =>
    Math.max(1, Math.min(wanted, Math.floor(trigger * share)));
  const { recall, headTokens, tailTokens } = settings;
  const [leastTail, mostTailShare, mostHeadShare] =
    isTalk && recall
      ? [TALK.leastTail, TALK.mostTailShare, TALK.mostHeadShare]
      : [LEAST_TAIL, MOST_TAIL_SHARE, MOST_HEAD_SHARE];
  const tail =
    tailTokens === undefined
      ? within(Math.max(leastTail, Math.floor(trigger * TAIL_SHARE)), mostTailShare)
      : within(tailTokens, MOST_TAIL_SHARE);
  return {
    trigger,
    head:
      headTokens === undefined
        ? within(Math.max(LEAST_HEAD, Math.floor(trigger * DEFAULT_HEAD_SHARE)), mostHeadShare)
        : within(headTokens, MOST_HEAD_SHARE),
    users: Math.floor(trigger * USER_SHARE),
    tail,
    wholeTurn: Math.max(tail, within(WHOLE_TURN, MOST_TAIL_SHARE)),
    minimumGain: Math.floor(trigger * MINIMUM_GAIN_SHARE),
    hidesTalk: recall,
  };
}

/** Matches globs: `*` is any characters, `?` is one. */
function matchesGlob(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const source = pattern.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", ".*");
    return new RegExp(`^${source.replaceAll("?", ".")}$`, "s").test(name);
  });
}
