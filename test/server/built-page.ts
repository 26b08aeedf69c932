/** The inspector's page, built for tests that load it from a server. */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildInspector } from "../../scripts/build.ts";
import { ROOT } from "../../scripts/command.ts";

/**
 * The page of the sources, which the server serves from the checkout. Other test files may load it meanwhile: nothing is removed, and
 * the page that names the new files replaces the old one last.
 */
export async function buildPage(): Promise<void> {
  const [target, made] = [join(ROOT, "dist/inspector"), join(ROOT, `dist/inspector-${process.pid}`)];
  await buildInspector(made);
  mkdirSync(join(target, "assets"), { recursive: true });
  for (const name of readdirSync(join(made, "assets")))
    renameSync(join(made, "assets", name), join(target, "assets", name));
  for (const name of readdirSync(made))
    if (name !== "index.html" && statSync(join(made, name)).isFile())
      renameSync(join(made, name), join(target, name));
  renameSync(join(made, "index.html"), join(target, "index.html"));
  rmSync(made, { recursive: true, force: true });
}
