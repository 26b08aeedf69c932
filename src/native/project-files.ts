/**
 * Reads the files of a folder that a wrapped program is set up with. Until the folder is trusted they are withheld, whatever is in
 * them: a repository must not choose where its user's key goes.
 */
import { readFileSync, statSync } from "node:fs";
import { attempt } from "../data/attempt.ts";
import type { WrapRequest } from "../contract/harness/wrap.ts";

export interface ProjectFiles {
  readonly trusted: boolean;
  /** The program's own record of the folder; undefined if it has none. */
  readonly ownTrust: boolean | undefined;
  /** Files that exist and were not read. */
  readonly withheld: readonly string[];
  /** Undefined for a missing or unreadable file, and until the folder is trusted. */
  text(file: string): string | undefined;
  /** Notes a file or folder that the program itself would use. */
  note(path: string): void;
}

/** `own`: the program's own record of the folder, if it has one; else Pagurus's decides. */
export function projectFiles({ folderTrusted }: WrapRequest, own: boolean | undefined): ProjectFiles {
  const trusted = own ?? folderTrusted === true;
  const withheld = new Set<string>();
  const note = (path: string): void => {
    if (!trusted && attempt(() => statSync(path, { throwIfNoEntry: false }))) withheld.add(path);
  };
  return {
    trusted,
    ownTrust: own,
    get withheld() {
      return [...withheld];
    },
    note,
    text: (file) => {
      if (!trusted) {
        note(file);
        return undefined;
      }
      try {
        return readFileSync(file, "utf8");
      } catch {
        // The program reports its own file better than we could.
        return undefined;
      }
    },
  };
}
