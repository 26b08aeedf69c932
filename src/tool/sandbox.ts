/**
 * A wall around shell commands, where the platform has one: they may write in the workspace and the temporary
 * folders only. Reading and the network stay as they are.
 */
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { findProgram } from "./find-program.ts";
import { isInside } from "./workspace.ts";

export interface SandboxReport {
  kind: "bwrap" | "sandbox-exec" | "none";
  /** One sentence for a person. */
  detail: string;
}

export interface Sandbox {
  readonly report: SandboxReport;
  /** What to start instead of `command`: the same with the sandbox around it. */
  wrap(command: readonly string[]): string[];
}

export interface SandboxOptions {
  setting: "auto" | "off" | "require";
  /** Absolute, without symbolic links. */
  root: string;
  env: Record<string, string | undefined>;
}

const PROBE_TIMEOUT_MS = 5_000;
const CONFINED = "Shell commands can write only in the workspace and the temporary folders";

function none(reason: string): Sandbox {
  return {
    report: { kind: "none", detail: `Shell commands run without a sandbox: ${reason}.` },
    wrap: (command) => [...command],
  };
}

/** Folders that a command may write in: absolute, without symbolic links. */
export function writableFolders(root: string, env: Record<string, string | undefined>): string[] {
  const folders = [root];
  for (const folder of [env["TMPDIR"], tmpdir(), "/tmp", "/var/tmp"]) {
    if (folder === undefined || !folder.startsWith("/")) continue;
    let real: string;
    try {
      real = realpathSync.native(folder);
    } catch {
      // A folder that does not exist needs no permission.
      continue;
    }
    if (real !== "/" && !folders.some((other) => isInside(other, real))) folders.push(real);
  }
  // Outer folders first: a bind of one would cover what was bound inside it before.
  return folders.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
}

/** Arguments of bubblewrap before the command. Without capabilities the superuser cannot mount its way out. */
export function bwrapArguments(writable: readonly string[], processes: "own" | "shared"): string[] {
  const own = processes === "own" ? ["--unshare-pid", "--proc", "/proc"] : [];
  const binds = writable.flatMap((folder) => ["--bind", folder, folder]);
  const base = ["--ro-bind", "/", "/", "--dev", "/dev"];
  return [...base, ...own, ...binds, "--cap-drop", "ALL", "--die-with-parent", "--"];
}

/** A profile for macOS's sandbox-exec: everything but writing, and writing in a few places. */
export function seatbeltProfile(writable: readonly string[]): string {
  const quoted = writable.map((folder) => `(subpath "${folder.replaceAll(/["\\]/g, String.raw`\$&`)}")`);
  return [
    "(version 1)",
    "(allow default)",
    "(deny file-write*)",
    `(allow file-write* ${quoted.join(" ")} (subpath "/dev/fd") (literal "/dev/null") (literal "/dev/zero")`,
    `  (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr"))`,
  ].join("\n");
}

function works(command: readonly string[]): boolean {
  const [program = "", ...rest] = command;
  return spawnSync(program, rest, { stdio: "ignore", timeout: PROBE_TIMEOUT_MS }).status === 0;
}

function linuxSandbox(options: SandboxOptions): Sandbox {
  const program = findProgram("bwrap", options.env["PATH"]);
  if (program === undefined) return none("bubblewrap (bwrap) is not installed");
  const writable = writableFolders(options.root, options.env);
  // Inside a container a process namespace or a fresh /proc may be forbidden while the rest works.
  for (const processes of ["own", "shared"] as const) {
    const prefix = [program, ...bwrapArguments(writable, processes)];
    if (!works([...prefix, "true"])) continue;
    return {
      report: { kind: "bwrap", detail: `${CONFINED} (bubblewrap).` },
      wrap: (command) => [...prefix, ...command],
    };
  }
  return none("bubblewrap is installed, but the system does not let it make namespaces");
}

function macSandbox(options: SandboxOptions): Sandbox {
  const program = "/usr/bin/sandbox-exec";
  const prefix = [program, "-p", seatbeltProfile(writableFolders(options.root, options.env))];
  if (!works([...prefix, "/usr/bin/true"])) return none("sandbox-exec does not work on this system");
  return {
    report: { kind: "sandbox-exec", detail: `${CONFINED} (sandbox-exec).` },
    wrap: (command) => [...prefix, ...command],
  };
}

/** Looks for a sandbox and tries it out, which starts a process. Never throws. */
export function createSandbox(options: SandboxOptions): Sandbox {
  if (options.setting === "off") return none("the configuration turns it off");
  if (options.root === "/") return none("the workspace is the whole file system");
  if (process.platform === "linux") return linuxSandbox(options);
  if (process.platform === "darwin") return macSandbox(options);
  return none(`there is none for ${process.platform}`);
}
