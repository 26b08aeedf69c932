import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { executable, onPath } from "../../platform/executables.ts";

const PACKAGE = "@anthropic-ai/claude-code";
const HOW_TO_INSTALL = `install it with \`npm install -g ${PACKAGE}\``;

export interface FindClaudeOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** A path, or a name to look for on PATH. */
  command?: string | undefined;
  /** Folder whose `node_modules` are looked through last. Default: the host's own. */
  from?: string | undefined;
}

/** Where Claude Code is: as configured, else on PATH, else in the npm package beside the host. Starts nothing. */
export function findClaude({
  command,
  env,
  from,
}: FindClaudeOptions): { command: string } | { reason: string } {
  if (command !== undefined && command !== "") {
    const found = /[/\\]/.test(command)
      ? executable(resolve(command))
      : onPath(command, env["PATH"] ?? env["Path"]);
    if (found !== undefined) return { command: found };
    return {
      reason: `The configured program of Claude Code \`${command}\` is not there; correct it or ${HOW_TO_INSTALL}.`,
    };
  }
  const found = onPath("claude", env["PATH"] ?? env["Path"]) ?? inPackage(from ?? import.meta.url);
  if (found !== undefined) return { command: found };
  return {
    reason: `Claude Code was found neither on PATH nor as the package ${PACKAGE}; ${HOW_TO_INSTALL}.`,
  };
}

/** The package holds one native program for each platform, in a package of its own. */
function inPackage(from: string): string | undefined {
  try {
    const base = from.startsWith("file:") ? from : join(resolve(from), "host.js");
    const platform = `${PACKAGE}-${process.platform}-${process.arch}`;
    const manifest = createRequire(createRequire(base).resolve(`${PACKAGE}/package.json`)).resolve(
      `${platform}/package.json`,
    );
    return executable(join(dirname(manifest), process.platform === "win32" ? "claude.exe" : "claude"));
  } catch {
    return undefined;
  }
}
