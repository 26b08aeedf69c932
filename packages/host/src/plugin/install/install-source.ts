/** Parses the source of an installation: a package of the registry, a tarball, a folder. */
import { statSync, type Stats } from "node:fs";
import { expandPath } from "@pagurus/core/config/config-paths";
import { PagurusError } from "@pagurus/contract/errors";
import type { InstallRecord } from "../installs.ts";

export interface PluginSource {
  kind: InstallRecord["source"];
  /** For npm: the spec, or an absolute path. */
  spec: string;
}

/** A package's name with an optional @version, @range or @tag. */
const PACKAGE_NAME = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*(?:@[\w.+~^<>=|* -]+)?$/i;
const LOOKS_LIKE_PATH = /^(?:\.{1,2}(?:[\\/]|$)|[\\/~]|[A-Za-z]:[\\/])|\.(?:tgz|tar\.gz)$/;

/** Parses the named source; a relative path starts at `cwd`. Throws `usage_invalid`. */
export function parseSource(named: string, cwd: string): PluginSource {
  assertNoLogin(named);
  if (/^https:\/\/\S+\.(?:tgz|tar\.gz)$/.test(named)) return { kind: "npm", spec: named };
  if (!LOOKS_LIKE_PATH.test(named)) {
    if (PACKAGE_NAME.test(named)) return { kind: "npm", spec: named };
    const shown = JSON.stringify(named.slice(0, 200));
    throw new PagurusError(
      "usage_invalid",
      `${shown} is neither a package (name, name@version), a tarball (.tgz) nor a folder; a repository has to be cloned first.`,
    );
  }
  const path = expandPath(named, cwd);
  const stats = statIfPresent(path);
  if (stats?.isDirectory()) return { kind: "folder", spec: path };
  if (stats?.isFile() && /\.(?:tgz|tar\.gz)$/.test(path)) return { kind: "tarball", spec: path };
  const what = stats ? "is neither a folder nor a tarball (.tgz)" : "does not exist";
  throw new PagurusError(
    "usage_invalid",
    `${JSON.stringify(path.slice(0, 500))} ${what}; name a plugin's folder, tarball or package.`,
  );
}

/** The source is stored and shown. */
function assertNoLogin(named: string): void {
  const url = URL.parse(named);
  const user = url !== null && url.username !== "" && /^https?:$/.test(url.protocol);
  if (!user && (url?.password ?? "") === "") return;
  throw new PagurusError(
    "usage_invalid",
    "The address holds a login, which would be kept and shown; put the login into .npmrc and leave it out of the address.",
  );
}

/** Undefined also for an impossible or forbidden path. */
function statIfPresent(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // The error sentence reports it as missing.
    return undefined;
  }
}
