import { resolve } from "node:path";
import type { LosslessCare } from "@pagurus/app/commands-own";
import { count, dollars, plural } from "@pagurus/core/data/plain-numbers";
import { bytes } from "@pagurus/host/command/layout";
import { debtLine } from "@pagurus/host/command/status-text";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";
import { type Cli, printJson, printLine, sessionOf, styleFor, written } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, usageError } from "../cli-failure.ts";
import { withCare, type StoreOptions } from "./lossless-work.ts";
import { writeNewFile } from "../new-file.ts";
import { workspace } from "../cli-workspace.ts";

export interface StoreExportOptions extends StoreOptions {
  output?: string;
}
export interface StoreWorkOptions extends StoreOptions {
  cwd?: string;
  /** Milliseconds. */
  for?: number;
}

type WorkReport = Awaited<ReturnType<LosslessCare["work"]>>;

/** Runs work that Ctrl-C stops in an orderly way; a second one exits at once. */
async function interruptible<T>(cli: Cli, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = cli.onInterrupt(() => {
    if (controller.signal.aborted) cli.exit(EXIT_INTERRUPTED);
    controller.abort();
  });
  try {
    return await work(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted || isPagurusError(error)) throw error;
    throw new PagurusError("turn_aborted", "The work was stopped; the unfinished part is unchanged.", {
      cause: error,
    });
  } finally {
    stop();
  }
}

function progress(cli: Cli): (text: string) => void {
  const style = styleFor(cli.stderr, cli.env);
  return (text) => printLine(cli.stderr, style("dim", text));
}

/** `lossless verify`. */
export function storeVerify(cli: Cli, options: StoreOptions): Promise<number> {
  return interruptible(cli, (signal) =>
    withCare(cli, options, async (care) => {
      const showProgress = progress(cli);
      const onSession = (key: string): void => {
        if (cli.stderr.isTTY === true) showProgress(`comparing ${key}…`);
      };
      const report = await care.verify({ signal, onSession });
      if (options.json === true) printJson(cli, report);
      else printCheck(cli, report);
      return report.ok ? EXIT_DONE : EXIT_FAILED;
    }),
  );
}

function printCheck(cli: Cli, report: Awaited<ReturnType<LosslessCare["verify"]>>): void {
  const { exists, file, ok, problems, notes, compared } = report;
  const style = styleFor(cli.stdout, cli.env);
  if (!exists) return printLine(cli.stdout, `There is no ${file} yet, so there is nothing to check.`);
  for (const problem of problems) printLine(cli.stdout, `${style("red", "✗")} ${problem}`);
  for (const note of notes) printLine(cli.stdout, `${style("dim", "·")} ${note}`);
  const what = `${plural(compared.entries, "entry", "entries")} of ${plural(compared.sessions, "session")}`;
  if (ok)
    return printLine(
      cli.stdout,
      `${style("green", "✓")} The store is whole; ${what} are what their transcripts say.`,
    );
  printLine(
    cli.stdout,
    `  ${what} were compared. Nothing is lost: pagurus lossless rebuild restores the store from the transcripts.`,
  );
}

/** `lossless rebuild`. */
export function storeRebuild(cli: Cli, options: StoreOptions): Promise<number> {
  return interruptible(cli, (signal) =>
    withCare(cli, options, async (care) => {
      const showProgress = progress(cli);
      let last = 0;
      const report = await care.rebuild(options.session, {
        signal,
        onProgress: ({ sessionKey, number, of, entries }) => {
          // A log gets one line per session; a person also sees the progress within a long one.
          if (number === last && cli.stderr.isTTY !== true) return;
          last = number;
          showProgress(
            `${number} of ${of}: ${sessionKey}${entries === 0 ? "" : `, ${count(entries)} entries`}`,
          );
        },
      });
      if (options.json === true) printJson(cli, report);
      else printRebuilt(cli, report);
      return EXIT_DONE;
    }),
  );
}

function printRebuilt(cli: Cli, report: Awaited<ReturnType<LosslessCare["rebuild"]>>): void {
  const { sessions, entries, epochs, leftOut, pins, pinsLost, file } = report;
  const begin = epochs === 0 ? "" : `; ${count(epochs)} begin with a summary from the transcript`;
  printLine(
    cli.stdout,
    `${file}: ${plural(sessions, "session")}, ${plural(entries, "entry", "entries")}, ${plural(pins, "pin")}${begin}.`,
  );
  if (leftOut > 0) printLine(cli.stdout, `${plural(leftOut, "session")} skipped by the retention settings.`);
  if (pinsLost) printLine(cli.stdout, "The pins of the old file could not be read; pin again what you need.");
}

/** `lossless backup`. */
export function storeBackup(cli: Cli, file: string, options: StoreOptions): Promise<number> {
  return withCare(cli, options, async (care) => {
    const target = resolve(cli.cwd, file);
    const size = await care.backup(target);
    printLine(cli.stdout, `${target} (${bytes(size)})`);
    return EXIT_DONE;
  });
}

async function* encoded(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line);
}

/** `lossless export`. */
export function storeExport(cli: Cli, options: StoreExportOptions): Promise<number> {
  return withCare(cli, options, async (care) => {
    const lines = care.export(options.session);
    if (options.output !== undefined) {
      const size = await writeNewFile(cli.cwd, options.output, encoded(lines));
      printLine(cli.stderr, `${options.output} (${bytes(size)})`);
      return EXIT_DONE;
    }
    for await (const line of lines) {
      if (cli.outputLost()) break;
      await written(cli.stdout, line);
    }
    return EXIT_DONE;
  });
}

/** Throws `usage_invalid` while another engine is in the slot: its contexts would not use the prepared work. */
function requireSlot(cli: Cli): void {
  const { contextEngine } = loadConfig({ home: resolveHome(cli.env) });
  if (contextEngine === "lossless") return;
  throw usageError(
    `The engine ${contextEngine} is in the slot, and lossless has nothing to do for it; set plugins.slots.contextEngine to "lossless" first.`,
  );
}

/** `lossless work`. */
export function storeWork(cli: Cli, options: StoreWorkOptions): Promise<number> {
  requireSlot(cli);
  return interruptible(cli, (interrupted) =>
    withCare(cli, options, async (care, pagurus) => {
      const limits = [interrupted, ...(options.for === undefined ? [] : [AbortSignal.timeout(options.for)])];
      const showProgress = progress(cli);
      const report = await care.work({
        signal: AbortSignal.any(limits),
        maintain: (sessionKey, signal) => maintain(pagurus, cli, { ...options, session: sessionKey }, signal),
        onSession: (sessionKey) => {
          if (cli.stderr.isTTY === true) showProgress(`${sessionKey}…`);
        },
      });
      if (options.json === true) printJson(cli, report);
      else for (const line of workLines(report)) printLine(cli.stdout, line);
      if (interrupted.aborted) return EXIT_INTERRUPTED;
      return report.failed > 0 ? EXIT_FAILED : EXIT_DONE;
    }),
  );
}

/** Runs the maintenance; returns the reason where it was not done. */
async function maintain(
  pagurus: Pagurus,
  cli: Cli,
  options: StoreWorkOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const cwd = workspace(cli, options.cwd, options.agent);
  const { done, reason } = await pagurus.maintain({ ...sessionOf(options), cwd, signal });
  return done ? undefined : (reason ?? "The engine's work failed without a reason.");
}

function workLines(report: WorkReport): string[] {
  const { sessions, parts, summaries, spent, indexed, encoded, debts, failed, end, notes } = report;
  const calls =
    spent.calls === 0
      ? ""
      : ` (${plural(spent.calls, "call")}, ${count(spent.tokens)} tokens, ${dollars(spent.cost)})`;
  const did = [
    `${plural(parts, "part")} prepared`,
    `${plural(summaries, "summary", "summaries")} by a model${calls}`,
    ...(failed === 0 ? [] : [`${count(failed)} failed`]),
    `${plural(indexed, "text")} indexed`,
    ...(encoded === 0 ? [] : [`${plural(encoded, "message")} encoded`]),
  ];
  const left = end === "done" && debts.count === 0 ? "nothing is due" : `debts: ${debtLine(debts)}`;
  const over = end === "time" ? " The time limit ended it early." : "";
  return [`${plural(sessions, "session")}: ${did.join(", ")}; ${left}.${over}`, ...notes];
}
