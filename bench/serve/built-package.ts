/** The package as it is installed: the bundled build, without the sources that a checkout would run. */
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runCommand } from "../../scripts/command.ts";

export interface BuiltPackage {
  launcher: string;
  remove(): void;
}

/** Throws if the build fails. */
export async function builtPackage(): Promise<BuiltPackage> {
  const { code, stderr } = await runCommand(process.execPath, ["scripts/build.ts"], { cwd: ROOT });
  if (code !== 0) throw new Error(`The build ended with code ${code}: ${stderr}`);
  const folder = mkdtempSync(join(tmpdir(), "pagurus-built-"));
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return {
    launcher: join(folder, "bin/pagurus.js"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
