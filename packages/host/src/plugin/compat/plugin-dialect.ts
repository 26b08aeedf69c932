/** Detects which host a plugin was written for, from its own files. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { importsOpenClaw } from "./imports.ts";

/**
 * True for a plugin with OpenClaw's manifest or package field, or that imports OpenClaw's names, and with nothing of ours. Call
 * it after the import of the module. `manifest` is absent for a single file.
 */
export function isForOpenClaw(plugin: { module: string; folder: string; manifest?: object }): boolean {
  const { module, folder, manifest } = plugin;
  // Node names modules by their real paths.
  if (!manifest) return importsOpenClaw(pathToFileURL(realpathSync(module)));
  if (existsSync(join(folder, "pagurus.plugin.json"))) return false;
  const fields = packageFields(folder);
  if ("pagurus" in fields) return false;
  const named = "openclaw" in fields || existsSync(join(folder, "openclaw.plugin.json"));
  return named || importsOpenClaw(pathToFileURL(realpathSync(folder)));
}

function packageFields(folder: string): object {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    // No package means no information; a broken one was reported when the module was located.
    return {};
  }
}
