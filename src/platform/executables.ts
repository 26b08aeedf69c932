/** Locates executables of other programs. Starts nothing. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The path, if it is an executable file. */
export function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The first program of that name in the folders of `path`, formatted as the PATH variable. */
export function onPath(name: string, path: string | undefined): string | undefined {
  const names = process.platform === "win32" ? [`${name}.exe`, `${name}.cmd`, name] : [name];
  for (const folder of (path ?? "").split(delimiter)) {
    if (folder === "") continue;
    for (const each of names) {
      const found = executable(join(folder, each));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
