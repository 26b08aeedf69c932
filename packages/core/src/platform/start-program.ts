/**
 * The one place that starts processes. A program is started by its absolute path, which `executables.ts` finds or a person gave, so that
 * neither the system's search nor the working folder decides what runs. None outlives the host, in whatever way that ends: after a
 * SIGKILL of the host its guard, one small shell for all children, kills them.
 */
import {
  execFile,
  fork,
  spawn,
  spawnSync,
  type ChildProcess,
  type ExecFileOptions,
  type ForkOptions,
  type SpawnOptions,
  type SpawnSyncOptions,
} from "node:child_process";
import { randomUUID } from "node:crypto";
import { isAbsolute } from "node:path";
import { promisify } from "node:util";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "../data/attempt.ts";
import { currentEnv, currentSurroundings, type Surroundings } from "./surroundings.ts";

export type { ChildProcess, SpawnOptions } from "node:child_process";

/** Variable in the environment of all that a child starts, to find the processes that left its group. Each child has a value of its own. */
const MARK = "PAGURUS_HOST";
/** Interval for checking whether a group that outlived its leader has ended, ms. */
const LOOK_MS = 1_000;

/**
 * Reads `+<pid>` and `-<pid>` until the host's end closes the pipe. A negative pid is a group, as for kill. Unless the host wrote
 * that it ends in an orderly way (`=`), also kills every process with the host's mark, where /proc shows it. Twice, since a process
 * may start another one meanwhile. Its own environment is empty, so that another host's guard does not find it.
 */
const GUARD = `pids= orderly=
while read -r line; do
  case "$line" in
    +*) pids="$pids \${line#+}" ;;
    =) orderly=1 ;;
    *)
      left=
      for pid in $pids; do [ "$pid" = "\${line#-}" ] || left="$left $pid"; done
      pids=$left ;;
  esac
done
for round in 1 2; do
  for pid in $pids; do kill -s KILL -- "$pid"; done
  [ -z "$orderly" ] && [ -d /proc/self ] || continue
  for place in $(PATH=/usr/bin:/bin grep -lsF "$1" /proc/[0-9]*/environ); do
    pid=\${place#/proc/}
    kill -s KILL "\${pid%/environ}"
  done
done`;

/** It may have ended, or be another user's. */
function signal(pid: number): void {
  attempt(() => process.kill(pid, "SIGKILL"));
}

function isSignallable(pid: number): boolean {
  return attempt(() => process.kill(pid, 0)) === true;
}

class Children {
  readonly #host = randomUUID();
  /** Running children with the pid that is signalled: a group's is negative. */
  readonly #running = new Map<ChildProcess, number>();
  /** Whose work started a child, in a process that works for several. */
  readonly #owners = new WeakMap<ChildProcess, Surroundings>();
  readonly #marks = new WeakMap<ChildProcess, string>();
  #started = 0;
  #guard: ChildProcess | undefined;
  #endsWithProcess = false;

  /**
   * Value of `MARK` for the next child; the host's part is in all of them. Called before the start, and so is the guard started: it
   * finds a child by its mark if the host is killed before the child's pid is written.
   */
  mark(): string {
    if (!this.#endsWithProcess) process.on("exit", () => this.#endAll());
    this.#endsWithProcess = true;
    this.#started += 1;
    this.#ensureGuard();
    return `${this.#host}.${this.#started}`;
  }

  track(child: ChildProcess, pid: number, mark: string): void {
    this.#running.set(child, pid);
    this.#marks.set(child, mark);
    const owner = currentSurroundings();
    if (owner) this.#owners.set(child, owner);
    this.#say(`+${pid}`);
    child.once("exit", () => this.#ended(child, pid));
  }

  markOf(child: ChildProcess): string | undefined {
    return this.#marks.get(child);
  }

  /** A group may outlive its leader; the guard keeps it until nothing of it is left, or its owner ends it. */
  #ended(child: ChildProcess, pid: number): void {
    if (pid < 0 && isSignallable(pid)) {
      setTimeout(() => this.#ended(child, pid), LOOK_MS).unref();
      return;
    }
    this.#release(child);
  }

  /** At an orderly exit. */
  #endAll(): void {
    for (const pid of this.#running.values()) signal(pid);
    this.#say("=");
  }

  /** As at an orderly exit of the process that the work would have had to itself. */
  endOf(owner: Surroundings): void {
    for (const [child, pid] of this.#running) if (this.#owners.get(child) === owner) signal(pid);
  }

  #release(child: ChildProcess): void {
    const pid = this.#running.get(child);
    if (pid === undefined) return;
    this.#running.delete(child);
    this.#say(`-${pid}`);
  }

  /** Started with the first child. A guard that was killed is replaced as long as children run. */
  #ensureGuard(): void {
    if (this.#guard || process.platform === "win32") return;
    const guard = spawn("/bin/sh", ["-c", GUARD, "pagurus-guard", `${MARK}=${this.#host}`], {
      detached: true,
      env: {},
      cwd: "/",
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#guard = guard;
    guard.stdin?.on("error", () => undefined);
    const gone = (): void => {
      if (this.#guard !== guard) return;
      this.#guard = undefined;
      if (this.#running.size === 0 || guard.pid === undefined) return;
      this.#ensureGuard();
      for (const pid of this.#running.values()) this.#say(`+${pid}`);
    };
    guard.once("error", gone);
    guard.once("exit", gone);
    // It must not keep the host running.
    guard.unref();
    (guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
  }

  /** Written at once: the kernel takes a short line for a pipe without waiting. */
  #say(line: string): void {
    this.#guard?.stdin?.write(`${line}\n`);
  }
}

/** Processes are those of this process, whichever host of it started them. */
const children = new Children();

/** Ends the children that work in these surroundings has started and left. */
export function endChildrenOf(owner: Surroundings): void {
  children.endOf(owner);
}

/** The same environment with the host's mark, before the start. */
function marked(env: NodeJS.ProcessEnv | undefined): NodeJS.ProcessEnv & { [MARK]: string } {
  return { ...(env ?? currentEnv()), [MARK]: children.mark() };
}

/** A detached child leads a group, which the guard ends as a whole. */
function guarded(child: ChildProcess, mark: string, isLeader: boolean | undefined): ChildProcess {
  if (child.pid !== undefined) children.track(child, isLeader === true ? -child.pid : child.pid, mark);
  return child;
}

/** The line in the environment of a child and of all that it starts; undefined for a child that did not start. */
export function processMark(child: ChildProcess): string | undefined {
  const mark = children.markOf(child);
  return mark === undefined ? undefined : `${MARK}=${mark}`;
}

function checked(file: string): string {
  if (isAbsolute(file)) return file;
  throw new PagurusError(
    "internal",
    `The program "${file}" would be started by its name; find its file first.`,
    {
      details: { command: file },
    },
  );
}

/** `spawn`. Throws `internal` for a path that is not absolute. */
export function startProgram(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const env = marked(options.env);
  return guarded(spawn(checked(file), [...args], { ...options, env }), env[MARK], options.detached);
}

/** Starts a program for the user that is meant to outlive us, such as a browser. The only start without a guard. */
export function startForUser(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn(checked(file), [...args], { ...options, detached: true });
}

/** Starts a program and waits for its end; returns its exit code, or null. Throws as `startProgram`. */
export function waitForProgram(
  file: string,
  args: readonly string[],
  options: SpawnSyncOptions,
): number | null {
  return spawnSync(checked(file), [...args], { ...options, env: marked(options.env) }).status;
}

/** Standard output of a program. Throws as `startProgram`, and the errors of `execFile`. */
export async function outputOf(
  file: string,
  args: readonly string[],
  options: ExecFileOptions,
): Promise<string> {
  const env = marked(options.env);
  const running = promisify(execFile)(checked(file), [...args], { ...options, env, encoding: "utf8" });
  guarded(running.child, env[MARK], false);
  return (await running).stdout;
}

/** A module of ours in a process of its own. */
export function startModule(module: string, options: ForkOptions): ChildProcess {
  const env = marked(options.env);
  return guarded(fork(checked(module), { ...options, env }), env[MARK], options.detached);
}
