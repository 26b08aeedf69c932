/** Project instructions: `AGENTS.md` or the files of other programs, of the working folder and its parents, with what they import. */
import { isInside } from "@pagurus/core/platform/inside";
import { plainText } from "@pagurus/core/data/plain-text";
import { closeSync, existsSync, fstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import {
  FOREIGN_INSTRUCTIONS,
  INSTRUCTION_GROUPS,
  LOCAL_INSTRUCTIONS,
  RULES_FOLDER,
} from "@pagurus/core/config/instruction-files";
import { attempt } from "@pagurus/core/data/attempt";
import { openInPlaceSync } from "@pagurus/core/platform/open-in-place";
import { isRepository } from "@pagurus/core/platform/repository";
import { importsOf, MOST_IMPORT_DEPTH, MOST_IMPORTS } from "./instruction-imports.ts";
import { ruleCondition, type RuleCondition } from "./rule-condition.ts";
import { systemCode } from "./tool-error.ts";
import { realPath } from "@pagurus/core/platform/real-path";

export interface ProjectInstructions {
  /** Absolute. */
  path: string;
  /** Empty where the file is unreadable. */
  text: string;
  /** Set for a file that was too long: its size, and the bytes of it in `text`. */
  cut?: { fromBytes: number; toBytes: number };
  /** Why the file could not be read, as the end of a sentence. */
  unreadable?: string;
  /** Why a rule for certain files counts for all, as the end of a sentence. */
  unconditional?: string;
}

/** Most files of a folder of rules, and how deep they are searched. */
const MOST_RULES = 20;
const MOST_RULE_DEPTH = 3;
/** Size limit of one file; a longer one is cut, and the text notes it. */
const MOST_BYTES = 32 * 1024;

/** The folders from `cwd` up to `top`, outermost first. */
function foldersBetween(top: string, cwd: string): string[] {
  const folders = [cwd];
  for (let at = cwd; at !== top && dirname(at) !== at; at = dirname(at)) folders.unshift(dirname(at));
  return folders;
}

/**
 * The last parent folder to search: the root of the repository, else the home folder, else `cwd` itself. Beyond that, files may
 * belong to other people (`/tmp/AGENTS.md`).
 */
function topFolder(cwd: string, home: string): string {
  for (let at = cwd; ; at = dirname(at)) {
    if (isRepository(at)) return at;
    if (at === home) return home;
    if (dirname(at) === at) return cwd;
  }
}

function cutText(path: string, bytes: Buffer): ProjectInstructions {
  if (bytes.length <= MOST_BYTES) return { path, text: plainText(new TextDecoder("utf-8").decode(bytes)) };
  const head = new TextDecoder("utf-8").decode(bytes.subarray(0, MOST_BYTES), { stream: true });
  return {
    path,
    text: `${plainText(head)}\n[cut: the first ${MOST_BYTES} of ${bytes.length} bytes]`,
    cut: { fromBytes: bytes.length, toBytes: MOST_BYTES },
  };
}

/** Undefined without such a regular file. An unreadable one must not stop a turn. */
function readInstructions(path: string, top: string): ProjectInstructions | undefined {
  try {
    // Most folders have no such file, and an error takes longer than a look.
    if (!statSync(path, { throwIfNoEntry: false })) return undefined;
    const real = realpathSync.native(path);
    if (!isInside(top, real))
      return { path, text: "", unreadable: "it is a link that leads out of the project" };
    const fd = openInPlaceSync(real);
    try {
      return fstatSync(fd).isFile() ? cutText(path, readFileSync(fd)) : undefined;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const code = systemCode(error) ?? "an unknown error";
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { path, text: "", unreadable: `the system says ${code}` };
  }
}

/** A file that counts: one with text, or an unreadable one. */
function filled(path: string, top: string): ProjectInstructions | undefined {
  const file = readInstructions(path, top);
  return file && (file.unreadable !== undefined || file.text.trim() !== "") ? file : undefined;
}

/** The first group with text, and unreadable files before it. */
function groupOf(folder: string, top: string, isHome: boolean): ProjectInstructions[] {
  const found: ProjectInstructions[] = [];
  for (const group of INSTRUCTION_GROUPS) {
    // `.claude` of the home folder is a program's own.
    const paths = group.filter(({ path }) => !(isHome && path.startsWith(".")));
    const files = paths.flatMap(({ path }) => filled(join(folder, path), top) ?? []);
    found.push(...files);
    if (files.some(({ unreadable }) => unreadable === undefined)) break;
  }
  return found;
}

/** Markdown files below a folder, by path; links to folders are not followed. */
function rulesIn(folder: string, depth = 0): string[] {
  // Most folders have none, and an error takes longer than a look.
  if (!existsSync(folder)) return [];
  const entries = attempt(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return entries
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return depth < MOST_RULE_DEPTH ? rulesIn(path, depth + 1) : [];
      return entry.name.endsWith(".md") ? [path] : [];
    });
}

/** All rules of a folder, with and without a condition. */
function ruleFiles(folder: string, top: string): ProjectInstructions[] {
  const paths = rulesIn(join(folder, RULES_FOLDER.path));
  const files = paths.slice(0, MOST_RULES).flatMap((path) => filled(path, top) ?? []);
  const left = paths.slice(MOST_RULES).map((path) => leftOut(path, `only ${MOST_RULES} rules are read`));
  return [...files, ...left];
}

/** Without the rules for certain files alone, which apply while a turn works on them (`conditionalRules`). */
function rulesForAll(rules: readonly ProjectInstructions[], folder: string): ProjectInstructions[] {
  return rules.flatMap((rule) => {
    const condition = ruleCondition(rule.text, folder);
    if (condition === undefined) return [rule];
    return typeof condition === "object" ? [{ ...rule, unconditional: condition.problem }] : [];
  });
}

function leftOut(path: string, unreadable: string): ProjectInstructions {
  return { path, text: "", unreadable };
}

/** Adds what a file imports, after it. Only files in `wall`, the repository or the folder of the instructions. */
class Imports {
  readonly #wall: string;
  readonly #seen: Set<string>;
  #added = 0;

  constructor(wall: string, seen: Set<string>) {
    this.#wall = wall;
    this.#seen = seen;
  }

  with(file: ProjectInstructions, depth = 0): ProjectInstructions[] {
    if (file.unreadable !== undefined) return [file];
    this.#seen.add(realPath(file.path));
    const added = importsOf(file.text, file.path).flatMap(({ written, path, isDocument }) => {
      const real = attempt(() => realpathSync.native(path));
      if (real === undefined)
        return isDocument ? [leftOut(path, `${file.path} imports it, and it does not exist`)] : [];
      if (this.#seen.has(real) || !this.#isText(real)) return [];
      if (!isInside(this.#wall, real))
        return [leftOut(path, `${file.path} imports it from outside of the project`)];
      if (depth >= MOST_IMPORT_DEPTH || this.#added >= MOST_IMPORTS)
        return [leftOut(path, `@${written} is one import too many`)];
      this.#added += 1;
      const read = filled(path, this.#wall);
      return read ? this.with(read, depth + 1) : [];
    });
    return [file, ...added];
  }

  /** A hidden file, such as `.env`, is no instruction. */
  #isText(real: string): boolean {
    if (basename(real).startsWith(".")) return false;
    return attempt(() => statSync(real).isFile()) === true;
  }
}

/** Without files that are links to earlier ones. */
function withoutLinks(files: readonly ProjectInstructions[]): ProjectInstructions[] {
  const reals = files.map(({ path }) => realPath(path));
  return files.filter((_file, at) => reals.indexOf(reals[at] ?? "") === at);
}

/** Instructions of one folder, with their imports; those of other programs are named where it has no others. */
function instructionsOf(folder: string, top: string, { isHome }: { isHome: boolean }): ProjectInstructions[] {
  const rules = isHome ? [] : ruleFiles(folder, top);
  const own = withoutLinks([
    ...groupOf(folder, top, isHome),
    ...[filled(join(folder, LOCAL_INSTRUCTIONS.path), top) ?? []].flat(),
    ...rulesForAll(rules, folder),
  ]);
  if (own.length === 0 && rules.length === 0 && !isHome)
    return FOREIGN_INSTRUCTIONS.filter(({ path }) => existsSync(join(folder, path))).map(({ of, path }) =>
      leftOut(join(folder, path), `rules of ${of} are not read here; put them into AGENTS.md`),
    );
  const seen = new Set(own.map(({ path }) => realPath(path)));
  const imports = new Imports(isRepository(top) ? top : folder, seen);
  return own.flatMap((file) => imports.with(file));
}

interface Searched {
  folder: string;
  top: string;
  isHome: boolean;
}

function searched(cwd: string, options: { home?: string | undefined }): Searched[] {
  const start = realpathSync.native(cwd);
  const home = options.home ?? homedir();
  const realHome = existsSync(home) ? realpathSync.native(home) : home;
  const top = topFolder(start, realHome);
  return foldersBetween(top, start).map((folder) => ({ folder, top, isHome: folder === realHome }));
}

/**
 * Outermost first; the same files give the same bytes. Unreadable files are listed without text. Throws the system's error when
 * `cwd` does not exist.
 */
export function projectInstructions(
  cwd: string,
  options: { home?: string | undefined } = {},
): ProjectInstructions[] {
  return searched(cwd, options).flatMap(({ folder, top, isHome }) => instructionsOf(folder, top, { isHome }));
}

export interface ConditionalRule {
  /** Absolute. */
  path: string;
  text: string;
  condition: RuleCondition;
}

/** Rules for certain files alone, outermost first. Throws the system's error when `cwd` does not exist. */
export function conditionalRules(
  cwd: string,
  options: { home?: string | undefined } = {},
): ConditionalRule[] {
  return searched(cwd, options).flatMap(({ folder, top, isHome }) =>
    (isHome ? [] : ruleFiles(folder, top)).flatMap(({ path, text }) => {
      const condition = ruleCondition(text, folder);
      return typeof condition === "function" ? [{ path, text, condition }] : [];
    }),
  );
}
