/** Converts the schedules of OpenClaw's jobs. */
import { MINUTE_MS } from "@pagurus/core/data/interval";
import { type Fields, filledString, listOf } from "@pagurus/core/data/record-fields";
import { shellWord } from "@pagurus/core/platform/shell-word";
import { numberOf } from "../../sessions/foreign-fields.ts";

export type ForeignTimes =
  | { kind: "cron"; expression: string; tz: string }
  | { kind: "at"; at: number }
  | { kind: "every"; everyMs: number; from: number };

/** `what`: notes for the report. `lacks`: reason why there is no such schedule here, and how to get a similar one. */
export type ReadTimes = { times: ForeignTimes; what: string[] } | { lacks: string };

/** Fields of each kind of schedule that are taken. */
export const TIME_FIELDS = ["kind", "expr", "tz", "at", "atMs", "everyMs", "anchorMs", "staggerMs"];

/** Older files name no kind: it follows from the fields. */
function kindOf({ kind, expr, everyMs, at, atMs }: Fields): string | undefined {
  if (typeof kind === "string") return kind;
  if (expr !== undefined) return "cron";
  if (everyMs !== undefined) return "every";
  return at === undefined && atMs === undefined ? undefined : "at";
}

export function readTimes(schedule: Fields, now: number): ReadTimes {
  switch (kindOf(schedule)) {
    case "cron":
      return readCron(schedule);
    case "every":
      return readInterval(schedule, now);
    case "at":
      return readMoment(schedule, now);
    case "on-exit":
      return {
        lacks: `it waits for the end of a command; a job here can ask for it: pagurus jobs add --every 1m --check-command ${shellWord(filledString(schedule["command"]) ?? "<command>")} with its session and prompt`,
      };
    case "stream":
      return {
        lacks: `it listens to the output of ${JSON.stringify(listOf(schedule["command"]).join(" "))}; let that program post to pagurus serve (POST /api/v1/sessions/{key}/turns)`,
      };
    default:
      return { lacks: "its schedule is not known here; pagurus jobs add creates a job with another one" };
  }
}

function readCron({ expr, tz, staggerMs }: Fields): ReadTimes {
  const expression = filledString(expr)?.trim();
  if (expression === undefined || expression === "")
    return { lacks: "it has no cron expression; pagurus jobs add creates a job with one" };
  const zone = filledString(tz) ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const stagger = numberOf(staggerMs) ?? 0;
  const what = stagger > 0 ? ["Its runs begin on the minute here, and not within a random interval."] : [];
  return { times: { kind: "cron", expression, tz: zone }, what };
}

function readInterval({ everyMs, anchorMs }: Fields, now: number): ReadTimes {
  const every = numberOf(everyMs);
  if (every === undefined || every <= 0)
    return { lacks: "it has no interval; pagurus jobs add --every creates a job with one" };
  return {
    times: { kind: "every", everyMs: Math.max(1_000, Math.round(every)), from: numberOf(anchorMs) ?? now },
    what: every < MINUTE_MS ? ["It is due more often than each minute: each run is a model call."] : [],
  };
}

function readMoment({ at, atMs }: Fields, now: number): ReadTimes {
  const text = filledString(at);
  // A time without an offset is UTC there.
  const hasOffset = text !== undefined && /(?:Z|[+-]\d\d:?\d\d)$/i.test(text);
  const moment = text === undefined ? numberOf(atMs) : Date.parse(hasOffset ? text : `${text}Z`);
  if (moment === undefined || !Number.isFinite(moment))
    return { lacks: "it has no time; pagurus jobs add --at creates a job with one" };
  if (moment <= now) return { lacks: `its time, ${new Date(moment).toISOString()}, has passed` };
  return { times: { kind: "at", at: moment }, what: [] };
}
