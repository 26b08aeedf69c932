import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The file by which the folder of the installed package, or of a checkout, is recognized. */
const LAUNCHER = "bin/pagurus.js";

/**
 * Absolute path of the folder that holds `bin/`, `docs/` and `package.json`, above the sources as above the build. The folder of this
 * module where the launcher is missing, as in a program that was bundled with another one.
 */
export function packageRoot(): string {
  const own = dirname(fileURLToPath(import.meta.url));
  for (let at = own; dirname(at) !== at; at = dirname(at)) if (existsSync(join(at, LAUNCHER))) return at;
  return own;
}
