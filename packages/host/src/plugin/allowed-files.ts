/**
 * The files of an installed plugin when the user allowed them: at its installation, or when it was enabled afterwards. A plugin with
 * other files is not loaded.
 */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { INSTALL_MARKER, installFolder, type InstallRecord } from "./installs.ts";

/** Folders that libraries fill while they run, for example "node_modules/x/.cache". */
const CACHE = ".cache";

interface Found {
  digest: string;
  /** The file that changed last, relative to the folder. */
  newest: string;
}

/** Content, kind and executable bit of one entry that is no folder. */
function stateOf(path: string): { text: string; changed: number } {
  const stat = lstatSync(path);
  const content = stat.isSymbolicLink()
    ? readlinkSync(path)
    : stat.isFile()
      ? createHash("sha256").update(readFileSync(path)).digest("hex")
      : "";
  const kind = stat.isSymbolicLink() ? "link" : stat.isFile() ? `file ${stat.mode & 0o111}` : "other";
  return { text: `${kind} ${content}`, changed: stat.ctimeMs };
}

/** Reads every file of the folder, in an order of its own. Throws the errors of the file system. */
function lookAtFolder(folder: string): Found {
  const hash = createHash("sha256");
  let newest = { path: "", changed: 0 };
  const walk = (below: string): void => {
    const entries = readdirSync(join(folder, below), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.name === CACHE || path === INSTALL_MARKER) continue;
      if (entry.isDirectory()) {
        walk(path);
        continue;
      }
      const { text, changed } = stateOf(join(folder, path));
      hash.update(`${path}\0${text}\0`);
      if (changed > newest.changed) newest = { path, changed };
    }
  };
  walk("");
  return { digest: `sha256-${hash.digest("base64")}`, newest: newest.path };
}

/** Digest of the files of an installation. Throws the errors of the file system. */
export function filesDigest(folder: string): string {
  return lookAtFolder(folder).digest;
}

/** Details of the error for changed files; its plugin may have been a gate before. */
const CHANGED = "filesChanged";

/** Throws `plugin_invalid` if files of an installed plugin changed, or are no longer readable. */
export function assertAllowedFiles(home: string, record: InstallRecord): void {
  if (record.files === undefined) return;
  const { id } = record;
  const { digest, newest } = lookAtFolder(installFolder(home, record));
  if (digest === record.files) return;
  throw new PagurusError(
    "plugin_invalid",
    `The files of the plugin ${id} are not those that you allowed (the newest is ${newest}); run "pagurus plugins update ${id}" to install it again, or "pagurus plugins enable ${id}" to allow them as they are.`,
    { details: { plugin: id, [CHANGED]: true } },
  );
}

/** Whether a plugin failed because its files changed. */
export function isChanged(details: Readonly<Record<string, unknown>> | undefined): boolean {
  return details?.[CHANGED] === true;
}
