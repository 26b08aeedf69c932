/**
 * Places outside the tools' reach, even inside a workspace. Closed to every tool in every mode: the home of Pagurus, the
 * configuration in use and its key files. Never written: files that git runs. Read only with a rule or an answer that names
 * them: everything that is neither in the workspace nor on the list of `shown-places.ts`.
 */
import { isInside } from "@pagurus/core/platform/inside";
import { relative } from "node:path";
import { compiledFolder } from "@pagurus/core/config/closed-files";
import { expandPath } from "@pagurus/core/config/config-paths";
import { gitFolders, isRunByGit } from "./git-places.ts";
import { mayHideParts, shownPlaces } from "./shown-places.ts";
import { startPlaces, type StartPlace } from "./named-places.ts";
import { withoutLinks } from "./workspace-boundary.ts";

export interface ClosedPlacesOptions {
  /** The workspace: absolute, without links. */
  root: string;
  /** Home of Pagurus; absolute. */
  home: string;
  /** Further closed files: the configuration in use, key files. Absolute. */
  files: readonly string[];
  /** Folders that the host itself offers for reading, anywhere; absolute, without links. */
  readable: readonly string[];
  /** Further places that the configuration shows; `~` is the user's home. */
  unmask: readonly string[];
  env: Record<string, string | undefined>;
}

export interface ClosedPlaces {
  /** Closed to every tool; absolute, without links. */
  readonly closed: readonly string[];
  /** The folders of `closed`, existing or not. */
  readonly folders: readonly string[];
  /** Places outside the workspace that commands see, by their own names; absolute, links not followed. */
  readonly shown: readonly string[];
  /** Parts of them, and of the workspace, that appear empty; absolute, without links. */
  readonly hidden: readonly string[];
  /** Why no tool may do this, regardless of rules, or undefined. */
  refusal(kind: "read" | "write", path: string): string | undefined;
  /** Whether reading it needs a rule that names it, or an answer. */
  isSecret(path: string): boolean;
  /** Whether programs start from it on their own, so that writing it needs a rule that names it, or an answer. */
  startPlace(path: string): StartPlace | undefined;
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

/** Length of the innermost of the places that holds the path; 0 without one. */
function innermost(places: readonly string[], path: string): number {
  let most = 0;
  for (const place of places) if (place.length > most && covers([place], path)) most = place.length;
  return most;
}

const OF_PROGRAMS =
  "programs of the user keep it in this home, and run or read it, so no tool may change it in any mode; the user has to do it. Do not try another way.";

/** Whether a path of a workspace that holds a home is a toolchain's, which commands see read-only, or hidden. */
function isOfPrograms({ shown, hidden }: Seen, root: string, path: string): boolean {
  const inner = [...hidden, ...realPlaces(shown)].filter((place) => place !== root && isInside(root, place));
  return covers(inner, path);
}

/** What commands and reading tools may see. */
interface Seen extends Pick<ClosedPlaces, "shown" | "hidden"> {
  /** The workspace and what is shown; absolute, without links. */
  visible: readonly string[];
}

function seenFrom({ root, env, unmask, readable }: ClosedPlacesOptions): Seen {
  const { shown, hidden } = shownPlaces(root, env);
  const opened = [...unmask.map((path) => expandPath(path, root)), ...readable];
  const openedReal = realPlaces(opened);
  const visible = [root, ...realPlaces(shown), ...openedReal];
  const masked = [...new Set(realPlaces(hidden))].filter(
    (place) => !isInside(place, root) && !covers(openedReal, place) && covers(visible, place),
  );
  return { shown: [...shown, ...opened], visible, hidden: masked };
}

export function closedPlaces(options: ClosedPlacesOptions): ClosedPlaces {
  const { root, env } = options;
  const [home = options.home, ...files] = realPlaces([options.home, ...options.files]);
  const closed = [home, ...files.filter((file) => !isInside(home, file))];
  const open = isHomeWorkspace(home, root) ? [root] : [];
  const folders = gitFolders(root);
  let known: Seen | undefined;
  const seen = (): Seen => (known ??= seenFrom(options));
  const plain = !mayHideParts(root, env);
  return {
    closed,
    folders: realPlaces([home, compiledFolder(env)]).filter((folder) => closed.includes(folder)),
    get shown() {
      return seen().shown;
    },
    get hidden() {
      return seen().hidden;
    },
    refusal(kind, path) {
      if (covers(closed, path) && !covers(open, path) && !(kind === "read" && covers(options.readable, path)))
        return CLOSED;
      if (kind === "read") return undefined;
      if (!plain && isInside(root, path) && isOfPrograms(seen(), root, path)) return OF_PROGRAMS;
      return isRunByGit(path, folders) ? RUN_BY_GIT : undefined;
    },
    startPlace: startPlaces({ root, env, gitFolders: folders }),
    isSecret(path) {
      const inside = isInside(root, path);
      // Most workspaces have no hidden part, so that a search does not look for the places of the system.
      if (inside && plain) return false;
      const { visible, hidden } = seen();
      return innermost(visible, path) <= innermost(hidden, path);
    },
  };
}
