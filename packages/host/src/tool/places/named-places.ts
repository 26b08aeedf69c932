/** Decides for one path whether it is a place that programs start from, and whether a rule of the user names it. */
import { isInside } from "@pagurus/core/platform/inside";
import { existsSync, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { pathFolders } from "@pagurus/core/platform/executables";
import { readRegularFile } from "@pagurus/core/platform/regular-file";
import { globMatcher } from "../files/glob-pattern.ts";
import { pathsInHook, pathsInSettings } from "./git-settings.ts";
import { scriptsNamedIn } from "./started-scripts.ts";
import { placeOfPath, type PlaceKind } from "./start-places.ts";
import { filesNamedByUser, gitSettingsOfUser } from "./user-places.ts";

export interface StartPlace {
  kind: PlaceKind;
  /** Names below the workspace, from the first one that makes it a place: `.vscode`, `tasks.json`. */
  names: readonly string[];
}

export interface PlaceSearch {
  /** Absolute, without links. */
  root: string;
  env: Record<string, string | undefined>;
  /** Git folders of the repository that contains `root`. */
  gitFolders: readonly string[];
}

function textOf(file: string): string {
  try {
    return (readRegularFile(file) ?? "").slice(0, 64 * 1024);
  } catch {
    // Most of the looked for files do not exist.
    return "";
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Nothing is found in an unreadable folder.
    return [];
  }
}

/** Targets of links that are places themselves: programs in `node_modules/.bin`, `CLAUDE.md` that is a link. */
function linkTargets(root: string): string[] {
  const candidates = [
    ...namesIn(root)
      .filter((name) => placeOfPath([name]) !== undefined)
      .map((name) => join(root, name)),
    ...namesIn(join(root, "node_modules", ".bin")).map((name) => join(root, "node_modules", ".bin", name)),
  ];
  return candidates.flatMap((path) => {
    try {
      return lstatSync(path).isSymbolicLink() ? [resolve(dirname(path), readlinkSync(path))] : [];
    } catch {
      // It has just been removed.
      return [];
    }
  });
}

/** Files that settings in the workspace's own folder, and in folders with a dot there, start without being asked. */
function startedScripts(root: string): string[] {
  const files = namesIn(root).flatMap((name) => {
    if (placeOfPath([name])?.kind !== "settings") return [];
    const inner = name.startsWith(".") ? namesIn(join(root, name)) : [];
    return inner.length === 0 ? [join(root, name)] : inner.map((each) => join(root, name, each));
  });
  return files
    .flatMap((file) => {
      const bases = [root, dirname(file), dirname(dirname(file))];
      return scriptsNamedIn(file, textOf(file)).flatMap((path) => bases.map((base) => resolve(base, path)));
    })
    .filter(
      (path) => isInside(root, path) && lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true,
    );
}

/** Paths in the workspace that other places name, so that what is written there is run. */
function ledTo({ root, env, gitFolders }: PlaceSearch): Map<string, PlaceKind> {
  const named = gitFolders.flatMap((folder) => [
    ...["config", "config.worktree"].flatMap((name) => pathsInSettings(textOf(join(folder, name)))),
    ...namesIn(join(folder, "hooks")).flatMap((name) =>
      name.endsWith(".sample") ? [] : pathsInHook(textOf(join(folder, "hooks", name))),
    ),
  ]);
  named.push(...gitSettingsOfUser(env).flatMap(pathsInSettings));
  const bases = [root, ...gitFolders.flatMap((folder) => [folder, dirname(folder)])];
  const hooks = named.flatMap((written) => bases.map((base) => resolve(base, written)));
  const programs = [...pathFolders(env["PATH"]), ...filesNamedByUser(root, env)];
  return new Map([
    ...startedScripts(root).map((path): [string, PlaceKind] => [path, "settings"]),
    ...hooks.map((path): [string, PlaceKind] => [path, "git-hook"]),
    ...[...programs, ...linkTargets(root)].map((path): [string, PlaceKind] => [path, "program"]),
  ]);
}

/** Creates the test of paths; what other files name is read at its first use. */
export function startPlaces(search: PlaceSearch): (path: string) => StartPlace | undefined {
  const { root } = search;
  let led: Map<string, PlaceKind> | undefined;
  return (path) => {
    if (path === root || !isInside(root, path)) return undefined;
    const parts = relative(root, path).split(sep);
    const own = placeOfPath(parts);
    if (own) return { kind: own.kind, names: parts.slice(own.at) };
    led ??= ledTo(search);
    for (let [at, folder] = [parts.length, path]; at > 0; at -= 1, folder = dirname(folder)) {
      const kind = led.get(folder) ?? (isEnvironmentBin(folder) ? "program" : undefined);
      if (kind !== undefined) return { kind, names: parts.slice(at - 1) };
    }
    return undefined;
  };
}

function isEnvironmentBin(folder: string): boolean {
  return /[\\/](?:bin|Scripts)$/.test(folder) && existsSync(join(dirname(folder), "pyvenv.cfg"));
}

/** Whether a segment of a rule's pattern names one of the names: `.vscode` or `.env*`, but not `*` or `*.json`. */
export function namesPlace(match: string, names: readonly string[]): boolean {
  return match.split("/").some((segment) => {
    if (segment === "" || /^[*?[{]/.test(segment)) return false;
    try {
      const fits = globMatcher(segment);
      return names.some(fits);
    } catch {
      // A segment alone may be half of a group with a slash.
      return false;
    }
  });
}
