/** `pagurus context replay`: figures about contexts of sessions, without a model. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { extname, resolve } from "node:path";
import { BUNDLED_ENGINES } from "@pagurus/core/config/bundled";
import { agentDir, resolveHome } from "@pagurus/core/config/config-paths";
import { DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { DEFAULT_CONTEXT_ENGINE } from "@pagurus/core/config/defaults";
import { recordOf } from "@pagurus/core/data/record-fields";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { findPluginEntry } from "@pagurus/host/plugin/plugin-entry";
import { entryOf } from "@pagurus/host/plugin/listed";
import { fileOfKey, filesAt, type SessionFile } from "@pagurus/replay/find-sessions";
import {
  figuresOf,
  FIGURES_VERSION,
  incomparable,
  worseFigures,
  type ReplayedSession,
  type ReplayReport,
} from "@pagurus/replay/replay-figures";
import { addCounts, noCounts, type ReplayCounts } from "@pagurus/replay/replay-session";
import { type Cli, printJson, printLine } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";
import { movedSettings, runApart, type Scratch } from "../engines/apart.ts";
import { configOf, pluginsOf } from "../engines/conformance-work.ts";
import type { EngineChoice, FoundEngine, OrderNews, ReplayOrder } from "./replay-order.ts";
import { ReplayProgress } from "./replay-progress.ts";
import { reportText, worseText } from "./replay-table.ts";

export interface ContextReplayOptions {
  engine?: string[];
  window: number;
  agent?: string;
  json?: boolean;
  /** File of earlier figures, to compare with. */
  baseline?: string;
  /** File to write the figures to. */
  save?: string;
}

/** System prompt and tools take 26,000 of a window; an engine needs a part of the rest. */
const LEAST_WINDOW = 40_000;
/** Processes that replay at once: each holds one session in memory. */
const MOST_PROCESSES = 2;
/** Sessions in which items are looked for at most, spread over all, and the items of a kind in all of them together. */
const MOST_COMPACTED = 12;
const ITEMS = 240;
const MOST_ITEMS = 40;

/** `context replay`. Exit 1 when a figure is worse than the baseline's. */
export async function contextReplay(
  cli: Cli,
  target: string,
  options: ContextReplayOptions,
): Promise<number> {
  const { window, baseline } = options;
  if (window < LEAST_WINDOW)
    throw usageError(
      `A window of ${window} tokens is too small for a replay, which counts 26,000 tokens of system prompt and tools; take at least ${LEAST_WINDOW}.`,
    );
  const saved = baseline === undefined ? undefined : readBaseline(resolve(cli.cwd, baseline));
  const agent = agentDir(resolveHome(cli.env), options.agent ?? DEFAULT_AGENT_ID);
  const files = filesAt(resolve(cli.cwd, target)) ?? [fileOfKey(agent, target)];
  if (files.length === 0) throw usageError(`The folder ${target} has no session files (.jsonl).`);
  const replay = new Replay(cli, files, options);
  const code = await replay.run();
  if (code !== undefined) return code;
  const report = replay.report();
  if (report.sessions.length === 0) {
    const [first] = report.leftOut;
    throw usageError(
      `${target} holds no session that can be replayed: ${first?.why ?? "no file of it is one"}.`,
    );
  }
  const reason = saved && incomparable(report, saved);
  if (reason !== undefined)
    throw usageError(
      `The figures of ${baseline} cannot be compared: ${reason}; write them again with --save.`,
    );
  if (options.save !== undefined) writeReport(resolve(cli.cwd, options.save), report);
  const worse = saved ? worseFigures(report, saved) : [];
  if (options.json === true) printJson(cli, saved ? { ...report, worse } : report);
  else {
    const text = reportText(report, replay.failedSearches());
    printLine(cli.stdout, [text, ...(saved ? [worseText(worse)] : [])].join("\n\n"));
  }
  return worse.length === 0 ? EXIT_DONE : EXIT_FAILED;
}

function readBaseline(file: string): ReplayReport {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new PagurusError("usage_invalid", `The baseline cannot be read from ${file}: ${String(error)}`, {
      cause: error,
    });
  }
  const { version, engines, sessions } = recordOf(read);
  if (version !== FIGURES_VERSION || !Array.isArray(engines) || !Array.isArray(sessions))
    throw usageError(`${file} has no figures of this version of pagurus; write them with --save.`);
  return read as ReplayReport;
}

function writeReport(file: string, report: ReplayReport): void {
  try {
    writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  } catch (error) {
    throw new PagurusError(
      "store_write_failed",
      `The figures cannot be written to ${file}: ${String(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** Runs the processes and adds up what they count. */
class Replay {
  readonly #cli: Cli;
  readonly #files: readonly SessionFile[];
  readonly #options: ContextReplayOptions;
  readonly #progress: ReplayProgress;
  readonly #sessions = new Map<string, ReplayedSession>();
  readonly #leftOut = new Map<string, string>();
  readonly #counts = new Map<string, ReplayCounts>();
  /** Engines by their keys. */
  readonly #found = new Map<string, FoundEngine>();

  constructor(cli: Cli, files: readonly SessionFile[], options: ContextReplayOptions) {
    this.#cli = cli;
    this.#files = files;
    this.#options = options;
    this.#progress = new ReplayProgress(cli, files);
  }

  /** Returns the exit code of an interrupted replay. */
  async run(): Promise<number | undefined> {
    const engines = engineNames(this.#cli, this.#options.engine);
    const parts = this.#parts(engines.map((name, place) => ({ name, place })));
    this.#progress.expects(engines.length);
    const controller = new AbortController();
    const runs = parts.map(async (part) => {
      try {
        return await this.#runPart(part, controller.signal);
      } catch (error) {
        controller.abort();
        throw error;
      }
    });
    // Each process ends, and its folder is removed, before a failure is reported.
    const ended = await Promise.allSettled(runs);
    this.#progress.end();
    const failures = ended.flatMap((end) => (end.status === "rejected" ? [toPagurusError(end.reason)] : []));
    const failure = failures.find(({ code }) => code !== "turn_aborted") ?? failures[0];
    if (failure) throw failure;
    return ended.flatMap((end) => (end.status === "fulfilled" ? (end.value ?? []) : []))[0];
  }

  /** The work of each process: files in turn from the largest on, or for a single file the engines. */
  #parts(engines: readonly NamedEngine[]): ReplayPart[] {
    const most = Math.min(MOST_PROCESSES, availableParallelism());
    const paths = this.#files.toSorted((a, b) => b.bytes - a.bytes).map(({ path }) => path);
    const isDivided = paths.length > 1;
    const count = Math.min(most, isDivided ? paths.length : engines.length);
    const nth = <T>(items: readonly T[], part: number): T[] =>
      items.filter((_, index) => index % count === part);
    return Array.from({ length: count }, (_, part) =>
      isDivided ? { files: nth(paths, part), engines } : { files: paths, engines: nth(engines, part) },
    );
  }

  #runPart(part: ReplayPart, signal: AbortSignal): Promise<number | undefined> {
    const cli = this.#cli;
    return runApart<ReplayOrder, OrderNews>(cli, {
      module: new URL(`./replay-process${extname(import.meta.url)}`, import.meta.url),
      what: "replay",
      signal,
      make: (scratch) => this.#order(scratch, part),
      news: (news) => this.#take(news),
    });
  }

  #order(scratch: Scratch, { files, engines }: ReplayPart): ReplayOrder {
    const config = configOf(resolveHome(this.#cli.env));
    return {
      home: `${scratch.userHome}/.pagurus`,
      plugins: pluginsOf(this.#cli, undefined, scratch),
      compaction: config.agents?.defaults?.compaction,
      engines: engines.map((engine) => this.#choice(engine, scratch)),
      files,
      window: this.#options.window,
      compacted: this.#compacted(files),
      most: Math.min(MOST_ITEMS, Math.ceil(ITEMS / Math.min(MOST_COMPACTED, this.#files.length))),
    };
  }

  /** Of these files, those in which items are looked for: every nth of all, so that the replay of many takes no longer. */
  #compacted(files: readonly string[]): string[] {
    const every = Math.ceil(this.#files.length / MOST_COMPACTED);
    const chosen = new Set(this.#files.filter((_, index) => index % every === 0).map(({ path }) => path));
    return files.filter((file) => chosen.has(file));
  }

  #choice({ name, place }: NamedEngine, scratch: Scratch): EngineChoice {
    const path = resolve(this.#cli.cwd, name);
    if (isName(name) && (BUNDLED_ENGINES.some((id) => id === name) || !existsSync(path)))
      return { place, kind: "named", id: name };
    const { id: plugin } = findPluginEntry(path);
    const own = entryOf(configOf(resolveHome(this.#cli.env)), plugin) ?? {};
    return { place, kind: "path", path, plugin, entry: movedSettings({ ...own }, this.#cli, scratch) };
  }

  #take(news: OrderNews): void {
    if (news.type === "engine") this.#found.set(news.key, news);
    if (news.type === "session") this.#sessions.set(news.file, news.session);
    if (news.type === "left-out") {
      this.#leftOut.set(news.file, news.why);
      this.#progress.leftOut(news.file);
    }
    if (news.type === "progress") this.#progress.at(news);
    if (news.type !== "counts") return;
    const sum = this.#counts.get(news.engine) ?? noCounts();
    addCounts(sum, news.counts);
    this.#counts.set(news.engine, sum);
  }

  report(): ReplayReport {
    const paths = this.#files.map(({ path }) => path);
    return {
      version: FIGURES_VERSION,
      window: this.#options.window,
      sessions: paths.flatMap((path) => this.#sessions.get(path) ?? []),
      leftOut: [...this.#leftOut].map(([file, why]) => ({ file, why })),
      engines: this.#columns().map(({ name, counts }) => ({ id: name, figures: figuresOf(counts) })),
    };
  }

  /** A sentence for each engine with failed searches. Not in the report: an error may quote the conversation. */
  failedSearches(): string[] {
    return this.#columns().flatMap(({ name, counts: { survival } }) => {
      const { first } = survival.failed;
      return first === undefined ? [] : `Searches of ${name} failed, the first with: ${first}`;
    });
  }

  /** In the order of the command line; engines of one id, for example two versions of one, are named by their plugins' paths. */
  #columns(): { name: string; counts: ReplayCounts }[] {
    const found = [...this.#found.values()].toSorted((a, b) => a.place - b.place);
    return found.flatMap(({ key, id, from }) => {
      const counts = this.#counts.get(key);
      const isOnly = found.every((other) => other.key === key || other.id !== id);
      return counts ? [{ name: isOnly ? id : `${id} ${from}`, counts }] : [];
    });
  }
}

/** An engine as the command line names it. */
interface NamedEngine {
  name: string;
  place: number;
}

/** The work of one process. */
interface ReplayPart {
  files: readonly string[];
  engines: readonly NamedEngine[];
}

function isName(name: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(name);
}

/** The named engines, or the one in the slot. */
function engineNames(cli: Cli, named: readonly string[] | undefined): string[] {
  if (named && named.length > 0) return [...new Set(named)];
  return [configOf(resolveHome(cli.env)).plugins?.slots?.contextEngine ?? DEFAULT_CONTEXT_ENGINE];
}
