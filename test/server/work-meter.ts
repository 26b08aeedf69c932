/**
 * Counts the bytes that a process works on in each turn of its event loop: those that its JSON, text, digest, file and database calls
 * take or return. Unlike a time, the count is the same on a busy machine.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import { StatementSync } from "node:sqlite";

/** Shorter values are not counted: their calls are fast, and many. */
const SHORT = 2 ** 14;
const SITES = 6;

export interface Work {
  bytes: number;
  /** The calls with the most bytes, for example `8.0 MB stringify: wellFormedJson`. */
  sites: string[];
  /** Characters of the longest JSON text that was parsed. */
  parsed: number;
}

let sum = 0;
let most: Omit<Work, "parsed"> = { bytes: 0, sites: [] };
let parsed = 0;
let sites = new Map<string, number>();

/** Number of the turn that `sum` and `sites` are of. */
let turn = 0;

/** The turn with the most bytes since the last call. */
export function takeWork(): Work {
  endTurn();
  const work = { ...most, parsed };
  most = { bytes: 0, sites: [] };
  parsed = 0;
  return work;
}

function endTurn(): void {
  if (sum > most.bytes) {
    const first = [...sites].toSorted(([, one], [, other]) => other - one).slice(0, SITES);
    most = { bytes: sum, sites: first.map(([site, bytes]) => `${(bytes / 2 ** 20).toFixed(1)} MB ${site}`) };
  }
  sum = 0;
  sites = new Map();
}

function siteOf(call: string): string {
  const lines = (new Error("site").stack ?? "").split("\n").filter((line) => line.includes("/src/"));
  const named = lines.slice(0, 3).map((line) => /at (?:async )?(\S+) /.exec(line)?.[1] ?? "anonymous");
  return `${call}: ${named.join(" < ")}`;
}

function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  return ArrayBuffer.isView(value) ? value.byteLength : 0;
}

function count(call: string, bytes: number): void {
  if (bytes < SHORT) return;
  const { loopCount } = performance.nodeTiming.uvMetricsInfo;
  if (loopCount !== turn) endTurn();
  turn = loopCount;
  sum += bytes;
  const site = siteOf(call);
  sites.set(site, (sites.get(site) ?? 0) + bytes);
}

type Call = (this: unknown, ...args: unknown[]) => unknown;

/** `bytesOf`: of a call, from its receiver, arguments and result. */
function follow(
  owner: object,
  name: string,
  bytesOf: (self: unknown, args: readonly unknown[], result: unknown) => number,
): void {
  const methods = owner as Record<string, Call>;
  const call = methods[name] as Call;
  methods[name] = function (...args) {
    const result = call.apply(this, args);
    count(name, bytesOf(this, args, result));
    return result;
  };
}

const ofArgument = (_: unknown, [first]: readonly unknown[]): number => lengthOf(first);
const ofResult = (_: unknown, __: readonly unknown[], result: unknown): number => lengthOf(result);
const ofReceiver = (self: unknown): number => lengthOf(self);
const ofRow = (row: unknown): number =>
  Object.values((row ?? {}) as object).reduce((bytes: number, each) => bytes + lengthOf(each), 0);

/** Counts each row of `iterate` when it is read. */
function followRows(): void {
  const methods = StatementSync.prototype as unknown as Record<string, Call>;
  const call = methods["iterate"] as Call;
  methods["iterate"] = function* (...args) {
    for (const row of call.apply(this, args) as Iterable<unknown>) {
      count("iterate", ofRow(row));
      yield row;
    }
  };
}

/** Begins to count. */
export function followWork(): void {
  follow(JSON, "parse", (self, args) => {
    const length = ofArgument(self, args);
    parsed = Math.max(parsed, length);
    return length;
  });
  follow(JSON, "stringify", ofResult);
  follow(Buffer, "from", (_, [first]) => (typeof first === "string" ? first.length : 0));
  follow(Buffer, "concat", ofResult);
  follow(Buffer.prototype, "toString", ofResult);
  follow(createHash("sha256").constructor.prototype as object, "update", ofArgument);
  for (const name of ["replace", "replaceAll", "trim", "split", "toWellFormed", "isWellFormed"])
    follow(String.prototype, name, ofReceiver);
  follow(RegExp.prototype, "exec", ofArgument);
  for (const name of ["writeSync", "writeFileSync"]) follow(fs, name, (_, [, bytes]) => lengthOf(bytes));
  follow(StatementSync.prototype, "run", (_, args) =>
    args.reduce((bytes: number, each) => bytes + lengthOf(each), 0),
  );
  followRows();
  follow(StatementSync.prototype, "get", (_, __, row) => ofRow(row));
  follow(StatementSync.prototype, "all", (_, __, rows) =>
    (rows as unknown[]).reduce((bytes: number, row) => bytes + ofRow(row), 0),
  );
}
