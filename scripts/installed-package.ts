/** The package of a checkout, packed and installed with its production dependencies in an empty folder. */
import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./command.ts";

export interface InstalledPackage {
  launcher: string;
  /** Size of all packages. */
  megabytes: number;
}

async function npm(cwd: string, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand("npm", args, { cwd });
  if (code !== 0) throw new Error(`"npm ${args.join(" ")}" in ${cwd} ended with code ${code}: ${stderr}`);
}

/** Builds and packs the checkout at `root`, and installs it below `folder`, which may be absent. Throws if npm fails. */
export async function installPackage(root: string, folder: string): Promise<InstalledPackage> {
  mkdirSync(folder, { recursive: true });
  await npm(root, "pack", "--pack-destination", folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error(`npm pack in ${root} made no tarball.`);
  const target = join(folder, "installed");
  mkdirSync(target);
  writeFileSync(join(target, "package.json"), '{ "private": true }\n');
  const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  await npm(target, "install", ...options, join(folder, tarball));
  return {
    launcher: join(target, "node_modules/pagurus/bin/pagurus.js"),
    megabytes: sizeOf(join(target, "node_modules")) / 1e6,
  };
}

function sizeOf(path: string): number {
  if (!existsSync(path)) return 0;
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
