/**
 * Places that programs start from on their own: git's hooks and settings, folders of programs, settings of agents,
 * editors and shells, instructions of agents. A rule decides, from the path alone: a name with a dot is such a place unless
 * `start-names.ts` says that it holds data. What a person runs by naming it (a Makefile, a test, the source) is project code.
 */
import {
  DATA_FILES,
  DATA_FOLDERS,
  DATA_INSIDE,
  DOCUMENTATION,
  ENVIRONMENT,
  INSTRUCTIONS,
  START_FILES,
} from "./start-names.ts";
import { RUN_BY_GIT } from "./git-places.ts";
import { isProjectFile } from "./project-files.ts";

/**
 * Rule of a folder's entries. `project`: names decide; `start` and `programs`: every entry is a place; `data`: only repositories; `modules`:
 * `node_modules` itself; `environment`: of Python; `git`: a git folder; `git-modules`: those of submodules; `hooks`; `rebase`;
 * `closed`: not looked into; `data-inside:NAME`: `start` but for the parts in `DATA_INSIDE`.
 */
export type Zone =
  | "project"
  | "start"
  | "programs"
  | "data"
  | "modules"
  | "environment"
  | "git"
  | "git-modules"
  | "worktrees"
  | "hooks"
  | "rebase"
  | "closed"
  | `inside:${string}`;

/** Kind of a place, which selects the comparison of old and new content. */
export type PlaceKind =
  | "git-entry"
  | "git-settings"
  | "git-common"
  | "git-hook"
  | "git-todo"
  | "program"
  | "package"
  | "settings"
  | "instructions";

/** Why a place is held back, as the middle of a sentence. */
export const REASONS: Readonly<Record<PlaceKind, string>> = {
  "git-entry": "git would run or follow it",
  "git-settings": "git would run or follow it",
  "git-common": "git would run or follow it",
  "git-hook": "git would run or follow it",
  "git-todo": "git would run its commands",
  program: "programs are started from there",
  package: "its scripts, programs or plugins changed",
  settings: "agents, editors or shells start from it",
  instructions: "agents follow it as instructions",
};

export interface Step {
  /** Rule of its entries, if it is a folder. */
  zone: Zone;
  /** Set for a place. */
  kind?: PlaceKind | undefined;
}

const NO_PLACE: Step = { zone: "data" };
const PROJECT: Step = { zone: "project" };
const ALL: Step = { zone: "start", kind: "settings" };
const PROGRAMS: Step = { zone: "programs", kind: "program" };

/** On a file system that ignores case a name in another case is the same file. */
function foldedName(name: string): string {
  return process.platform === "linux" ? name : name.toLowerCase();
}

/** Whether a file system that ignores case or some characters takes the name for `.git`. */
function isGitName(name: string): boolean {
  // Called for each name of a workspace; most begin with another letter.
  const first = name.charCodeAt(0);
  if (first > 0x20 && first < 0x7f && !".gG".includes(name.charAt(0))) return false;
  const plain = name.toLowerCase().replaceAll(/[^\x21-\x7e]/g, "");
  return plain === ".git" || (process.platform !== "linux" && /^(?:git~1|\.git[. ]+)$/.test(plain));
}

function inGit(name: string): Step {
  if (name === "hooks") return { zone: "hooks", kind: "git-hook" };
  if (name === "commondir") return { zone: "closed", kind: "git-common" };
  if (name === "gitdir") return { zone: "closed", kind: "git-entry" };
  if (RUN_BY_GIT.includes(name)) return { zone: "closed", kind: "git-settings" };
  if (name === "rebase-merge" || name === "rebase-apply") return { zone: "rebase" };
  if (name === "modules") return { zone: "git-modules" };
  return { zone: name === "worktrees" ? "worktrees" : "closed" };
}

/** A Markdown file of one upper-case word, or one of the known names where case does not matter. */
function isInstructions(name: string): boolean {
  if (!/\.md$/i.test(name)) return false;
  const [stem = "", ...rest] = name.split(".");
  if (rest.join(".") === "md" && /^[A-Z]{3,}$/.test(stem)) return !DOCUMENTATION.has(stem);
  return INSTRUCTIONS.test(name.toLowerCase()) && (/^[A-Z]/.test(name) || foldedName("A") === "a");
}

function inProject(name: string): Step {
  const plain = name.toLowerCase();
  if (name.startsWith(".")) {
    if (DATA_FOLDERS.has(plain) || DATA_FILES.test(plain)) return NO_PLACE;
    if (ENVIRONMENT.test(plain)) return { zone: "environment", kind: "settings" };
    return plain in DATA_INSIDE ? { zone: `inside:${plain}`, kind: "settings" } : ALL;
  }
  if (name === "node_modules") return { zone: "modules" };
  if (isProjectFile(plain)) return { zone: "project", kind: "package" };
  if (isInstructions(name)) return { zone: "project", kind: "instructions" };
  return isStartFile(plain) ? { zone: "project", kind: "settings" } : PROJECT;
}

/** `name`: in lower case. */
function isStartFile(name: string): boolean {
  const dot = name.lastIndexOf(".");
  const stems = START_FILES.get(dot < 0 ? "" : name.slice(dot + 1));
  return stems !== undefined && stems.test(dot < 0 ? name : name.slice(0, dot));
}

function inEnvironment(name: string): Step {
  if (name === "bin" || name === "Scripts") return PROGRAMS;
  if (/^(?:pyvenv\.cfg|(?:site|user)customize\.py|.+\.pth)$/.test(name))
    return { zone: "environment", kind: "program" };
  return { zone: "environment" };
}

/** The rule for an entry of a folder. Case: an entry `.git` is one in every zone but inside a git folder. */
export function stepInto(zone: Zone, name: string): Step {
  if (zone === "git") return inGit(foldedName(name));
  if (zone === "git-modules") return { zone: "git-modules" };
  if (zone === "worktrees") return { zone: "git" };
  if (zone === "hooks") return { zone: "hooks", ...(name.endsWith(".sample") ? {} : { kind: "git-hook" }) };
  if (zone === "rebase") return { zone: "closed", ...(name.includes("todo") ? { kind: "git-todo" } : {}) };
  if (zone === "closed") return { zone: "closed" };
  if (isGitName(name)) return { zone: "git", kind: "git-entry" };
  if (zone === "start") return ALL;
  if (zone === "programs") return PROGRAMS;
  if (zone === "data") return name === "node_modules" ? { zone: "modules" } : NO_PLACE;
  if (zone === "environment") return inEnvironment(name);
  if (zone === "modules") {
    if (!name.startsWith(".")) return NO_PLACE;
    if (name === ".bin") return PROGRAMS;
    return inProject(name);
  }
  if (zone === "project") return inProject(name);
  return DATA_INSIDE[zone.slice("inside:".length)]?.includes(name) ? NO_PLACE : ALL;
}

/** Whether a folder is a git folder itself, by the names in it: `HEAD`, and the objects or the way to those of another one. */
export function isGitFolder(names: readonly string[]): boolean {
  const has = (name: string): boolean => names.some((each) => foldedName(each) === name.toLowerCase());
  return (
    (names.includes("HEAD") || has("head")) && (names.includes("commondir") || names.includes("objects"))
  );
}

/** The place that a path below the workspace is, judged by its names, and the first name that makes it one. */
export function placeOfPath(parts: readonly string[]): { kind: PlaceKind; at: number } | undefined {
  let zone: Zone = "project";
  let at: number | undefined;
  let kind: PlaceKind | undefined;
  for (const [index, part] of parts.entries()) {
    const step = stepInto(zone, part);
    ({ zone } = step);
    ({ kind } = step);
    at = kind === undefined ? undefined : (at ?? index);
  }
  return kind === undefined || at === undefined ? undefined : { kind, at };
}
