/** Fetches a plugin's package with npm: first as a tarball, whose integrity is recorded, then unpacked with its dependencies. */
import { isInside } from "@pagurus/core/platform/inside";
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { objectOrListOf, parseJson, recordOf } from "@pagurus/core/data/record-fields";
import { lockedPackage } from "./install-facts.ts";
import { runNpm } from "./npm.ts";
import type { PluginSource } from "./install-source.ts";
import { noteChild } from "./staging.ts";

const NPM_DEADLINE_MS = 10 * 60_000;
const PACKAGE_NAME = /^(?:@[\w.~-]+\/)?[\w.~-]+$/;

export interface FetchOptions {
  /** Passed to npm, for the user's registry, proxy and credentials. */
  env: Record<string, string | undefined>;
  /** Allows install scripts of the plugin and of its dependencies. Default false. */
  allowScripts?: boolean;
  signal?: AbortSignal;
  /** Timeout of npm, ms. Default 10 minutes. */
  deadlineMs?: number;
}

/** Downloads the package as a tarball into the staging folder; returns its file name. */
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
  const output = await runNpm(args, npmRun(source, staging, options));
  const { filename, integrity } = packed(output, source.spec);
  // Older versions of npm print the file name with the scope's slash.
  const tarball = basename(filename.replace("@", "").replace("/", "-"));
  if (integrity !== undefined && !integrity.split(" ").includes(integrityOf(join(staging, tarball))))
    throw integrityError(source.spec);
  return tarball;
}

function packed(output: string, spec: string): { filename: string; integrity?: string } {
  const [first] = Object.values(objectOrListOf(parseJson(output)));
  const { filename, integrity } = recordOf(first);
  if (typeof filename === "string") return { filename, ...(typeof integrity === "string" && { integrity }) };
  throw new PagurusError(
    "plugin_install_failed",
    `npm did not report the file it made of ${spec}; update npm and try again.`,
  );
}

/** Unpacks the tarball with its dependencies; returns the package's name. The host's own packages are not fetched. */
export async function addPackage(
  tarball: string,
  integrity: string,
  source: PluginSource,
  staging: string,
  options: FetchOptions,
): Promise<string> {
  const fixed =
    "--ignore-scripts --no-audit --no-fund --omit=dev --no-bin-links --install-links --legacy-peer-deps --package-lock --lockfile-version=3 --save";
  // npm runs code of a git dependency to pack it, even with scripts disabled.
  const git = options.allowScripts ? [] : ["--allow-git=none"];
  const args = ["install", ...fixed.split(" "), ...git, "--", `./${tarball}`];
  await runNpm(args, npmRun(source, staging, options));
  const pkg = JSON.parse(readFileSync(join(staging, "package.json"), "utf8")) as { dependencies?: object };
  const [name = ""] = Object.keys(pkg.dependencies ?? {});
  const folder = join(staging, "node_modules", name);
  if (!PACKAGE_NAME.test(name) || !isInside(join(staging, "node_modules"), folder))
    throw new PagurusError(
      "plugin_invalid",
      `The package of ${source.spec} has no usable name; report it to its author.`,
    );
  const locked = lockedPackage(staging, name).integrity;
  if (locked !== undefined && !locked.split(" ").includes(integrity)) throw integrityError(source.spec);
  return name;
}

/** Runs the install scripts, which were held back until the package was checked. */
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
    // Otherwise a package's own .npmrc could set the git program.
    env: { ...options.env, npm_config_git: options.env["npm_config_git"] ?? "git" },
    signal: options.signal,
    deadlineMs: options.deadlineMs ?? NPM_DEADLINE_MS,
    what: source.spec,
    onStart: (pid) => noteChild(staging, pid),
  };
}

/** Integrity in npm's format. */
export function integrityOf(file: string): string {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
}

function integrityError(spec: string): PagurusError {
  return new PagurusError(
    "plugin_install_failed",
    `The package of ${spec} differs from npm's record of it; nothing was installed, try again.`,
  );
}
