/** Runs the user's npm. */
import { finished } from "node:stream/promises";
import { once } from "node:events";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { findProgram, passedOverText, safePath } from "@pagurus/core/platform/executables";
import { killGroup, spawnGroup } from "@pagurus/core/platform/process-group";

export interface NpmRun {
  cwd: string;
  env: Record<string, string | undefined>;
  signal?: AbortSignal | undefined;
  /** Timeout, ms. */
  deadlineMs: number;
  /** What is fetched, for error messages. */
  what: string;
  /** Called with the id of the child's process group, so that it can be ended if this process cannot. */
  onStart?(pid: number): void;
}

const NPM_OUTPUT_MAX_CHARS = 4_000_000;
const REASON_MAX_CHARS = 300;
/** Time between npm's SIGTERM and SIGKILL, ms. */
const NPM_GRACE_MS = 1_000;

/** Overrides for settings of the user's npm that would redirect its work. */
const HERE = [
  "--global=false",
  "--location=project",
  "--dry-run=false",
  "--workspaces=false",
  "--loglevel=error",
];

/**
 * Runs npm in its own process group and returns its standard output. At the deadline, or when the signal aborts, the group is
 * ended before this throws. Throws `plugin_install_failed`, `turn_aborted`.
 */
export async function runNpm(args: readonly string[], run: NpmRun): Promise<string> {
  const { cwd, env, signal, deadlineMs, what } = run;
  if (signal?.aborted) throw npmAborted(what);
  const { file, passedOver } = findProgram("npm", { env });
  if (file === undefined) throw notStarted(undefined, passedOver);
  const child = spawnGroup(file, [...args.slice(0, 1), ...HERE, ...args.slice(1)], {
    cwd,
    // npm is a script that finds its node by name.
    env: { ...env, PATH: safePath({ env }) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (child.pid !== undefined) run.onStart?.(child.pid);
  const output = { out: "", err: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    if (output.out.length < NPM_OUTPUT_MAX_CHARS) output.out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.err = (output.err + text).slice(-NPM_OUTPUT_MAX_CHARS);
  });
  const stopped = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]);
  let forced: NodeJS.Timeout | undefined;
  const stop = (): void => {
    killGroup(child, "SIGTERM");
    forced = setTimeout(() => killGroup(child, "SIGKILL"), NPM_GRACE_MS);
  };
  stopped.addEventListener("abort", stop, { once: true });
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    if (stopped.aborted) throw signal?.aborted ? npmAborted(what) : late(what, deadlineMs);
    await drained([child.stdout, child.stderr]);
    if (code !== 0) throw failed(what, output.err, code);
    return output.out;
  } catch (error) {
    throw isPagurusError(error) ? error : notStarted(error);
  } finally {
    stopped.removeEventListener("abort", stop);
    clearTimeout(forced);
    // npm scripts may leave child processes.
    if (stopped.aborted) killGroup(child, "SIGKILL");
  }
}

/** npm's output by its end; a child that holds the pipes open is not waited for. */
async function drained(streams: readonly (NodeJS.ReadableStream | null)[]): Promise<void> {
  const signal = AbortSignal.timeout(NPM_GRACE_MS);
  await Promise.allSettled(streams.flatMap((stream) => (stream ? [finished(stream, { signal })] : [])));
}

function npmAborted(what: string): PagurusError {
  return new PagurusError("turn_aborted", `Installing ${what} was aborted; nothing was changed.`);
}

function late(what: string, ms: number): PagurusError {
  return new PagurusError(
    "plugin_install_failed",
    `npm took longer than ${Math.round(ms / 1000)} s for ${what}; check the network and the registry, and try again.`,
  );
}

function notStarted(cause: unknown, passedOver: readonly string[] = []): PagurusError {
  const { code = "ENOENT", message } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  return new PagurusError(
    "plugin_install_failed",
    code === "ENOENT"
      ? `The program npm is not found${passedOverText(passedOver, "PATH")}; install Node.js with npm, or put npm on the PATH.`
      : `The program npm cannot be started (${message}); check its installation.`,
    { cause },
  );
}

/** npm's own error: its code and its first informative line. */
function failed(what: string, stderr: string, code: number | null): PagurusError {
  const lines = stderr
    .split("\n")
    .flatMap((line) => /^npm (?:error|ERR!) ?(.*)$/.exec(line)?.[1]?.trim() ?? [])
    .filter((line) => line !== "");
  const named = lines.find((line) => line.startsWith("code "))?.slice("code ".length);
  if (named === "EALLOWGIT")
    return new PagurusError(
      "plugin_install_failed",
      `A dependency of ${what} is a git repository, whose code npm would run to prepare it; --allow-scripts allows that.`,
      { details: { npm: named } },
    );
  // The lines of E404 begin with its number.
  const message = lines
    .find((line) => !/^(code|errno|syscall|path|A complete log)\b/.test(line))
    ?.replace(/^\d{3} /, "");
  const text = [named, message].filter((part) => part !== undefined).join(": ");
  const why =
    text === "" ? `exit code ${code ?? "unknown"}` : withoutPasswords(text).slice(0, REASON_MAX_CHARS);
  return new PagurusError(
    "plugin_install_failed",
    `npm could not fetch ${what} (${why.replace(/\.$/, "")}); check the name and the network, and try again.`,
    { details: { npm: named ?? code } },
  );
}

/** A URL may contain a user and a password. */
function withoutPasswords(text: string): string {
  return text.replaceAll(/:\/\/[^/@\s]+@/g, "://");
}
