/**
 * Places outside the tools' reach, even inside a workspace. Closed to every tool in every mode: the home of Pagurus, the
 * configuration in use and its key files. Never written: files that git runs. Read only with a rule or an answer that names
 * them: places where programs keep keys.
 */
import { homedir } from "node:os";
import { relative } from "node:path";
import { compiledFolder } from "../../config/closed-files.ts";
import { expandPath } from "../../config/config-paths.ts";
import { gitFolders, isRunByGit } from "./git-places.ts";
import { secretPlaces } from "./secret-places.ts";
import { isInside, withoutLinks } from "./workspace-boundary.ts";

export interface ClosedPlacesOptions {
  /** The workspace: absolute, without links. */
  root: string;
  /** Home of Pagurus; absolute. */
  home: string;
  /** Further closed files: the configuration in use, key files. Absolute. */
  files: readonly string[];
  /** Folders that the host itself offers for reading, anywhere; absolute, without links. */
  readable: readonly string[];
  /** Key places that the configuration opens; `~` is the user's home. */
  unmask: readonly string[];
  env: Record<string, string | undefined>;
}

export interface ClosedPlaces {
  /** Closed to every tool; absolute, without links. */
  readonly closed: readonly string[];
  /** The folders of `closed`, existing or not. */
  readonly folders: readonly string[];
  /** Places of keys; absolute, without links. */
  readonly secret: readonly string[];
  /** Parts of them that may be read. */
  readonly readable: readonly string[];
  /** Why no tool may do this, regardless of rules, or undefined. */
  refusal(kind: "read" | "write", path: string): string | undefined;
  /** Whether reading it needs a rule that names it, or an answer. */
  isSecret(path: string): boolean;
}

/** Path normalized for a case-insensitive file system. */
function folded(path: string): string {
  return process.platform === "linux" ? path : path.toLowerCase();
}

/** Called for each file of a search, so it only compares text; all paths are absolute and without links. */
function covers(places: readonly string[], path: string): boolean {
  const asked = folded(path);
  return places.some((place) => {
    const own = folded(place);
    return asked.startsWith(own) && (asked.length === own.length || own === "/" || asked[own.length] === "/");
  });
}

function realPlaces(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    try {
      return [withoutLinks(path)];
    } catch {
      // An unreachable path cannot be read either.
      return [path];
    }
  });
}

/** By convention agents may have a workspace in the home: `workspace`, `workspace-<agent>`. */
function isHomeWorkspace(home: string, root: string): boolean {
  return root !== home && isInside(home, root) && /^workspace(?:$|[-/])/.test(relative(home, root));
}

const CLOSED =
  "it belongs to Pagurus itself (its home, its configuration or a key file), which no tool may touch in any mode. Do not try another way.";
const RUN_BY_GIT =
  "git runs or follows what is written there, which no tool may change in any mode; the user has to do it. Do not try another way.";

export function closedPlaces(options: ClosedPlacesOptions): ClosedPlaces {
  const { root, env } = options;
  const [home = options.home, ...files] = realPlaces([options.home, ...options.files]);
  const closed = [home, ...files.filter((file) => !isInside(home, file))];
  const open = isHomeWorkspace(home, root) ? [root] : [];
  const folders = gitFolders(root);
  const shown = realPlaces(options.unmask.map((path) => expandPath(path, root)));
  const users = new Set([homedir(), ...(env["HOME"]?.startsWith("/") ? [env["HOME"]] : [])]);
  const kept = [...users].flatMap((user) => secretPlaces(user, env));
  const secret = [...new Set(realPlaces(kept))].filter(
    (place) => !isInside(place, root) && !covers(shown, place),
  );
  return {
    closed,
    folders: realPlaces([home, compiledFolder(env)]).filter((folder) => closed.includes(folder)),
    secret,
    readable: options.readable,
    refusal(kind, path) {
      if (covers(closed, path) && !covers(open, path) && !(kind === "read" && covers(options.readable, path)))
        return CLOSED;
      return kind === "write" && isRunByGit(path, folders) ? RUN_BY_GIT : undefined;
    },
    isSecret: (path) => covers(secret, path) && !covers(shown, path) && !covers(options.readable, path),
  };
}
