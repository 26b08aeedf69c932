/**
 * The types of OpenClaw that the compatibility kit is checked against: the package alone, without its dependencies, at the version that
 * `test/real/openclaw/pin.json` names, from the npm registry. Only types and the modules of its plugin kit are unpacked, into a folder
 * that git ignores. Part of `npm run setup:real`.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runCommand } from "./command.ts";

const FOLDER = join(ROOT, "test/real/openclaw");
const DEADLINE_MS = 10 * 60_000;
/** Paths in the package. */
const KEPT = [
  "package/package.json",
  "package/dist/*.d.ts",
  "package/dist/plugin-sdk/*.d.ts",
  "package/dist/plugin-sdk/*.js",
];

interface Pin {
  version: string;
  /** As npm's registry names it. */
  integrity: string;
}

function installedVersion(): string | undefined {
  const manifest = join(FOLDER, "node_modules/openclaw/package.json");
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version?: string }).version;
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await runCommand(command, args, { cwd, deadlineMs: DEADLINE_MS });
  if (code !== 0) throw new Error(`${command} ${args[0]} ended with code ${code}: ${stderr.slice(-500)}`);
}

/** Does nothing where the pinned version is there. Returns the version. Throws what npm or tar reports. */
export async function setUpOpenClaw(): Promise<string> {
  const { version, integrity } = JSON.parse(readFileSync(join(FOLDER, "pin.json"), "utf8")) as Pin;
  if (installedVersion() === version) return version;
  const folder = mkdtempSync(join(tmpdir(), "openclaw-"));
  try {
    await run("npm", ["pack", `openclaw@${version}`, "--silent"], folder);
    const archive = join(folder, `openclaw-${version}.tgz`);
    const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (found !== integrity) throw new Error(`openclaw ${version} is ${found}, and pinned is ${integrity}.`);
    const target = join(FOLDER, "node_modules/openclaw");
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    const unpack = ["-xzf", archive, "-C", target, "--strip-components=1", "--wildcards"];
    await run("tar", [...unpack, "--no-wildcards-match-slash", ...KEPT], folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return version;
}

if (import.meta.main) console.log(`openclaw ${await setUpOpenClaw()}, types only`);
