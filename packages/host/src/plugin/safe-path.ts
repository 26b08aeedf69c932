/** Paths that a plugin names in its own folder: nothing of a plugin may lead out of it. */
import { isInside } from "@pagurus/core/platform/inside";
import { realpathSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";

/**
 * The file that a plugin names, when it is one; undefined when nothing or no file is there. Throws `plugin_invalid`
 * for a name with `..` or an absolute one, and for a file that a symbolic link takes out of the folder.
 */
export function fileInside(folder: string, name: string): string | undefined {
  if (isAbsolute(name) || name.includes("\0") || name.split(/[\\/]/).includes(".."))
    throw new PagurusError(
      "plugin_invalid",
      `The plugin in ${folder} names the file ${JSON.stringify(name.slice(0, 200))}, which is not a path within its folder; correct it in the plugin's package.json or manifest.`,
      { details: { folder, name } },
    );
  const file = join(folder, name);
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
    if (isInside(realpathSync(resolve(folder)), realpathSync(file))) return file;
  } catch (error) {
    throw new PagurusError(
      "plugin_invalid",
      `The plugin in ${folder} names the file ${JSON.stringify(name.slice(0, 200))}, which cannot be reached (${(error as NodeJS.ErrnoException).code ?? "unknown error"}); correct the plugin.`,
      { cause: error, details: { folder } },
    );
  }
  throw new PagurusError(
    "plugin_invalid",
    `${file} is a symbolic link out of the plugin's folder; put the file itself there.`,
    { details: { folder, name } },
  );
}
