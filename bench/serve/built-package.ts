/** The package as it is installed: the bundled build, without the sources that a checkout would run. */
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runCommand } from "../../scripts/command.ts";

export interface BuiltPackage {
  /** Folder of the package. */
  root: string;
  launcher: string;
  remove(): void;
}

/** Builds a checkout. Throws if the build fails. */
export async function builtPackage(checkout = ROOT): Promise<BuiltPackage> {
  const { code, stderr } = await runCommand(process.execPath, ["scripts/build.ts"], { cwd: checkout });
  if (code !== 0) throw new Error(`The build of ${checkout} ended with code ${code}: ${stderr}`);
  const folder = mkdtempSync(join(tmpdir(), "pagurus-built-"));
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join(checkout, name), join(folder, name), { recursive: true });
  symlinkSync(join(checkout, "node_modules"), join(folder, "node_modules"));
  return {
    root: folder,
    launcher: join(folder, "bin/pagurus.js"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
