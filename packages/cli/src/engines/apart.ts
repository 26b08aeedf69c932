/** Runs the code of plugins in a child process with its own home, temporary folder and environment. */
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, relative, isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { PagurusError } from "@pagurus/contract/errors";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import { killGroup } from "@pagurus/core/platform/process-group";
import { startModule, type ChildProcess } from "@pagurus/core/platform/start-program";
import { printLine, type Cli } from "../cli.ts";
import { EXIT_INTERRUPTED } from "../cli-failure.ts";
import { errorOf, isEnd, type ApartOrder } from "./apart-job.ts";

/** Timeout for the rest of the process's output after its end, ms: another process may hold its outputs. */
const OUTPUT_MS = 1_000;

/** Folders of a run; all are removed with it. */
export interface Scratch {
  root: string;
  /** Home of the user that the suite's process runs as. */
  userHome: string;
}

export interface ApartWork<Job, News> {
  /** The module of the process; it calls `serveJob`. */
  module: URL;
  /** Subject of the sentence about a process that ended early, for example `suite`. */
  what: string;
  make(scratch: Scratch): Job;
  /** Aborts the job, as an interrupt does, but for the exit code. */
  signal?: AbortSignal;
  /** Called with each message of the process. */
  news(news: News): void;
}

/**
 * Runs the job that `make` returns; `news` is called with its results. Returns `EXIT_INTERRUPTED` for an interrupted run, else
 * undefined. Throws the job's error.
 */
export async function runApart<Job, News extends { type: string }>(
  cli: Cli,
  work: ApartWork<Job, News>,
): Promise<number | undefined> {
  let root: string | undefined;
  const remove = (): void => {
    if (root !== undefined) rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  };
  let interrupted = false;
  let child: ChildProcess | undefined;
  const abort = (): void => {
    if (child?.connected) child.send({ type: "abort" } satisfies ApartOrder<Job>);
  };
  work.signal?.addEventListener("abort", abort, { once: true });
  // Before the folder exists: a signal without a listener ends the process and would leave it.
  const stop = cli.onInterrupt(() => {
    if (interrupted) {
      if (child) killGroup(child, "SIGKILL");
      remove();
      // After the listeners of other such processes, which remove their folders.
      queueMicrotask(() => cli.exit(EXIT_INTERRUPTED));
      return;
    }
    interrupted = true;
    abort();
  });
  try {
    root = mkdtempSync(join(tmpdirOf(cli), `pagurus-${work.what}-`));
    const scratch = { root, userHome: join(root, "home") };
    const job = work.make(scratch);
    child = startProcess(cli, scratch, work.module);
    const failure = await processEnd(cli, child, job, work);
    if (interrupted) {
      printLine(cli.stderr, "The run was interrupted.");
      return EXIT_INTERRUPTED;
    }
    if (failure) throw failure;
    return undefined;
  } finally {
    if (child) killGroup(child, "SIGKILL");
    remove();
    stop();
    work.signal?.removeEventListener("abort", abort);
  }
}

function startProcess(cli: Cli, { root, userHome }: Scratch, module: URL): ChildProcess {
  const own = {
    HOME: userHome,
    USERPROFILE: userHome,
    TMPDIR: join(root, "tmp"),
    TMP: join(root, "tmp"),
    TEMP: join(root, "tmp"),
    XDG_CONFIG_HOME: join(userHome, ".config"),
    XDG_DATA_HOME: join(userHome, ".local/share"),
    XDG_STATE_HOME: join(userHome, ".local/state"),
    XDG_CACHE_HOME: join(userHome, ".cache"),
    APPDATA: join(userHome, "AppData/Roaming"),
    LOCALAPPDATA: join(userHome, "AppData/Local"),
    OPENCLAW_HOME: userHome,
    OPENCLAW_STATE_DIR: join(userHome, ".openclaw"),
    PAGURUS_HOME: join(userHome, ".pagurus"),
  };
  const cwd = join(root, "work");
  for (const folder of [...Object.values(own), cwd]) mkdirSync(folder, { recursive: true });
  return startModule(fileURLToPath(module), {
    cwd,
    env: { ...childEnvironment(cli.env), ...own, PAGURUS_NO_PROBE: "1" },
    // Ctrl-C of a terminal reaches this process alone, which ends the other in an orderly way.
    detached: true,
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
}

/** Waits for the end of the process; returns the reason if there is no result. */
function processEnd<Job, News extends { type: string }>(
  cli: Cli,
  child: ChildProcess,
  job: Job,
  { what, news }: ApartWork<Job, News>,
): Promise<PagurusError | undefined> {
  // A plugin's output is not part of the command's output.
  for (const output of [child.stdout, child.stderr])
    output?.on("data", (data: Buffer) => void cli.stderr.write(data));
  let failure: PagurusError | undefined;
  let done = false;
  child.on("message", (message: News) => {
    if (isEnd(message)) {
      done = true;
      if (message.type === "failed") failure = errorOf(message);
    }
    news(message);
  });
  child.send({ type: "run", job } satisfies ApartOrder<Job>);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      const ended = (): void => resolve(done ? failure : endedEarly(what, signal ?? code));
      const timer = setTimeout(ended, OUTPUT_MS);
      child.once("close", () => {
        clearTimeout(timer);
        ended();
      });
      killGroup(child, "SIGKILL");
    });
  });
}

function endedEarly(what: string, how: string | number | null): PagurusError {
  return new PagurusError(
    "plugin_failed",
    `The process of the ${what} ended (${how}) before the ${what} did; a plugin that calls process.exit() or crashes cannot be tested.`,
  );
}

function tmpdirOf(cli: Cli): string {
  return cli.env["TMPDIR"] ?? tmpdir();
}

/**
 * Copies a plugin's settings with the paths under the user's home moved to the scratch home, so that a store named there is not
 * touched. A program keeps its path.
 */
export function movedSettings<T>(value: T, cli: Cli, scratch: Scratch): T {
  const home = cli.env["HOME"] ?? homedir();
  const move = (each: unknown): unknown => {
    if (typeof each === "string") return movedPath(each, home, scratch.userHome);
    if (Array.isArray(each)) return each.map(move);
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, inner]) => [key, move(inner)]));
  };
  return move(value) as T;
}

function movedPath(text: string, home: string, to: string): string {
  const path = text === "~" || text.startsWith("~/") ? join(home, text.slice(1)) : text;
  if (!isAbsolute(path)) return text;
  const below = relative(home, path);
  if (below.startsWith("..") || isAbsolute(below) || isProgram(path)) return path;
  return join(to, below);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Missing or not executable.
    return false;
  }
}
