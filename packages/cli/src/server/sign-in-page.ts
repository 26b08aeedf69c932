/**
 * A file that takes the browser to an address with a sign-in code. Browsers get the file's path: their command line, which other users of
 * the machine can read, has no code.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";

/** Codes are valid for a minute. */
const KEPT_MS = 60_000;

function folderIn(home: string): string {
  return join(home, "sign-in");
}

/** Returns the file's path. `url` has no character that HTML or JavaScript would read. Throws the system's errors. */
export function writeSignInPage(home: string, url: string): string {
  sweepSignInPages(home);
  const folder = folderIn(home);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${randomBytes(9).toString("base64url")}.html`);
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Pagurus</title>
<p><a href="${url}">Open Pagurus</a></p>
<script>location.replace(${JSON.stringify(url)});</script>
</html>
`;
  writeFileSync(file, html, { mode: 0o600, flag: "wx" });
  return file;
}

/** Removes files whose codes are too old. */
export function sweepSignInPages(home: string, olderThanMs = KEPT_MS): void {
  const folder = folderIn(home);
  for (const name of attempt(() => readdirSync(folder)) ?? []) {
    const file = join(folder, name);
    const age = attempt(() => Date.now() - statSync(file).mtimeMs) ?? 0;
    if (age >= olderThanMs) attempt(() => rmSync(file));
  }
}
