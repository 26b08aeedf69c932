/** Reads a repository's settings: whether they make git run or follow anything, and which paths of the workspace they name. */

/** Keys that only describe, by section; a key of any other section or name may run a program. */
const HARMLESS: Readonly<Record<string, RegExp>> = {
  core: /^(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|sharedrepository|untrackedcache|preloadindex|compression|bigfilethreshold|sparsecheckout|sparsecheckoutcone|multipackindex|commitgraph|abbrev|longpaths)$/,
  remote:
    /^(?:url|pushurl|fetch|push|mirror|tagopt|prune|prunetags|partialclonefilter|promisor|skipdefaultupdate|skipfetchall|followremotehead)$/,
  branch: /^(?:remote|pushremote|merge|rebase|description|vscode-merge-base)$/,
  user: /^(?:name|email)$/,
  submodule: /^(?:url|path|active|branch|ignore|fetchrecursesubmodules|recurse)$/,
  extensions:
    /^(?:objectformat|refstorage|worktreeconfig|partialclone|compatobjectformat|noop|preciousobjects|relativeworktrees)$/,
  init: /^defaultbranch$/,
  pull: /^(?:rebase|ff)$/,
  push: /^(?:default|autosetupremote|followtags)$/,
  fetch: /^(?:prune|prunetags)$/,
  merge: /^(?:ff|conflictstyle)$/,
  gc: /^auto$/,
  advice: /^\w+$/,
  color: /^\w+$/,
};
/** Sections with a name of their own: `[remote "origin"]`. */
const NAMED = new Set(["remote", "branch", "submodule"]);
/** Addresses of the transports that are part of git; `ext::sh -c …` would run a program. */
const ADDRESS = /^(?:(?:https?|ssh|git|file):\/\/|\/|\.\.?(?:\/|$)|[\w.@-]+:(?!:)|[\w./-]+$)/;
const SECTION = /^\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\][ \t]*$/;
const ENTRY = /^([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?$/;

interface Entry {
  section: string;
  isNamed: boolean;
  key: string;
  value: string;
}

/** The entries in order; undefined for a line that this simple reading does not understand. */
function entriesOf(text: string): Entry[] | undefined {
  const entries: Entry[] = [];
  let section = "";
  let isNamed = false;
  for (const raw of text.replaceAll("\r\n", "\n").split("\n")) {
    const line = raw.trim();
    if (line === "" || /^[#;]/.test(line)) continue;
    const [head, name, inner] = SECTION.exec(line) ?? [];
    if (head !== undefined) {
      section = (name ?? "").toLowerCase();
      isNamed = inner !== undefined;
      continue;
    }
    const [whole, key = "", value = ""] = ENTRY.exec(line) ?? [];
    if (whole === undefined || section === "" || value.endsWith("\\")) return undefined;
    entries.push({ section, isNamed, key: key.toLowerCase(), value });
  }
  return entries;
}

function isHarmless({ section, isNamed, key, value }: Entry, mayBeTree: (path: string) => boolean): boolean {
  if (section === "core" && key === "worktree") return mayBeTree(value.replaceAll('"', "").trim());
  if (section === "core" && key === "fsmonitor") return /^(?:true|false|)$/i.test(value.trim());
  if (isNamed !== NAMED.has(section) && !(section === "submodule" && key === "recurse")) return false;
  if (HARMLESS[section]?.test(key) !== true) return false;
  return !key.endsWith("url") || ADDRESS.test(value.replaceAll('"', ""));
}

/**
 * Whether settings in the format of git make it run no program and read no other settings. `mayBeTree`: whether git may write the
 * files of the repository to this folder (`core.worktree`, as written).
 */
export function isHarmlessSettings(text: string, mayBeTree: (path: string) => boolean): boolean {
  return entriesOf(text)?.every((entry) => isHarmless(entry, mayBeTree)) === true;
}

/** Values that name a file or folder even without a slash. */
const PATH_KEY = /^(?:hookspath|path|templatedir)$/;

/** The paths that settings name, as written: `githooks` for `core.hooksPath = githooks`. */
export function pathsInSettings(text: string): string[] {
  const found: string[] = [];
  for (const entry of entriesOf(text) ?? []) {
    if (isHarmless(entry, () => true)) continue;
    for (const word of entry.value.split(/[\s"'=;|&!()<>`$]+/))
      if (word !== "" && (PATH_KEY.test(entry.key) || word.includes("/"))) found.push(word);
  }
  return found;
}

/** The paths that the text of a hook names, as written: `./scripts/check.sh`. */
export function pathsInHook(text: string): string[] {
  return text.split(/[\s"'=;|&!()<>`$]+/).filter((word) => /^[\w.@-]+(?:\/[\w.@-]+)+$/.test(word));
}
