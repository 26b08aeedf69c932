/** Fallbacks and cooldowns of models as text, the same in every channel. */
import type { FallbackReason, ModelCooldown, ModelFallback } from "@pagurus/contract/fallback";
import type { StatusReport } from "@pagurus/contract/host/status";
import { durationText } from "@pagurus/core/platform/duration";
import { plural } from "@pagurus/core/data/plain-numbers";
import { oneLine, time } from "./layout.ts";

const REASONS: Readonly<Record<FallbackReason, string>> = {
  rate_limit: "rate limit",
  overloaded: "overloaded",
  server_error: "server error",
  timeout: "timeout",
  unreachable: "unreachable",
  stream_cut: "answer broke off",
  auth: "credentials refused",
  billing: "billing",
  model_not_found: "model not found",
  cooldown: "cooling down",
};

/** `a/b → c/d (rate limit; a/b cools down until 2026-11-26 14:05:00; skipped: e/f, context_window)`. */
export function fallbackText({ from, to, reason, until, skipped = [] }: ModelFallback): string {
  const why = REASONS[reason] ?? oneLine(reason, 60);
  const cools = until === undefined ? [] : [`${oneLine(from, 100)} cools down until ${time(until)}`];
  const passed = skipped.map(({ model, reason: each }) => `${oneLine(model, 100)}, ${oneLine(each, 60)}`);
  const about = [why, ...cools, ...(passed.length === 0 ? [] : [`skipped: ${passed.join("; ")}`])];
  return `${oneLine(from, 100)} → ${oneLine(to, 100)} (${about.join("; ")})`;
}

/** `openai: rate limit, until 2026-11-26 14:05:00 (3 min left, after 2 failures)`. */
function cooldownText({ target, reason, failures, until }: ModelCooldown, now: number): string {
  const left = durationText(Math.max(0, Date.parse(until) - now));
  const why = REASONS[reason] ?? oneLine(reason, 60);
  return `${oneLine(target, 100)}: ${why}, until ${time(until)} (${left} left, after ${plural(failures, "failure")})`;
}

/** Rows of `pagurus status`; empty where no fallbacks are configured and none took over. */
export function fallbackRows(
  { fallbacks, Runtime }: Pick<StatusReport, "fallbacks" | "Runtime">,
  now = Date.now(),
): [label: string, value: string][] {
  if (!fallbacks) return [];
  const { models, applied, cooldowns, recent } = fallbacks;
  const names = models.length === 0 ? "none configured" : models.map((ref) => oneLine(ref, 100)).join(", ");
  const not =
    applied || models.length === 0 ? "" : ` (not applied: the runtime ${Runtime.id} calls its model itself)`;
  return [
    ["Fallbacks", names + not],
    ...cooldowns.map((each, at): [string, string] => [at === 0 ? "Cooling" : "", cooldownText(each, now)]),
    ...recent.map((each, at): [string, string] => [
      at === 0 ? "Took over" : "",
      `${time(each.timestamp)}  ${fallbackText(each)}`,
    ]),
  ];
}
