/**
 * `npm run prove -- house.3 [--only HOME]`: the last commit with the formats of development builds makes homes against a local scripted model; this checkout opens each,
 * prints what they hold, continues every session and compacts it. A line for each check; ends with 1 when one fails.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "./command.ts";
import { checkHome, checkHomeAfter } from "./old-homes/check-home.ts";
import { checkSession } from "./old-homes/check-session.ts";
import { Checks } from "./old-homes/checks.ts";
import { startEndpoints, type Endpoints } from "./old-homes/endpoint.ts";
import { HOMES } from "./old-homes/make-homes.ts";
import { LAST_FORMATS_COMMIT, withOldCheckout } from "./old-checkout.ts";

function linesIn(file: string | undefined): number {
  return file !== undefined && existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
}

async function proveHome(
  checks: Checks,
  name: string,
  folder: string,
  endpoints: Endpoints,
  old: string,
): Promise<void> {
  const home = await HOMES[name]?.(folder, endpoints, { old, now: resolve(ROOT) });
  if (!home) {
    console.log(`not run: ${name} needs its program; run \`npm run setup:real\``);
    return;
  }
  console.log(`-- home ${name}: ${home.sessions.map(({ key }) => key).join(", ")}`);
  const hooksBefore = linesIn(home.user.env["HOOK_LOG"]);
  await checkHome(checks, home);
  for (const session of home.sessions) await checkSession(checks, session);
  await checkHomeAfter(checks, home, hooksBefore);
}

const { values } = parseArgs({ options: { only: { type: "string" } } });
const names = values.only?.split(",") ?? Object.keys(HOMES);
const unknown = names.filter((name) => !Object.hasOwn(HOMES, name));
if (unknown.length > 0)
  throw new Error(`No home ${unknown.join(", ")}; there are ${Object.keys(HOMES).join(", ")}.`);
const folder = mkdtempSync(join(tmpdir(), "pagurus-homes-"));
const endpoints = await startEndpoints();
const checks = new Checks();
try {
  await withOldCheckout(LAST_FORMATS_COMMIT, async (old) => {
    for (const name of names) await proveHome(checks, name, folder, endpoints, old);
  });
} finally {
  await endpoints.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;
