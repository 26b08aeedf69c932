import type { LosslessCare } from "@pagurus/app/commands-own";
import { debtLine } from "@pagurus/host/command/status-text";
import { count, dollars, plural } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine, terminalSafe, time } from "@pagurus/host/command/layout";
import { loadConfig } from "@pagurus/core/config/load-config";
import { agentDir, resolveHome } from "@pagurus/core/config/config-paths";
import type { Pagurus } from "@pagurus/contract/host/host";
import {
  type Cli,
  printJson,
  printLine,
  sessionOf,
  type SessionOptions,
  styleFor,
  withPagurus,
} from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { keyOf } from "../sessions/session-choice.ts";
import { defined } from "@pagurus/core/data/defined";

export interface StoreOptions extends SessionOptions {
  json?: boolean;
}
export type LookOptions = StoreOptions;
export interface StoreSearchOptions extends StoreOptions {
  all?: boolean;
  limit?: number;
}
export interface ExpandOptions extends StoreOptions {
  after?: string;
  offset?: number;
  maxTokens?: number;
}

type StoreReport = ReturnType<LosslessCare["status"]>;

/** Opens the host for its transcripts and runs the work on the agent's store. */
export function withCare<T>(
  cli: Cli,
  options: SessionOptions,
  work: (care: LosslessCare, pagurus: Pagurus) => Promise<T>,
): Promise<T> {
  const home = resolveHome(cli.env);
  const { agentId } = sessionOf(options);
  return withPagurus(cli, async (pagurus) => {
    const { losslessCare } = await import("@pagurus/app/commands-own");
    const care = await losslessCare({
      agentDir: agentDir(home, agentId),
      config: loadConfig({ home }).config,
      transcripts: pagurus.sessions(agentId),
    });
    return work(care, pagurus);
  });
}

const STATES: Readonly<Record<string, string>> = {
  published: "shown",
  prepared: "ready",
  replaced: "replaced",
};
const ORIGINS: Readonly<Record<string, string>> = {
  model: "by a model",
  extractive: "extractive",
  engine: "taken over",
};

/** `depth 0: 40 by a model (12 shown, 28 replaced), 3 extracts (3 ready)`, a line per depth. */
function summaryLines({ summaries }: StoreReport): string[] {
  if (summaries.length === 0) return ["none"];
  return [...Map.groupBy(summaries, ({ depth }) => depth)].map(([depth, group]) => {
    const origins = [...Map.groupBy(group, ({ origin }) => origin)].map(([origin, rows]) => {
      const all = rows.reduce((sum, row) => sum + row.count, 0);
      const states = rows.map((row) => `${count(row.count)} ${STATES[row.state] ?? row.state}`).join(", ");
      return `${count(all)} ${ORIGINS[origin] ?? origin} (${states})`;
    });
    return `depth ${depth}: ${origins.join(", ")}`;
  });
}

function sessionLines({ session, exists }: StoreReport, sessionKey: string): [string, string][] {
  if (!session) return exists ? [["Session", `${sessionKey} (not indexed yet)`]] : [];
  const { sessionId, entries, tokens, pins, epoch } = session;
  const size = `${plural(entries, "entry", "entries")}, ${count(tokens)} tokens, ${plural(pins, "pin")}`;
  return [
    ["Session", `${sessionKey} (${sessionId}): ${size}`],
    [
      "Epoch",
      epoch
        ? `${epoch.id}: ${count(epoch.tokens)} tokens of ${plural(epoch.summaries, "summary", "summaries")} before entry ${epoch.firstKeptEntryId}`
        : "nothing is compacted",
    ],
  ];
}

function retentionLine({ retention }: StoreReport): string {
  if (!retention) return "none: everything is kept";
  const last = retention.lastAt === undefined ? "" : `, last looked at ${time(retention.lastAt)}`;
  return `conversations unused for ${plural(retention.sessionsOlderThanDays, "day")} leave the store, not their transcript${last}`;
}

function vectorLines({ vectors }: StoreReport): [string, string][] {
  if (!vectors) return [];
  const left = vectors.pending === 0 ? "" : `, ${plural(vectors.pending, "text")} left`;
  return [["Encoder", `${plural(vectors.encoded, "message")} encoded${left}`]];
}

function statusLines(report: StoreReport, sessionKey: string, trigger: number): [string, string][] {
  const { file, size, spend, debts, unindexed, sessions, adopting } = report;
  const due = debts.due > 0 ? `, ${count(debts.due)} due now` : "";
  const open = adopting === 0 ? "" : `, ${count(adopting)} of them incomplete`;
  return [
    ["Store", `${file} (${bytes(size.file)}, log ${bytes(size.wal)}, free ${bytes(size.free)})`],
    [
      "Holds",
      `${plural(sessions, "session")}${open}, ${plural(size.entries, "entry", "entries")}, ${plural(size.texts, "text")} (${bytes(size.textBytes)}; images and the like ${bytes(size.payloadBytes)})`,
    ],
    ...sessionLines(report, sessionKey),
    ["Trigger", `${count(trigger)} tokens`],
    ...summaryLines(report).map((line, index): [string, string] => [index === 0 ? "Summaries" : "", line]),
    ["Debts", debtLine(debts) + due],
    ["Index", unindexed === 0 ? "complete" : `${plural(unindexed, "text")} not indexed for search yet`],
    ...vectorLines(report),
    [
      "Spend",
      `${count(spend.calls)} of ${plural(spend.cap, "model call")} in the last hour, ${count(spend.tokens)} tokens, ${dollars(spend.cost)}`,
    ],
    ["Retention", retentionLine(report)],
  ];
}

/** `lossless status`. */
export function storeStatus(cli: Cli, options: StoreOptions): Promise<number> {
  return withCare(cli, options, async (care, pagurus) => {
    const sessionKey = keyOf(pagurus, cli, options);
    const stored = care.status(sessionKey);
    // The model's budget may lower the trigger, as in `status`; a look creates no store.
    const { agentId } = sessionOf(options);
    const { engine } = stored.exists
      ? await pagurus.status({ sessionKey, agentId, cwd: cli.cwd })
      : { engine: undefined };
    const report = { ...stored, trigger: engine?.state?.trigger ?? stored.trigger };
    if (options.json === true) printJson(cli, report);
    else if (report.exists) {
      const style = styleFor(cli.stdout, cli.env);
      for (const [label, value] of statusLines(report, sessionKey, report.trigger))
        printLine(cli.stdout, `${style("bold", (label === "" ? "" : `${label}:`).padEnd(13))}${value}`);
    } else
      printLine(
        cli.stdout,
        `There is no ${report.file} yet; the first turn with the engine lossless makes it.`,
      );
    return EXIT_DONE;
  });
}

/** `lossless search`. */
export function storeSearch(cli: Cli, query: string, options: StoreSearchOptions): Promise<number> {
  if (query.trim() === "") throw usageError("The words to search for are empty; name at least one.");
  return withCare(cli, options, async (care, pagurus) => {
    const scope = options.all === true ? {} : { sessionKey: keyOf(pagurus, cli, options) };
    const hits = await care.search({ query, limit: options.limit ?? 20, ...scope });
    if (options.json === true) printJson(cli, hits);
    else if (hits.length === 0) printLine(cli.stderr, "Nothing found.");
    const style = styleFor(cli.stdout, cli.env);
    for (const hit of options.json === true ? [] : hits) {
      const off = hit.onPath ? "" : style("yellow", "  (an abandoned branch)");
      const when = hit.time === 0 ? "" : `  ${time(new Date(hit.time).toISOString())}`;
      const where = `${hit.sessionKey ?? hit.sessionId}  ${hit.nodeId ?? hit.entryId}${when}  ${hit.role}`;
      printLine(cli.stdout, `${style("dim", where)}${off}\n  ${oneLine(hit.snippet, 300)}`);
    }
    return EXIT_DONE;
  });
}

/** Prints text for a person; on a terminal without control codes. */
function printWords(cli: Cli, words: string): void {
  printLine(cli.stdout, cli.stdout.isTTY === true ? terminalSafe(words) : words);
}

/** `lossless describe`. */
export function storeDescribe(cli: Cli, id: string, options: LookOptions): Promise<number> {
  return withCare(cli, options, async (care, pagurus) => {
    const at = { sessionKey: keyOf(pagurus, cli, options), id };
    if (options.json === true) printJson(cli, await care.read(at));
    else printWords(cli, await care.describe(at));
    return EXIT_DONE;
  });
}

/** `lossless expand`. */
export function storeExpand(cli: Cli, id: string, options: ExpandOptions): Promise<number> {
  return withCare(cli, options, async (care, pagurus) => {
    const { after, offset, maxTokens } = options;
    const expansion = {
      sessionKey: keyOf(pagurus, cli, options),
      id,
      ...defined({ after, offset, maxTokens }),
    };
    if (options.json === true) printJson(cli, await care.words(expansion));
    else printWords(cli, await care.expand(expansion));
    return EXIT_DONE;
  });
}
