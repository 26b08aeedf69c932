/**
 * `npm run setup:libraries`: installs the client libraries that `test/real/libraries/package.json` pins, beside it, from the npm registry
 * alone, and prints their versions. Does nothing where they are installed already.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./command.ts";

const FOLDER = join(ROOT, "test/real/libraries");
const DEADLINE_MS = 10 * 60_000;

interface Manifest {
  version?: string;
  dependencies: Record<string, string>;
}

function manifestOf(folder: string): Manifest | undefined {
  const file = join(folder, "package.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : undefined;
}

const pins = Object.entries(manifestOf(FOLDER)?.dependencies ?? {});

function missing(): string[] {
  return pins
    .filter(([name, version]) => manifestOf(join(FOLDER, "node_modules", name))?.version !== version)
    .map(([name, version]) => `${name} ${version}`);
}

if (missing().length > 0) {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
  const how = { cwd: FOLDER, output: "inherit", deadlineMs: DEADLINE_MS } as const;
  await runCommand("npm", ["ci", ...flags], how);
}
const still = missing();
for (const [name, version] of pins) console.log(`${name} ${version}`);
if (still.length > 0) {
  console.error(`setup:libraries: npm did not install ${still.join(", ")}.`);
  process.exitCode = 1;
}
