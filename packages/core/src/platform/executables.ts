/**
 * The one place that turns the name of a program into a file. A program is never taken from a workspace or another folder that a
 * command of a model, or another user, can write: it would run outside of the sandbox. Starts nothing.
 */
import { isInside } from "./inside.ts";
import { accessSync, constants, statSync, type Stats } from "node:fs";
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { attempt } from "../data/attempt.ts";
import { homesOf } from "./homes.ts";
import { TOOLCHAINS } from "./toolchain-places.ts";
import { realPath } from "./real-path.ts";
import { currentFolder } from "./surroundings.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Where programs may not be. */
export interface ProgramRules {
  /** Determines the homes, and PATH unless `path` is set. */
  env: Env;
  path?: string | undefined;
  /** Workspaces besides the folder that this process was started in; absolute. */
  workspaces?: readonly string[] | undefined;
}

export interface ProgramSearch {
  /** Absolute; undefined if there is none that may be used. */
  file: string | undefined;
  /** Files of that name that were passed over, for a notice. */
  passedOver: readonly string[];
}

/** The path, if it is an executable file. */
export function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

/** A part of the home that belongs to programs: an entry with a dot, for example "~/.cargo/bin", or a toolchain's folder, "~/go/bin". */
function isOfPrograms(home: string, path: string): boolean {
  const [first = ""] = relative(home, path).split(sep);
  return first.startsWith(".") || TOOLCHAINS.some(({ at }) => isInside(join(home, at), path));
}

const BY_GROUP = 0o020;
const BY_OTHERS = 0o002;
const STICKY = 0o1000;

/** Whether another user could put a file there, or replace one. The superuser trusts no group but its own. */
function isOpenToOthers(stat: Stats, isLast: boolean): boolean {
  if ((stat.mode & BY_OTHERS) !== 0) return isLast || (stat.mode & STICKY) === 0;
  return process.getuid?.() === 0 && (stat.mode & BY_GROUP) !== 0 && stat.gid !== 0;
}

function isHeldByOthers(folder: string): boolean {
  if (process.platform === "win32") return false;
  for (let at = folder; ; at = dirname(at)) {
    const stat = attempt(() => statSync(at));
    if (!stat || isOpenToOthers(stat, at === folder)) return true;
    if (dirname(at) === at) return false;
  }
}

/** Decides for one set of rules whether programs of a folder may be started. */
function placeTest({ env, workspaces = [] }: ProgramRules): (folder: string) => boolean {
  const homes = homesOf(env);
  // What a workspace that is the whole disk holds cannot be distinguished.
  const roots = [currentFolder(), ...workspaces]
    .flatMap((root) => [resolve(root), realPath(resolve(root))])
    .filter((root) => dirname(root) !== root);
  const isProjects = (path: string): boolean => {
    const home = homes.find((each) => isInside(each, path));
    if (home !== undefined && !isOfPrograms(home, path)) return true;
    // In a workspace that holds the home, the parts of programs are read-only for commands.
    return roots.some((root) => isInside(root, path) && !(home !== undefined && isInside(root, home)));
  };
  return (folder) => {
    const real = realPath(folder);
    if (isProjects(folder) || isProjects(real) || isHeldByOthers(real)) return false;
    return folder === real || !isHeldByOthers(folder);
  };
}

/** The absolute folders of PATH, existing or not, in their order. */
export function pathFolders(path: string | undefined): string[] {
  return (path ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
}

/** PATH with a folder before its own. */
export function pathFrom(folder: string, path: string | undefined): string {
  return [folder, path ?? ""].join(delimiter);
}

function pathOf({ env, path }: ProgramRules): string | undefined {
  return path ?? env["PATH"] ?? env["Path"];
}

/**
 * PATH without folders in which a command could put a program, for programs that start others by name (`#!/usr/bin/env node`) outside
 * of the sandbox.
 */
export function safePath(rules: ProgramRules): string {
  const isAllowed = placeTest(rules);
  return pathFolders(pathOf(rules))
    .filter((folder) => isAllowed(folder))
    .join(delimiter);
}

/**
 * Finds a program by its bare name in the folders of PATH. Compares where files and folders really are: relative and empty entries of
 * PATH, links into a workspace, and folders that others can write are passed over.
 */
export function findProgram(name: string, rules: ProgramRules): ProgramSearch {
  const names = process.platform === "win32" ? [`${name}.exe`, `${name}.cmd`, name] : [name];
  const passedOver: string[] = [];
  let isAllowed: ReturnType<typeof placeTest> | undefined;
  for (const folder of (pathOf(rules) ?? "").split(delimiter)) {
    for (const each of names) {
      const file = executable(resolve(folder, each));
      if (file === undefined) continue;
      isAllowed ??= placeTest(rules);
      if (isAbsolute(folder) && isAllowed(folder) && isAllowed(dirname(realPath(file))))
        return { file, passedOver };
      passedOver.push(file);
    }
  }
  return { file: undefined, passedOver };
}

/** Finds a program as a person names it: a path is their word, a bare name is looked up. */
export function namedProgram(
  name: string,
  rules: ProgramRules & { cwd?: string | undefined },
): ProgramSearch {
  if (!/[/\\]/.test(name)) return findProgram(name, rules);
  return { file: executable(resolve(rules.cwd ?? ".", name)), passedOver: [] };
}

/** The system's error for a program that is not there, as starting it by its name gives it. */
export function missingProgram(
  name: string,
  passedOver: readonly string[],
  setting: string,
): NodeJS.ErrnoException {
  const message = `spawn ${name} ENOENT${passedOverText(passedOver, setting)}`;
  return Object.assign(new Error(message), { code: "ENOENT", syscall: `spawn ${name}`, path: name });
}

/** The end of a sentence about a program that was not found; empty if none was passed over. */
export function passedOverText(passedOver: readonly string[], setting: string): string {
  const [file] = passedOver;
  return file === undefined
    ? ""
    : ` (${file} is in a folder that commands or other users can write, so it is used only by its path in ${setting})`;
}
