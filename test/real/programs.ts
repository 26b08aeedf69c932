/** The real programs of other makers, as `npm run setup:real` installs them in this folder. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TRIED } from "../../packages/core/src/data/tried-programs.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const MODULES = join(FOLDER, "node_modules");

function versionIn(manifest: string): string {
  return existsSync(manifest)
    ? (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version
    : "none";
}

/** The version that `package.json` in this folder pins. Throws for a package that it does not name. */
export function pinnedVersion(name: string): string {
  const { dependencies } = JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const pinned = dependencies[name];
  if (pinned === undefined) throw new Error(`test/real/package.json does not pin ${name}.`);
  return pinned;
}

/** Throws one sentence when the package is not installed, or in another version. */
function requirePinned(name: string): void {
  const pinned = pinnedVersion(name);
  const installed = versionIn(join(MODULES, name, "package.json"));
  if (installed !== pinned) {
    throw new Error(`test/real needs ${name} ${pinned} and has ${installed}: run \`npm run setup:real\`.`);
  }
}

/** Path of Claude Code's program; it is one native file, in the package of this platform. */
export function claudeBinary(): string {
  const name = "@anthropic-ai/claude-code";
  return nativeProgram(name, `${name}-${process.platform}-${process.arch}`, "claude");
}

/** Path of a native program, in the package of this platform. Throws when it is missing or the package has another version. */
export function nativeProgram(packageName: string, platform: string, program: string): string {
  requirePinned(packageName);
  const path = join(MODULES, platform, program);
  if (!existsSync(path))
    throw new Error(`test/real lacks ${platform}: has npm left out its optional packages?`);
  return path;
}

/** Path of a file of a package. Throws when the package is missing or has another version. */
export function packageFile(packageName: string, file: string): string {
  requirePinned(packageName);
  return join(MODULES, packageName, file);
}

/** Path of a program in `node_modules/.bin`. Throws when its package is missing or has another version. */
export function realProgram(packageName: string, program: string): string {
  requirePinned(packageName);
  return join(MODULES, ".bin", program);
}

/** Path of a program in a folder of packages; some are native files, in the package of this platform. */
export function programIn(modules: string, id: string): string {
  const platform = `${process.platform}-${process.arch}`;
  if (id === "claude") return join(modules, `@anthropic-ai/claude-code-${platform}`, "claude");
  if (id === "opencode") return join(modules, `opencode-${platform}`, "bin/opencode");
  return join(modules, ".bin", id);
}

/** Path of a program of `packages/core/src/data/tried-programs.ts`. Throws when its package is missing or has another version. */
export function pinnedProgram(id: keyof typeof TRIED): string {
  requirePinned(TRIED[id].npm);
  return programIn(MODULES, id);
}
