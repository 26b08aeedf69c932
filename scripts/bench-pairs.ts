/**
 * `npm run prove -- house.2 [--before COMMIT] [--only PART,PART] [--pairs N] [--quick] [--json FILE]`: figures of the old commit and of
 * this checkout, one run at a time, old and new in turns on the same machine, so that both see the same load. For each measure the
 * medians, the median difference of the pairs and its noise. Ends with 1 when a measure is worse than before by more than its noise.
 * `--before` names another commit than that of house.2. `--quick` runs the short form of the benchmarks.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { BenchRow } from "../bench/report.ts";
import { ROOT, runCommand } from "./command.ts";
import { OLD_COMMIT, withOldCheckout } from "./old-checkout.ts";
import { betterOf, comparePairs, type Comparison, type Sample } from "./pairs.ts";
import { residentMemory } from "./resident-memory.ts";
import { streamMemory } from "./stream-memory.ts";

interface Options {
  quick: boolean;
}

interface Part {
  /** Pairs that are measured unless `--pairs` says otherwise. */
  pairs: number;
  measure(root: string, options: Options): Promise<Sample[]>;
}

function benchPart(name: string, only?: string): Part["measure"] {
  return async (root, { quick }) => {
    const args = ["bench/main.ts", name, "--json"];
    if (only !== undefined) args.push("--only", only);
    if (quick) args.push("--quick");
    const before = childrensCpu();
    const { code, stdout, stderr } = await runCommand(process.execPath, args, { cwd: root });
    if (code !== 0) throw new Error(`The benchmark ${name} of ${root} ended with code ${code}: ${stderr}`);
    const { rows } = JSON.parse(stdout) as { rows: BenchRow[] };
    const cpu = childrensCpu() - before;
    const samples = rows.map((row) => ({ ...row, better: betterOf(row) }));
    const measure = `${name}${only === undefined ? "" : ` ${only}`}: CPU of all processes`;
    return cpu > 0 ? [...samples, { measure, value: cpu, unit: "s", better: "less" }] : samples;
  };
}

/** CPU time of the processes that this one started and that have ended, with theirs, s. 0 on other systems than Linux. */
function childrensCpu(): number {
  if (process.platform !== "linux") return 0;
  const stat = readFileSync("/proc/self/stat", "latin1");
  // cutime and cstime: fields 16 and 17 of proc(5), in hundredths; the first one here is the third.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Rows that cannot be compared are only shown. */
function shown(samples: readonly Sample[], measures: RegExp): Sample[] {
  return samples.map((sample) => (measures.test(sample.measure) ? { ...sample, better: "neither" } : sample));
}

/**
 * The benchmark's rows of memory are over an idle process that got smaller: the whole is compared instead. A search ranks by more than
 * that of the old commit (decision 006), and its time has limits of its own, in the benchmark.
 */
async function losslessSamples(root: string, options: Options): Promise<Sample[]> {
  const samples = await benchPart("lossless")(root, options);
  const compared = shown(samples, /over the idle process|^search\b.*, p95$/);
  return [...compared, ...(await residentMemory(root, options))];
}

/**
 * The old benchmark's peak memory is its own: a process that is started begins with its parent's (the part `start-up` has that of the
 * program). The size of the package is that of the packages for the server, the channels and PostgreSQL, which came later.
 */
async function turnSamples(root: string, options: Options): Promise<Sample[]> {
  return shown(await benchPart("turn")(root, options), /^one-shot turn, peak memory|^installed tarball/);
}

/** Compares the whole memory (`stream-memory.ts`): the benchmark's row subtracts the idle server, which has become smaller. */
async function serveSamples(root: string, options: Options): Promise<Sample[]> {
  return [
    ...shown(await benchPart("serve")(root, options), /over an idle server/),
    ...(await streamMemory(root)),
  ];
}

/** Wall time and peak memory of one command in an empty home, in a process of its own. */
async function commandSamples(root: string, title: string, args: readonly string[]): Promise<Sample[]> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-pairs-"));
  try {
    const usage = join(folder, "usage.json");
    const probe = join(ROOT, "bench/turn/usage-probe.mjs");
    const env = {
      PATH: process.env["PATH"],
      HOME: folder,
      PAGURUS_HOME: join(folder, "home"),
      PAGURUS_NO_PROBE: "1",
      USAGE_REPORT: usage,
    };
    const started = performance.now();
    const child = spawn(process.execPath, ["--import", probe, join(root, "bin/pagurus.js"), ...args], {
      cwd: folder,
      env,
      stdio: "ignore",
    });
    const code = await new Promise<number | null>((done) => child.once("close", done));
    const wallMs = performance.now() - started;
    if (code !== 0) throw new Error(`pagurus ${args.join(" ")} of ${root} ended with code ${code}.`);
    const report = JSON.parse(readFileSync(usage, "utf8")) as { userCpuS: number; peakMb: number };
    return [
      { measure: `${title}: wall time`, value: wallMs, unit: "ms", better: "less" },
      { measure: `${title}: processor time`, value: report.userCpuS * 1000, unit: "ms", better: "less" },
      { measure: `${title}: peak memory`, value: report.peakMb, unit: "MB", better: "less" },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const PARTS: Record<string, Part> = {
  "start-up": {
    pairs: 15,
    measure: async (root) => [
      ...(await commandSamples(root, "--version", ["--version"])),
      ...(await commandSamples(root, "run hello, empty home", ["run", "hello"])),
      ...(await commandSamples(root, "status, empty home", ["status"])),
    ],
  },
  turn: { pairs: 3, measure: turnSamples },
  lossless: { pairs: 3, measure: losslessSamples },
  passthrough: { pairs: 3, measure: benchPart("wire", "passthrough") },
  prefix: { pairs: 1, measure: benchPart("wire", "prefix") },
  "first-byte": { pairs: 5, measure: benchPart("wire", "first-byte") },
  serve: { pairs: 5, measure: serveSamples },
};
/** Parts that the commit of house.2 has. */
const HOUSE_PARTS = ["start-up", "turn", "lossless", "passthrough", "prefix"];

function rowOf(row: Comparison): string {
  const figure = (value: number): string =>
    `${value.toLocaleString("en", { maximumSignificantDigits: 4 })} ${row.unit}`.padStart(18);
  const share = row.before === 0 ? "" : `${(row.after / row.before).toFixed(3)}`;
  const change = `${figure(row.difference)} ±${figure(row.noise).trim().padStart(14)}`;
  const pairs = row.better === "neither" ? "only shown" : `${row.worsePairs} of ${row.pairs} worse`;
  const cells = [figure(row.before), figure(row.after), share.padStart(7), change, pairs.padStart(15)];
  return `${row.worse ? "WORSE" : "     "} ${row.measure.padEnd(64)} ${cells.join(" ")}`;
}

function headOf(name: string, commit: string): string {
  const cells = [
    commit.slice(0, 8).padStart(18),
    "now".padStart(18),
    "ratio".padStart(7),
    "difference".padStart(18),
    "  noise",
  ];
  return `      ${name.padEnd(64)} ${cells.join(" ")}`;
}

/** Old and new in turns, never both at once; each is first in every second pair. */
async function pairsOf(part: Part, pairs: number, old: string, options: Options): Promise<Comparison[]> {
  const now = resolve(ROOT);
  const before: Sample[][] = [];
  const after: Sample[][] = [];
  const measureOld = async (): Promise<number> => before.push(await part.measure(old, options));
  const measureNew = async (): Promise<number> => after.push(await part.measure(now, options));
  // The first run of each fills caches of compiled code and of the disk.
  if (pairs > 1) {
    await part.measure(old, { quick: true });
    await part.measure(now, { quick: true });
  }
  for (let pair = 0; pair < pairs; pair += 1) {
    const order = pair % 2 === 0 ? [measureOld, measureNew] : [measureNew, measureOld];
    for (const measure of order) await measure();
  }
  return comparePairs(before, after);
}

const { values } = parseArgs({
  options: {
    before: { type: "string", default: OLD_COMMIT },
    only: { type: "string" },
    pairs: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const names = values.only?.split(",") ?? HOUSE_PARTS;
const unknown = names.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0)
  throw new Error(`No part is called "${unknown.join(", ")}"; there is: ${Object.keys(PARTS).join(", ")}.`);
const wanted = values.pairs === undefined ? undefined : Number(values.pairs);
if (wanted !== undefined && !(Number.isInteger(wanted) && wanted > 0))
  throw new Error(`--pairs ${values.pairs}: give a whole number of at least 1.`);
// The old commit has no recall for a turn; what it costs has limits of its own (`recall.5`).
process.env["PAGURUS_BENCH_RECALL"] = "off";
const results: Record<string, Comparison[]> = {};
await withOldCheckout(values.before, async (old) => {
  for (const name of names) {
    const part = PARTS[name];
    if (!part) continue;
    const pairs = wanted ?? part.pairs;
    console.error(`${name}: ${pairs} pairs`);
    const rows = await pairsOf(part, pairs, old, { quick: values.quick });
    console.log(headOf(name, values.before));
    for (const row of rows) console.log(rowOf(row));
    results[name] = rows;
  }
});
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
const worse = Object.values(results)
  .flat()
  .filter((row) => row.worse);
console.log(`${Object.values(results).flat().length} measures, ${worse.length} worse than before`);
process.exitCode = worse.length === 0 ? 0 : 1;
