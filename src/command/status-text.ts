import type { StatusReport } from "../contract/host.ts";
import { bytes, count, dollars, oneLine, plural, time } from "./layout.ts";

/** A bar of 20 cells: how full the next turn's context is. */
function gauge(tokens: number, budget: number): string {
  const share = budget > 0 ? Math.min(1, tokens / budget) : 0;
  const full = Math.round(share * 20);
  return `${"█".repeat(full)}${"░".repeat(20 - full)} ${Math.round(share * 100)} %`;
}

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

function contextLine({ tokens, budget }: StatusReport["context"]): string {
  if (budget <= 0) return `${count(tokens)} tokens, estimated; budget unknown`;
  return `${gauge(tokens, budget)}  ${count(tokens)} of ${count(budget)} tokens, estimated`;
}

/** Rows of `pagurus status`, label and value, in order. */
export function statusRows(report: StatusReport): [string, string][] {
  const { engine, context } = report;
  const effective = engine.effective === engine.selected ? "" : `, effective: ${engine.effective}`;
  const kind = engine.lifecycle === "unknown" ? "" : `; ${engine.contract}, ${engine.lifecycle}`;
  const rows: [string, string][] = [
    ["Home", report.home],
    ["Config", `${report.configFile}${report.configFound ? "" : " (not there; defaults in use)"}`],
    ["Agent", report.agentId],
    ["Session", sessionLine(report)],
    ["Model", modelLine(report.model)],
    ["Execution", report.Execution],
    [
      "Runtime",
      report.Runtime.rule === "" ? report.Runtime.id : `${report.Runtime.id} (${report.Runtime.rule})`,
    ],
    ["Engine", `${engine.selected}${effective} (${engine.source}${kind})`],
    ["Context", contextLine(context)],
    ["Compactions", count(report.compactions)],
    ["Permission", report.permission],
    ["Sandbox", report.sandbox],
  ];
  if (report.cost !== undefined) rows.push(["Cost", dollars(report.cost)]);
  if (report.runningIn)
    rows.push(["Running", `in process ${report.runningIn.pid} since ${time(report.runningIn.since)}`]);
  if (report.lastTurn) rows.push(["Last turn", lastTurnLine(report.lastTurn)]);
  return rows;
}

/** Lines that ask for attention: what refuses a run, interrupted turns, degradations, configuration warnings. Empty when all is well. */
export function statusConcerns(report: StatusReport): string[] {
  return [
    ...report.problems.map(
      ({ code, message }) => `A run would be refused: ${oneLine(message, Infinity)} [${code}]`,
    ),
    ...report.interruptedTurns.map((turn) => `Interrupted turn: ${turn} (kept; it has no answer)`),
    ...report.degraded.map(
      (item) =>
        `Degraded: ${item.stage}, ${oneLine(item.reason, Infinity)} (engine ${item.engineId}, turn ${item.turnId}, ${time(item.timestamp)})`,
    ),
    ...report.configWarnings.map((warning) => `Config: ${oneLine(warning, Infinity)}`),
  ];
}

export function statusText(report: StatusReport): string {
  const rows = statusRows(report).map(([label, value]) => `${`${label}:`.padEnd(13)}${value}`);
  return [...rows, ...statusConcerns(report)].join("\n");
}
