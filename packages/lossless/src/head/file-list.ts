/** File lists of a head: grouped by root, state and folder, each named once, so that many files fit. */
import { readFileLine } from "@pagurus/core/compaction/summary/touched-files";
import { estimateTokens } from "@pagurus/core/tokens/estimate";

interface Listed {
  path: string;
  /** State as in `fileLine`, without the number of lines: that would put every file in its own group. */
  state: string;
}

/** Names that are allowed between braces. */
const PLAIN_PATH = /^[^\s,{}]+$/;
/** Overhead of a root's line beside its name, characters. */
const ROOT_LINE = 8;

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/** Paths below `root`, grouped by folder: `a/{x.ts, y.ts}, b.ts`. */
function byFolder(paths: readonly string[], root: string): string {
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    const folder = folderOf(path);
    const isPlain = PLAIN_PATH.test(path.slice(folder.length));
    const key = isPlain ? folder : path;
    folders.set(key, [...(folders.get(key) ?? []), path.slice(folder.length)]);
  }
  const shown = [...folders].map(([folder, names]) => {
    const within = folder.slice(root.length);
    if (names.length > 1 && within !== "") return `${within}{${names.join(", ")}}`;
    return names.map((name) => folderOf(folder).slice(root.length) + name).join(", ");
  });
  return shown.join(", ");
}

interface Folder {
  path: string;
  files: number;
  folders: Map<string, Folder>;
}

/** Tree of the folders of absolute paths; a relative path has no root. */
function treeOf(paths: readonly string[]): Folder {
  const top: Folder = { path: "/", files: 0, folders: new Map() };
  for (const path of paths) {
    let at = top;
    for (const name of path.split("/").slice(1, -1)) {
      const next = at.folders.get(name) ?? { path: `${at.path}${name}/`, files: 0, folders: new Map() };
      at.folders.set(name, next);
      at = next;
    }
    at.files += 1;
  }
  return top;
}

interface Rooted {
  roots: string[];
  /** Characters that folders and roots take. */
  cost: number;
  /** Folders with files below, and the characters of their paths. */
  count: number;
  characters: number;
}

/** The roots below a folder that make its paths shortest. */
function rootsOf(folder: Folder): Rooted {
  const below = [...folder.folders.values()].map(rootsOf);
  const own = folder.files > 0 ? 1 : 0;
  const count = below.reduce((sum, item) => sum + item.count, own);
  const characters = below.reduce((sum, item) => sum + item.characters, own * folder.path.length);
  const whole = {
    roots: [folder.path],
    cost: folder.path.length + ROOT_LINE + characters - count * folder.path.length,
  };
  const parts = {
    roots: below.flatMap(({ roots }) => roots),
    cost: below.reduce((sum, item) => sum + item.cost, own * folder.path.length),
  };
  const best = whole.cost < parts.cost ? whole : parts;
  return { ...best, count, characters };
}

/** The files that fit the budget: changed ones before those only read, newest first. */
function chosen(files: readonly Listed[], budget: number): Listed[] {
  const known = new Set<string>();
  const taken = new Set<Listed>();
  let left = budget;
  for (const reads of [false, true]) {
    for (const file of files.toReversed()) {
      if ((file.state === "read") !== reads) continue;
      const folder = folderOf(file.path);
      const isKnown = known.has(`${file.state} ${folder}`);
      left -= estimateTokens(`, ${isKnown ? file.path.slice(folder.length) : file.path}`);
      if (left < 0) return files.filter((item) => taken.has(item));
      known.add(`${file.state} ${folder}`);
      taken.add(file);
    }
  }
  return [...files];
}

/** Groups lines of `fileLine` within a token budget; when not all fit, the last changed files are preferred. */
export function listFiles(lines: readonly string[], budget: number): string[] {
  const all = lines.flatMap((line): Listed[] => {
    const file = readFileLine(line);
    const state = line.slice((file?.path.length ?? 0) + 2, -1).replace(/, \d+ lines?/, "");
    return file ? [{ path: file.path, state }] : [];
  });
  const files = chosen(all, budget);
  const absolute = files.flatMap(({ path }) => (path.startsWith("/") ? [path] : []));
  const roots = rootsOf(treeOf(absolute)).roots.filter((root) => root !== "/");
  const rootOf = (path: string): string => roots.find((root) => path.startsWith(root)) ?? "";
  return ["", ...roots].flatMap((root) => {
    const under = files.filter(({ path }) => rootOf(path) === root);
    const states = [...new Set(under.map(({ state }) => state))];
    const listed = states.map((state) => {
      const paths = under.filter((file) => file.state === state).map(({ path }) => path);
      return `${state}: ${byFolder(paths, root)}`;
    });
    return root === "" || listed.length === 0 ? listed : [`in ${root}:`, ...listed];
  });
}

/** Parses a list back into lines of `fileLine`. */
export function readFileList(texts: readonly string[]): string[] {
  let root = "";
  return texts.flatMap((text) => {
    const under = /^in (\/.*\/):$/.exec(text)?.[1];
    if (under !== undefined) {
      root = under;
      return [];
    }
    const match = /^([a-z]+(?: failed)?(?:, last [a-z]+ failed)?): (.+)$/.exec(text);
    const [, state, paths] = match ?? [];
    if (state === undefined || paths === undefined) return [];
    return paths.split(/, (?![^{]*\})/).flatMap((item) => {
      const [, folder, names] = /^(.*\/)\{(.+)\}$/.exec(item) ?? [];
      const whole = names === undefined ? [item] : names.split(", ").map((name) => `${folder ?? ""}${name}`);
      return whole.flatMap((path) => {
        const line = `${root}${path} (${state})`;
        return readFileLine(line) ? [line] : [];
      });
    });
  });
}
