/** What settings of the user's own programs name in a workspace: what is written there is started from outside of it. */
import { isInside } from "@pagurus/core/platform/inside";
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { readRegularFile } from "@pagurus/core/platform/regular-file";
import { START_SETTINGS } from "./start-names.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Characters of one file that are read. */
const MOST_READ = 256 * 1024;
/** A path in a line of settings or of a shell ends before these. */
const PATH_END = /[\s"'`;|&()<>,:]/;

function homeOf(env: Env): string {
  return env["HOME"] ?? homedir();
}

function textOf(file: string): string {
  try {
    return (readRegularFile(file) ?? "").slice(0, MOST_READ);
  } catch {
    // A user has few of them.
    return "";
  }
}

/** Texts of the settings of git that apply in every repository. */
export function gitSettingsOfUser(env: Env): string[] {
  const home = homeOf(env);
  const config = env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  return [join(home, ".gitconfig"), join(config, "git", "config")].map(textOf).filter((text) => text !== "");
}

/** The ways in which settings write the folder: `/home/a/work`, `~/work`, `$HOME/work`. */
function spellings(root: string, home: string): string[] {
  if (!isInside(home, root)) return [root];
  const below = root.slice(home.length);
  return [root, ...["~", "$HOME", "${HOME}"].map((start) => start + below)];
}

function pathsIn(text: string, spelling: string): string[] {
  const found: string[] = [];
  const start = `${spelling}/`;
  for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
    const rest = text.slice(at + start.length);
    const end = rest.search(PATH_END);
    found.push(end < 0 ? rest : rest.slice(0, end));
  }
  return found;
}

function isFolder(path: string): boolean {
  return attempt(() => statSync(path).isDirectory()) === true;
}

/** Files in the workspace that settings of the user's shells, agents and other programs name; `root` is absolute, without links. */
export function filesNamedByUser(root: string, env: Env): string[] {
  const home = homeOf(env);
  const config = env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  const written = spellings(root, home);
  const found = START_SETTINGS.flatMap((name) => {
    const file = name.startsWith(".config/") ? join(config, name.slice(".config/".length)) : join(home, name);
    const text = textOf(file);
    return text === "" ? [] : written.flatMap((spelling) => pathsIn(text, spelling));
  });
  // A folder is named to work there, for example `cd ~/work/src`; folders of programs are those of `PATH`.
  return [...new Set(found.map((path) => resolve(root, path)))].filter(
    (path) => path !== root && isInside(root, path) && !isFolder(path),
  );
}
