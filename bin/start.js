/*
 * Loads the command line; only Node 24 and newer come here. The checkout's TypeScript where it is there, else
 * the built JavaScript of the installed package.
 */
"use strict";

const fs = require("node:fs");
const module_ = require("node:module");
const os = require("node:os");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { blankEnvironmentBlock } = require("./environment.js");

/** A folder that only this user can enter and change; false where that cannot be had. */
function makePrivate(folder) {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (process.platform === "win32") return true;
    const stat = fs.lstatSync(folder);
    if (!stat.isDirectory() || stat.uid !== process.getuid()) return false;
    if ((stat.mode & 0o777) !== 0o700) fs.chmodSync(folder, 0o700);
    return true;
  } catch {
    // Read-only, or of somebody else: nothing is cached.
    return false;
  }
}

/**
 * Compiled code is kept per user, not in the shared temporary folder that is node's default, and where no other user can
 * replace it, whatever the umask.
 */
function enableCompileCache() {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return;
  const base =
    process.env.XDG_CACHE_HOME ||
    (process.platform === "win32" && process.env.LOCALAPPDATA) ||
    path.join(os.homedir(), ".cache");
  const own = path.join(base, "pagurus");
  const folder = path.join(own, "compile-cache");
  if (!makePrivate(own) || !makePrivate(folder)) return;
  const umask = process.umask(0o077);
  // Reports failure as a status, and then nothing is cached.
  module_.enableCompileCache(folder);
  process.umask(umask);
  // Its files are written at the very end.
  process.on("exit", () => process.umask(0o077));
}

/** Early releases of Node 24 warn about type stripping and node:sqlite; every other warning stays. */
function quietKnownWarnings() {
  const emitWarning = process.emitWarning;
  process.emitWarning = function (warning, ...rest) {
    const known = rest[0] === "ExperimentalWarning" && /^(Type Stripping|SQLite) is/.test(String(warning));
    if (!known) emitWarning.call(process, warning, ...rest);
  };
}

/** A launcher on an older node started us and was killed: stop as if asked to. */
function followLauncher() {
  if (process.channel === undefined || process.channel === null) return;
  process.channel.unref();
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
}

const candidates = ["packages/cli/src/main.ts", "dist/cli/main.js"].map((file) =>
  path.join(__dirname, "..", file),
);
const main = candidates.find((file) => fs.existsSync(file));
if (main === undefined) {
  process.stderr.write(
    `pagurus: the program is missing, neither of ${candidates.join(" and ")} exists; install the package again.\n`,
  );
  process.exitCode = 2;
} else {
  blankEnvironmentBlock();
  enableCompileCache();
  quietKnownWarnings();
  followLauncher();
  void import(pathToFileURL(main).href);
}
