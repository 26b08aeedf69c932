/**
 * `node scripts/bench-pairs.ts [--only PART] [--rounds N] [--quick] [--json FILE]`: figures of the old commit and of this checkout,
 * measured in turns on the same machine, so that both see the same load. For each measure the medians and the median of the
 * ratios of the pairs. Ends with 1 when a measure is worse than before by more than its noise.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { BenchRow } from "../bench/report.ts";
import { ROOT, runCommand } from "./command.ts";
import { OLD_COMMIT, withOldCheckout } from "./old-checkout.ts";
import { comparePairs, type Comparison, type Sample } from "./pairs.ts";

interface Options {
  quick: boolean;
}

interface Part {
  /** Pairs that are measured unless `--rounds` says otherwise. */
  rounds: number;
  measure(root: string, options: Options): Promise<Sample[]>;
}

function benchPart(name: string, only?: string): Part["measure"] {
  return async (root, { quick }) => {
    const args = ["bench/main.ts", name, "--json"];
    if (only !== undefined) args.push("--only", only);
    if (quick) args.push("--quick");
    const { code, stdout, stderr } = await runCommand(process.execPath, args, { cwd: root });
    if (code !== 0) throw new Error(`The benchmark ${name} of ${root} ended with code ${code}: ${stderr}`);
    const { rows } = JSON.parse(stdout) as { rows: BenchRow[] };
    return rows.map(({ measure, value, unit }) => ({ measure, value, unit }));
  };
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
      { measure: `${title}: wall time`, value: wallMs, unit: "ms" },
      { measure: `${title}: processor time`, value: report.userCpuS * 1000, unit: "ms" },
      { measure: `${title}: peak memory`, value: report.peakMb, unit: "MB" },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const PARTS: Record<string, Part> = {
  "start-up": {
    rounds: 15,
    measure: async (root) => [
      ...(await commandSamples(root, "--version", ["--version"])),
      ...(await commandSamples(root, "run hello, empty home", ["run", "hello"])),
      ...(await commandSamples(root, "status, empty home", ["status"])),
    ],
  },
  turn: { rounds: 3, measure: benchPart("turn") },
  lossless: { rounds: 3, measure: benchPart("lossless") },
  passthrough: { rounds: 3, measure: benchPart("wire", "passthrough") },
  prefix: { rounds: 1, measure: benchPart("wire", "prefix") },
};

function rowOf({ measure, unit, before, after, ratio, noise, worse }: Comparison): string {
  const figure = (value: number): string =>
    `${value.toLocaleString("en", { maximumSignificantDigits: 4 })} ${unit}`.padStart(14);
  const share = `${ratio.toFixed(3)} ± ${noise.toFixed(3)}`.padStart(16);
  return `${worse ? "WORSE" : "     "} ${measure.padEnd(64)} ${figure(before)} ${figure(after)} ${share}`;
}

/** Old and new in turns; each is first in every second pair. */
async function pairsOf(part: Part, rounds: number, old: string, options: Options): Promise<Comparison[]> {
  const before: Sample[][] = [];
  const after: Sample[][] = [];
  const measureOld = async (): Promise<number> => before.push(await part.measure(old, options));
  const measureNew = async (): Promise<number> => after.push(await part.measure(resolve(ROOT), options));
  // The first run of each fills caches of compiled code and of the disk.
  if (rounds > 1) await Promise.all([part.measure(old, options), part.measure(resolve(ROOT), options)]);
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? [measureOld, measureNew] : [measureNew, measureOld];
    for (const measure of order) await measure();
  }
  return comparePairs(before, after);
}

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const names = values.only === undefined ? Object.keys(PARTS) : [values.only];
const results: Record<string, Comparison[]> = {};
await withOldCheckout(async (old) => {
  for (const name of names) {
    const part = PARTS[name];
    if (!part) throw new Error(`No part is called "${name}"; there is: ${Object.keys(PARTS).join(", ")}.`);
    const rounds = values.rounds === undefined ? part.rounds : Number(values.rounds);
    console.error(`${name}: ${rounds} pairs`);
    const rows = await pairsOf(part, rounds, old, { quick: values.quick });
    console.log(
      `      ${name.padEnd(64)} ${OLD_COMMIT.padStart(14)} ${"now".padStart(14)} ${"ratio".padStart(16)}`,
    );
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
