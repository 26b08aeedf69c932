/**
 * Preloaded into a process (`node --import`): kills it before its n-th write below a folder, in whichever thread that is. `KILL_COUNT` is a
 * file with one byte for each write so far, `KILL_AT` the number of the write, `KILL_BELOW` the folder; with `KILL_SENDS=1` what it sends to
 * a database counts, too.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";
import { DatabaseSync, StatementSync } from "node:sqlite";

const { KILL_COUNT = "", KILL_AT = "", KILL_BELOW = "" } = process.env;
const { appendFileSync, statSync } = fs;
const READS = /^\s*(?:SELECT|PRAGMA (?!wal_checkpoint|application_id =)|EXPLAIN)/i;

function beforeWrite(): void {
  appendFileSync(KILL_COUNT, ".");
  if (statSync(KILL_COUNT).size === Number(KILL_AT)) process.kill(process.pid, "SIGKILL");
}

type Call = (...args: unknown[]) => unknown;

function wrap(target: object, name: string, isWrite: (self: unknown, args: unknown[]) => boolean): void {
  const methods = target as Record<string, Call>;
  const original = methods[name];
  if (!original) throw new Error(`There is no ${name} to wrap.`);
  methods[name] = function (this: unknown, ...args: unknown[]): unknown {
    if (isWrite(this, args)) beforeWrite();
    return original.apply(this, args);
  };
}

const isBelow = (args: unknown[]): boolean => typeof args[0] === "string" && args[0].startsWith(KILL_BELOW);
for (const name of ["rmSync", "unlinkSync", "rmdirSync", "mkdirSync", "writeFileSync", "linkSync"])
  wrap(fs, name, (_self, args) => isBelow(args));
wrap(fs, "renameSync", (_self, args) => isBelow(args));
wrap(fs, "fsyncSync", () => true);
wrap(fs, "writeSync", (_self, args) => typeof args[0] === "number" && args[0] > 2);
syncBuiltinESMExports();
// What is sent to a database.
wrap(Socket.prototype, "write", () => process.env["KILL_SENDS"] === "1");

wrap(DatabaseSync.prototype, "exec", (_self, [sql]) => !READS.test(String(sql)));
const isChange = (self: unknown): boolean => !READS.test((self as StatementSync).sourceSQL);
for (const name of ["run", "get"]) wrap(StatementSync.prototype, name, isChange);
