import { closeSync, openSync, readSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { executable, findProgram, namedProgram, passedOverText } from "@pagurus/core/platform/executables";

const PACKAGE = "@anthropic-ai/claude-code";
const SETTING = "plugins.entries.claude-cli.config.command";
const HOW_TO_INSTALL = `install it with \`npm install -g ${PACKAGE}\``;

export interface FindClaudeOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** A path, or a name to look up on PATH. */
  command?: string | undefined;
  /** Folder whose `node_modules` are searched last. Default: the host's own. */
  from?: string | undefined;
}

/** Path of Claude Code: as configured, else on PATH, else in the npm package next to the host. Starts no program. */
export function findClaude({
  command,
  env,
  from,
}: FindClaudeOptions): { command: string } | { reason: string } {
  if (command !== undefined && command !== "") {
    const { file, passedOver } = namedProgram(command, { env });
    if (file !== undefined) return native(file);
    const why = passedOverText(passedOver, SETTING);
    return {
      reason: `The configured program of Claude Code \`${command}\` was not found${why}; correct it or ${HOW_TO_INSTALL}.`,
    };
  }
  const { file, passedOver } = findProgram("claude", { env });
  if (file !== undefined) return native(file);
  const found = inPackage(from ?? import.meta.url);
  if (found !== undefined) return { command: found };
  const why = passedOverText(passedOver, SETTING);
  return {
    reason: `Claude Code was found neither on PATH${why} nor as the package ${PACKAGE}; ${HOW_TO_INSTALL}.`,
  };
}

/** Start of the script that is in the program's place until the package's install script has run. */
const STUB = "claude native binary not installed";
const STUB_BYTES = 4_096;

/** The program itself, also when the package was installed without its scripts and left a stub that cannot run. */
function native(command: string): { command: string } | { reason: string } {
  if (!isStub(command)) return { command };
  const file = realpathSync(command);
  const found = nativeBeside(file);
  if (found !== undefined) return { command: found };
  const script = join(dirname(dirname(file)), "install.cjs");
  return {
    reason: `Claude Code at ${command} was installed without its native program (npm with --ignore-scripts or --omit=optional); run \`node ${script}\`, or ${HOW_TO_INSTALL} with scripts and optional packages.`,
  };
}

function isStub(command: string): boolean {
  const bytes = Buffer.alloc(STUB_BYTES);
  try {
    const file = openSync(command, "r");
    try {
      return bytes.toString("latin1", 0, readSync(file, bytes, 0, STUB_BYTES, 0)).includes(STUB);
    } finally {
      closeSync(file);
    }
  } catch {
    // A program that may be run but not read is not a script.
    return false;
  }
}

function inPackage(from: string): string | undefined {
  const base = from.startsWith("file:") ? from : join(resolve(from), "host.js");
  try {
    return nativeBeside(createRequire(base).resolve(`${PACKAGE}/package.json`));
  } catch {
    // The package is not installed there.
    return undefined;
  }
}

/** The native program of this platform, which has a package of its own. `file`: one of the main package's files. */
function nativeBeside(file: string): string | undefined {
  const name = process.platform === "win32" ? "claude.exe" : "claude";
  for (const variant of ["", "-musl"]) {
    const platform = `${PACKAGE}-${process.platform}-${process.arch}${variant}`;
    // It cannot be resolved when it is for another platform or C library.
    const manifest = attempt(() => createRequire(file).resolve(`${platform}/package.json`));
    const found = manifest === undefined ? undefined : executable(join(dirname(manifest), name));
    if (found !== undefined) return found;
  }
  return undefined;
}
