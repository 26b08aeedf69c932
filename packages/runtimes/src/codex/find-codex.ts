import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { findProgram, namedProgram, passedOverText } from "@pagurus/core/platform/executables";

const PACKAGE = "@openai/codex";
const SETTING = "plugins.entries.codex.config.command";
const HOW_TO_INSTALL = `install it with \`npm install -g ${PACKAGE}\``;

export interface FoundCodex {
  command: string;
  /** Arguments before `app-server`. */
  args: string[];
}

export interface FindCodexOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** A path, or a name to look up on PATH. */
  command?: string | undefined;
  /** Folder, file or file URL whose `node_modules` are searched last. Default: the host's own. */
  from?: string | undefined;
}

/** Path of the Codex program: as configured, else on PATH, else in the npm package next to the host. Starts no program. */
export function findCodex(options: FindCodexOptions): FoundCodex | { reason: string } {
  const { command, env } = options;
  if (command !== undefined && command !== "") {
    const { file, passedOver } = namedProgram(command, { env });
    if (file !== undefined) return { command: file, args: [] };
    const why = passedOverText(passedOver, SETTING);
    return {
      reason: `The configured Codex program \`${command}\` is not there${why}; correct it or ${HOW_TO_INSTALL}.`,
    };
  }
  const { file, passedOver } = findProgram("codex", { env });
  if (file !== undefined) return { command: file, args: [] };
  const script = inPackage(options.from ?? import.meta.url);
  if (script !== undefined) return { command: process.execPath, args: [script] };
  const why = passedOverText(passedOver, SETTING);
  return {
    reason: `Codex was found neither on PATH${why} nor as the package ${PACKAGE}; ${HOW_TO_INSTALL}.`,
  };
}

function inPackage(from: string): string | undefined {
  try {
    const base = from.startsWith("file:") ? from : join(resolve(from), "host.js");
    const manifest = createRequire(base).resolve(`${PACKAGE}/package.json`);
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin?: string | Record<string, string> };
    const script = typeof bin === "string" ? bin : bin?.["codex"];
    return script === undefined ? undefined : join(dirname(manifest), script);
  } catch {
    return undefined;
  }
}
