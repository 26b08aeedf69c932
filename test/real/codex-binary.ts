import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** The version that `package.json` in this folder pins. */
export function pinnedCodexVersion(): string {
  const manifest = JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return manifest.dependencies["@openai/codex"] ?? "none";
}

/** Path of the real Codex program. Throws one sentence when it is not installed, or in another version. */
export function codexBinary(): string {
  const pinned = pinnedCodexVersion();
  const manifest = join(FOLDER, "node_modules/@openai/codex/package.json");
  const installed = existsSync(manifest)
    ? (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version
    : "none";
  if (installed !== pinned)
    throw new Error(`test/real needs Codex ${pinned} and has ${installed}: run \`npm run setup:real\`.`);
  return join(FOLDER, "node_modules/.bin/codex");
}
