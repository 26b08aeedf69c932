import type { EngineStatus } from "@pagurus/contract/engine/engine-params";
import type { CompactionFact, StatusReport, SubagentFact } from "@pagurus/contract/host/status";
import { fallbackRows } from "./fallback-text.ts";
import {
  agedWords,
  costFigures,
  costLimits,
  gaugeBar,
  gaugeEnd,
  LANE_WORDS,
  nextCompaction,
} from "./context-gauge.ts";
import { count, plural } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine, time } from "./layout.ts";
import { planSummary } from "./plan-text.ts";

/** A line of `pagurus status`: a label and its value; an empty label continues the previous line. */
type StatusRow = [label: string, value: string];

/** Number of compactions listed; `--json` has more. */
const LISTED_COMPACTIONS = 5;
/** Value for a wrapped session, where the host decides nothing. */
const PROGRAMS_OWN = "the program's own";

function sessionLine(report: StatusReport): string {
  const { session } = report;
  if (!session) return `${report.sessionKey} (no turns yet)`;
  const size = `${plural(session.entryCount, "entry", "entries")}, ${bytes(session.bytes)}`;
  return `${report.sessionKey} (${session.sessionId}, ${size}, last used ${time(session.updatedAt)})`;
}

function lastTurnLine(last: NonNullable<StatusReport["lastTurn"]>): string {
  return `${last.outcome}${last.code === undefined ? "" : ` [${last.code}]`} (${last.turnId})`;
}

function modelLine({ ref, source, contextWindow }: StatusReport["model"]): string {
  return `${ref} (${source}; window ${contextWindow > 0 ? `${count(contextWindow)} tokens` : "unknown"})`;
}

function contextLine(context: StatusReport["context"]): string {
  const { tokens, agedResults = 0 } = context;
  const end = gaugeEnd(context);
  if (end <= 0) return `${count(tokens)} tokens, estimated; budget unknown`;
  const aged = agedResults > 0 ? `; ${agedWords(agedResults)}` : "";
  return `${gaugeBar(context, 20)}  ${count(tokens)} of ${count(end)} tokens, estimated${aged}`;
}

function runtimeLine({ Runtime: { id, rule } }: StatusReport): string {
  return rule === "" ? id : `${id} (${rule})`;
}

/** `thread, bound to 0199-…`, and the newest request, if any. */
function seamRows({ seam, lastRequest }: StatusReport): StatusRow[] {
  const bound = seam?.boundTo === undefined ? "" : `, bound to thread ${oneLine(seam.boundTo, 60)}`;
  const rows: StatusRow[] = seam === undefined ? [] : [["Seam", `${seam.usual}${bound}`]];
  if (!lastRequest) return rows;
  const { runtime, engine, timestamp } = lastRequest;
  const epoch = lastRequest.epoch === undefined ? "no epoch" : `epoch ${oneLine(lastRequest.epoch, 40)}`;
  const how = [`by ${runtime}`, `seam ${lastRequest.seam}`, `engine ${engine}`, epoch, time(timestamp)];
  return [...rows, ["Last sent", how.join(", ")]];
}

function engineLine({ engine }: StatusReport): string {
  const effective = engine.effective === engine.selected ? "" : `, effective: ${engine.effective}`;
  const kind = engine.lifecycle === "unknown" ? [] : [`${engine.contract}, ${engine.lifecycle}`];
  const powers = [
    ...(engine.ownsCompaction === true ? ["owns compaction"] : []),
    ...(engine.interceptsCompaction === true ? ["intercepts compaction"] : []),
  ];
  const about = [engine.source, ...kind, ...(powers.length > 0 ? [powers.join(", ")] : [])];
  return `${engine.selected}${effective} (${about.join("; ")})`;
}

/** Epoch, trigger and debts from the engine's report; empty without one. */
function engineRows({ engine }: StatusReport): StatusRow[] {
  const { state, stateProblem } = engine;
  if (stateProblem !== undefined) return [["", oneLine(stateProblem, 300)]];
  if (!state) return [];
  const { epoch, trigger, debts, notes = [] } = state;
  const about = epoch
    ? `epoch ${oneLine(epoch.id, 40)}: ${count(epoch.tokens)} tokens before entry ${epoch.firstKeptEntryId}`
    : "nothing is compacted";
  const at = trigger === undefined ? "" : `; its trigger is ${count(trigger)} tokens`;
  return [
    ["", about + at],
    ...(debts ? [["Debts", debtLine(debts)] satisfies StatusRow] : []),
    ...notes.map((note): StatusRow => ["Note", oneLine(note, 300)]),
  ];
}

/** `3, tried up to 2 times, last failure model_timeout, next try 2026-11-21 22:02:18`. */
export function debtLine(debts: NonNullable<EngineStatus["debts"]>): string {
  if (debts.count === 0) return "none";
  const tried = debts.attempts === 0 ? [] : [`tried up to ${plural(debts.attempts, "time")}`];
  const failure = debts.errorCode === undefined ? [] : [`last failure ${debts.errorCode}`];
  const next = debts.nextAt === undefined ? [] : [`next try ${time(debts.nextAt)}`];
  return [plural(debts.count, "summary", "summaries"), ...tried, ...failure, ...next].join(", ");
}

/** `inside a turn, threshold, by legacy: 182,000 → 41,000 tokens`; unknown parts are left out. */
function compactionLine(fact: CompactionFact): string {
  const { lane, trigger, handledBy, tokensBefore, tokensAfter } = fact;
  const words = lane === undefined ? undefined : ((LANE_WORDS as Record<string, string>)[lane] ?? lane);
  const by = handledBy === undefined ? undefined : `by ${oneLine(handledBy, 60)}`;
  const how = [words, trigger, by].filter((text) => text !== undefined).join(", ");
  const known = [tokensBefore, tokensAfter ?? 0].filter((tokens) => tokens > 0).map(count);
  const sizes = known.length === 0 ? "tokens not counted" : `${known.join(" → ")} tokens`;
  return `${time(fact.timestamp)}  ${how === "" ? "" : `${how}: `}${sizes}`;
}

/** ` (5 between turns by lossless, 2 by the runtime by codex)`; empty where all are of one kind. */
function countedBy({ compactionsBy = [] }: StatusReport): string {
  if (compactionsBy.length < 2) return "";
  const groups = compactionsBy.map(({ lane, handledBy, count: times }) => {
    const words = lane === undefined ? [] : [(LANE_WORDS as Record<string, string>)[lane] ?? lane];
    return [
      count(times),
      ...words,
      ...(handledBy === undefined ? [] : [`by ${oneLine(handledBy, 60)}`]),
    ].join(" ");
  });
  return ` (${groups.join(", ")})`;
}

function compactionRows(report: StatusReport): StatusRow[] {
  const { context, compactions, recentCompactions } = report;
  const next =
    report.seam?.keepsContext === true
      ? `by ${report.Runtime.id} itself, when it finds its thread full`
      : nextCompaction(context);
  const shown = recentCompactions.slice(0, LISTED_COMPACTIONS);
  const earlier = compactions - shown.length;
  return [
    ...(next === undefined ? [] : [["Compacts", next] satisfies StatusRow]),
    ["Compacted", compactions === 0 ? "never" : plural(compactions, "time") + countedBy(report)],
    ...shown.map((fact): StatusRow => ["", compactionLine(fact)]),
    ...(shown.length > 0 && earlier > 0 ? [["", `… and ${count(earlier)} earlier`] satisfies StatusRow] : []),
  ];
}

const SUBAGENT_STATES: Readonly<Record<SubagentFact["state"], string>> = {
  running: "running",
  ended: "ended, its result waits for the next turn",
  swept: "ended at its time limit, its result waits for the next turn",
};

function subagentRows({ subagents }: StatusReport): StatusRow[] {
  if (subagents.length === 0) return [];
  const running = subagents.filter(({ state }) => state === "running").length;
  return [
    ["Subagents", `${count(subagents.length)} (${count(running)} running)`],
    ...subagents.map((child): StatusRow => {
      const until = child.state === "running" ? `, until ${time(child.expiresAt)}` : "";
      const about = `${child.contextMode}, depth ${child.depth}, ${SUBAGENT_STATES[child.state]}${until}`;
      return ["", `${oneLine(child.childSessionKey, 100)}  ${about}`];
    }),
  ];
}

function errorRows({ lastErrors = [] }: StatusReport): StatusRow[] {
  return lastErrors.map(({ code, timestamp, turnId }, index): StatusRow => [
    index === 0 ? "Last errors" : "",
    `${time(timestamp)}  ${code} (${turnId})`,
  ]);
}

/** Rows for where the session's turns run: in the wrapped program, else as the host would run them. */
function placeRows(report: StatusReport): StatusRow[] {
  const { wrapped, Runtime } = report;
  if (wrapped)
    return [
      [
        "Model",
        `${wrapped.model} (the program's; ${count(wrapped.tokenBudget)} tokens for the conversation)`,
      ],
      ["Execution", report.Execution],
      ["Runtime", wrapped.runtime],
    ];
  return [
    ["Model", modelLine(report.model)],
    ...fallbackRows(report),
    ["Execution", report.Execution],
    ["Runtime", runtimeLine(report)],
    ...(Runtime.why === undefined ? [] : [["", oneLine(Runtime.why, 300)] satisfies StatusRow]),
  ];
}

function memoryLine({ selected, effective }: StatusReport["memory"]): string {
  return effective === selected ? selected : `${selected}, effective: ${effective}`;
}

/** Costs of the session and the day, and the limits in force. */
export function costRows({ cost }: StatusReport): StatusRow[] {
  if (cost === undefined) return [];
  const limits = costLimits(cost);
  const figures = costFigures(cost) ?? "unknown, because the model's prices are unknown";
  return [["Cost", figures], ...(limits === undefined ? [] : [["Cost limits", limits] satisfies StatusRow])];
}

/** Registrations of plugins that nothing here uses. */
function pluginRows({ plugins = [] }: StatusReport): StatusRow[] {
  return plugins
    .filter(({ notUsed }) => notUsed.length > 0)
    .map(({ id, notUsed }, index): StatusRow => [
      index === 0 ? "Plugins" : "",
      `${oneLine(id, 60)}: not used here: ${oneLine(notUsed.join(", "), 200)}`,
    ]);
}

function pluginConcerns({ plugins = [] }: StatusReport): string[] {
  return plugins.flatMap(({ id, failure, needed, errors }) => [
    // A plugin that refuses runs is among the problems.
    ...(failure === undefined || needed !== undefined
      ? []
      : [`Plugin ${oneLine(id, 60)} is not loaded: ${oneLine(failure, 300)}`]),
    ...errors.map(
      (error) => `Plugin ${oneLine(id, 60)} has an error that nothing in it handles: ${oneLine(error, 300)}`,
    ),
  ]);
}

/** The mode, and whether this machine keeps it. */
function permissionText({ permission, sandbox }: Pick<StatusReport, "permission" | "sandbox">): string {
  const asks = permission === "sandbox" && sandbox.startsWith("none:");
  return asks ? "sandbox, which asks like ask without a sandbox" : permission;
}

function checkpointRows({ checkpoints }: StatusReport): StatusRow[] {
  if (!checkpoints) return [];
  const { folder, all } = checkpoints;
  return [["Checkpoints", `${bytes(folder)} of this folder, ${bytes(all)} in all`]];
}

/** Rows of `pagurus status`, in order. */
export function statusRows(report: StatusReport): StatusRow[] {
  const rows: StatusRow[] = [
    ["Home", report.home],
    ["Config", `${report.configFile}${report.configFound ? "" : " (not there; defaults in use)"}`],
    ["Agent", report.agentId],
    ["Session", sessionLine(report)],
    ...placeRows(report),
    ...seamRows(report),
    ["Engine", engineLine(report)],
    ...engineRows(report),
    ["Memory", memoryLine(report.memory)],
    ...checkpointRows(report),
    ["Context", contextLine(report.context)],
    ...compactionRows(report),
    ...subagentRows(report),
    ...(report.plan === undefined ? [] : [["Plan", planSummary(report.plan)] satisfies StatusRow]),
    ["Permission", report.wrapped ? PROGRAMS_OWN : permissionText(report)],
    ["Sandbox", report.wrapped ? PROGRAMS_OWN : report.sandbox],
    ...costRows(report),
  ];
  rows.push(...pluginRows(report));
  if (report.runningIn)
    rows.push(["Running", `in process ${report.runningIn.pid} since ${time(report.runningIn.since)}`]);
  if (report.lastTurn) rows.push(["Last turn", lastTurnLine(report.lastTurn)]);
  rows.push(...errorRows(report));
  return rows;
}

/** A row's label in its column. */
export function statusLabel([label]: StatusRow): string {
  return (label === "" ? "" : `${label}:`).padEnd(13);
}

/**
 * Lines that need attention: what refuses a run, interrupted turns, degradations, configuration warnings. Empty when all is
 * well.
 */
export function statusConcerns(report: StatusReport): string[] {
  return [
    ...report.problems.map(
      ({ code, message }) => `A run would be refused: ${oneLine(message, Infinity)} [${code}]`,
    ),
    ...pluginConcerns(report),
    ...report.interruptedTurns.map((turn) => `Interrupted turn: ${turn} (kept; it has no answer)`),
    ...report.degraded.map(
      (item) =>
        `Degraded: ${item.stage}, ${oneLine(item.reason, Infinity)} (engine ${item.engineId}, turn ${item.turnId}, ${time(item.timestamp)})`,
    ),
    ...report.configWarnings.map((warning) => `Config: ${oneLine(warning, Infinity)}`),
  ];
}

export function statusText(report: StatusReport): string {
  const rows = statusRows(report).map((row) => `${statusLabel(row)}${row[1]}`);
  return [...rows, ...statusConcerns(report)].join("\n");
}
