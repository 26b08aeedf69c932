/** Running other programs from the project's scripts. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The checkout's root folder, with a `/` at its end. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

export interface CommandResult {
  /** 0..255; 128 when a signal ended the program. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** `inherit` passes the output through and returns none. Default `capture`. */
  output?: "capture" | "inherit";
  /** Timeout, ms; then the program and its children are killed and the code is 124. */
  deadlineMs?: number;
}

/** Runs a program without standard input. Rejects only when it cannot be started. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const capture = options.output !== "inherit";
    const child = spawn(command, [...args], {
      cwd: options.cwd ?? ROOT,
      env: options.env ?? process.env,
      stdio: ["ignore", capture ? "pipe" : "inherit", capture ? "pipe" : "inherit"],
      // Own process group only with a timeout, to kill it as a whole; without one Ctrl-C reaches the child directly.
      detached: options.deadlineMs !== undefined,
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout?.on("data", (part: Buffer) => stdout.push(part));
    child.stderr?.on("data", (part: Buffer) => stderr.push(part));
    const group = options.deadlineMs === undefined ? undefined : guardGroup(child.pid, options.deadlineMs);
    child.once("error", (error) => {
      group?.release();
      reject(error);
    });
    child.once("close", (code) => {
      group?.release();
      resolve({
        code: group?.expired() ? 124 : (code ?? 128),
        stdout: Buffer.concat(stdout).toString("utf8"),
        stderr: Buffer.concat(stderr).toString("utf8"),
      });
    });
  });
}

/** Kills a detached child's whole group at the deadline, or when this process gets a signal to stop. */
function guardGroup(pid: number | undefined, deadlineMs: number): { release(): void; expired(): boolean } {
  let expired = false;
  const kill = (): void => {
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  };
  const timer = setTimeout(() => {
    expired = true;
    kill();
  }, deadlineMs);
  const stop = (): void => {
    kill();
    process.exit(130);
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  return {
    release() {
      clearTimeout(timer);
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
    },
    expired: () => expired,
  };
}
