/** Programs of others: where they are. Starts nothing. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The path, where a file is there that may be run. */
export function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The first program of that name in the folders of `path`, as the variable of the environment lists them. */
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
