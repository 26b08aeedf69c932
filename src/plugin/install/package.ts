/** Fetches a plugin's package with npm: first as one file, whose integrity is kept, then unpacked with its dependencies. */
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { PagurusError } from "../../contract/errors.ts";
import { isInside } from "../safe-path.ts";
import { lockedPackage } from "./facts.ts";
import { runNpm } from "./npm.ts";
import type { PluginSource } from "./source.ts";
import { noteChild } from "./staging.ts";

const NPM_DEADLINE_MS = 10 * 60_000;
const PACKAGE_NAME = /^(?:@[\w.~-]+\/)?[\w.~-]+$/;

export interface FetchOptions {
  /** Handed to npm: the user's registry, proxy and credentials are found there. */
  env: Record<string, string | undefined>;
  /** Lets install scripts of the plugin and of its dependencies run. Default false. */
  allowScripts?: boolean;
  signal?: AbortSignal;
  /** Longest run of npm, ms. Default 10 minutes. */
  deadlineMs?: number;
}

/** The package as one file in the staging folder: its name there. */
export async function fetchTarball(
  source: PluginSource,
  staging: string,
  options: FetchOptions,
): Promise<string> {
  if (source.kind === "tarball") {
    copyFileSync(source.spec, join(staging, "plugin.tgz"));
    return "plugin.tgz";
  }
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination=.", "--", source.spec];
  const said = await runNpm(args, npmRun(source, staging, options));
  const { filename, integrity } = packed(said, source.spec);
  // Older versions of npm name the file with the scope's slash in it.
  const tarball = basename(filename.replace("@", "").replace("/", "-"));
  if (integrity !== undefined && !integrity.split(" ").includes(integrityOf(join(staging, tarball))))
    throw integrityError(source.spec);
  return tarball;
}

function packed(said: string, spec: string): { filename: string; integrity?: string } {
  try {
    const [first] = Object.values(JSON.parse(said) as object) as {
      filename?: unknown;
      integrity?: unknown;
    }[];
    const { filename, integrity } = first ?? {};
    if (typeof filename === "string")
      return { filename, ...(typeof integrity === "string" && { integrity }) };
  } catch {
    // Told below.
  }
  throw new PagurusError(
    "plugin_install_failed",
    `npm did not say which file it made of ${spec}; update npm and try again.`,
  );
}

/** Unpacks the tarball with its dependencies; the name of the package. Packages of the host itself are not fetched. */
export async function addPackage(
  tarball: string,
  integrity: string,
  source: PluginSource,
  staging: string,
  options: FetchOptions,
): Promise<string> {
  const fixed =
    "--ignore-scripts --no-audit --no-fund --omit=dev --no-bin-links --install-links --legacy-peer-deps --package-lock --lockfile-version=3 --save";
  // npm runs code of a git dependency to pack it, whatever is said of scripts.
  const git = options.allowScripts ? [] : ["--allow-git=none"];
  const args = ["install", ...fixed.split(" "), ...git, "--", `./${tarball}`];
  await runNpm(args, npmRun(source, staging, options));
  const pkg = JSON.parse(readFileSync(join(staging, "package.json"), "utf8")) as { dependencies?: object };
  const [name = ""] = Object.keys(pkg.dependencies ?? {});
  const folder = join(staging, "node_modules", name);
  if (!PACKAGE_NAME.test(name) || !isInside(join(staging, "node_modules"), folder))
    throw new PagurusError(
      "plugin_invalid",
      `The package of ${source.spec} has no usable name; tell its author.`,
    );
  const locked = lockedPackage(staging, name).integrity;
  if (locked !== undefined && !locked.split(" ").includes(integrity)) throw integrityError(source.spec);
  return name;
}

/** Runs the install scripts that were held back until the package was looked at. */
export async function runScripts(
  source: PluginSource,
  staging: string,
  options: FetchOptions,
): Promise<void> {
  const args = ["rebuild", "--ignore-scripts=false", "--dangerously-allow-all-scripts", "--no-bin-links"];
  await runNpm(args, npmRun(source, staging, options));
}

function npmRun(source: PluginSource, staging: string, options: FetchOptions): Parameters<typeof runNpm>[1] {
  return {
    cwd: staging,
    // Else a package's own .npmrc could say which program is git.
    env: { ...options.env, npm_config_git: options.env["npm_config_git"] ?? "git" },
    signal: options.signal,
    deadlineMs: options.deadlineMs ?? NPM_DEADLINE_MS,
    what: source.spec,
    onStart: (pid) => noteChild(staging, pid),
  };
}

/** As npm writes it. */
export function integrityOf(file: string): string {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
}

function integrityError(spec: string): PagurusError {
  return new PagurusError(
    "plugin_install_failed",
    `The package of ${spec} differs from what npm says of it; nothing was installed, try again.`,
  );
}
