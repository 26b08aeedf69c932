/** The installed packages of this checkout, for a copy of the project. */
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./command.ts";
import { packageNames } from "./source-files.ts";

/** The scope of the project's own packages, which a copy has itself. */
const OWN = "@pagurus";

/** Gives a copy of the project a `node_modules` with this checkout's packages and its own. */
export function linkModules(copy: string): void {
  const modules = join(copy, "node_modules");
  mkdirSync(join(modules, OWN), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== OWN) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  for (const name of packageNames(copy)) symlinkSync(join(copy, "packages", name), join(modules, OWN, name));
}
