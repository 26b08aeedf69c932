/**
 * Reads the files of a folder that a wrapped program is set up with. Until the folder is trusted they are withheld, whatever is in
 * them: a repository must not choose where its user's key goes.
 */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, sep } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { WrapRequest } from "@pagurus/contract/harness/wrap";
import { attempt } from "@pagurus/core/data/attempt";
import { folderFiles, type FolderFile } from "@pagurus/core/platform/folder-files";
import { realPath } from "@pagurus/core/platform/real-path";
import { readRegularFile } from "@pagurus/core/platform/regular-file";

export interface ProjectFiles {
  readonly trusted: boolean;
  /** The program's own record of the folder; undefined if it has none. */
  readonly ownTrust: boolean | undefined;
  /** Files that exist and were not read. */
  readonly withheld: readonly string[];
  /** Undefined for a missing or unreadable file, and until the folder is trusted. */
  text(file: string): string | undefined;
}

export interface FolderRecord {
  /** The program's own record of the folder, if it has one; else Pagurus's decides. */
  own: boolean | undefined;
  /** Files that the program would start from, also those that its wrap does not read. */
  starts: readonly FolderFile[];
}

export function projectFiles(request: WrapRequest, { own, starts }: FolderRecord): ProjectFiles {
  const trusted = own ?? request.folderTrusted === true;
  const withheld = new Set<string>(trusted ? [] : startsOf(request, starts));
  const note = (path: string): void => {
    if (!trusted && attempt(() => statSync(path, { throwIfNoEntry: false }))) withheld.add(path);
  };
  return {
    trusted,
    ownTrust: own,
    get withheld() {
      const paths = [...withheld];
      // Without the folder of a file that is named itself.
      return paths.filter((path) => !paths.some((other) => other.startsWith(`${path}${sep}`)));
    },
    text: (file) => {
      if (!trusted) {
        note(file);
        return undefined;
      }
      try {
        return readRegularFile(file);
      } catch {
        // The program reports its own file better than we could.
        return undefined;
      }
    },
  };
}

/** Paths below the working folder as the request names it, as the wraps write them. */
function startsOf({ cwd, env }: WrapRequest, starts: readonly FolderFile[]): string[] {
  const real = realPath(cwd);
  const found = folderFiles(cwd, starts, env["HOME"] || homedir());
  return found.map((path) => join(cwd, relative(real, path)));
}

/**
 * Throws `runtime_unsupported` if the folder is not trusted and has files that the program runs whatever its settings say. `would` begins
 * the sentence, for example "OpenCode would load plugins of".
 */
export function checkRuns(
  request: WrapRequest,
  { trusted }: ProjectFiles,
  { would, runs }: { would: string; runs: readonly FolderFile[] },
): void {
  const [first] = trusted ? [] : startsOf(request, runs);
  if (first === undefined) return;
  throw new PagurusError(
    "runtime_unsupported",
    `${would} ${JSON.stringify(relative(request.cwd, first))} in this folder, which you do not trust, and has no setting against that; trust the folder (pagurus trust add).`,
  );
}
