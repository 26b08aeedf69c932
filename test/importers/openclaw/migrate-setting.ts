/** A configuration of OpenClaw in a folder of its own, and a home of ours beside it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { parseJson5 } from "../../../packages/core/src/config/json5.ts";
import {
  migrateConfig,
  type ConfigOptions,
} from "../../../packages/importers/src/openclaw/config/migrate-config.ts";

export const root = mkdtempSync(join(tmpdir(), "pagurus-migrate-"));
after(() => rmSync(root, { recursive: true, force: true }));

let settings = 0;
export function setting(theirs: unknown, ours?: string) {
  settings += 1;
  const folder = join(root, `openclaw-${settings}`);
  const home = join(root, `home-${settings}`);
  mkdirSync(folder);
  const source = join(folder, "openclaw.json");
  writeFileSync(source, typeof theirs === "string" ? theirs : JSON.stringify(theirs, null, 2));
  const file = join(home, "pagurus.json");
  if (ours !== undefined) {
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(file, ours, { mode: 0o600 });
  }
  const migrate = (how: Partial<ConfigOptions> = {}) =>
    migrateConfig({
      source,
      home,
      dryRun: false,
      overwrite: false,
      now: () => new Date("2026-11-22T10:00:00Z"),
      ...how,
    });
  const written = (): unknown => parseJson5(readFileSync(file, "utf8"), file);
  return { folder, home, source, file, migrate, written };
}
