/**
 * `npm run lint [-- --only step,step] [--root DIR]`: every static check. Runs all of them and reports all that
 * fails before it ends with 1.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkApiSnapshot } from "./api-snapshot.ts";
import { checkAuthorityFields } from "./authority-fields.ts";
import { checkHouse } from "./check-house.ts";
import { checkChannelPlaces } from "./channel-places.ts";
import { checkCommandPlaces } from "./command-places.ts";
import { checkFigures } from "./house.ts";
import { checkLogs } from "./check-logs.ts";
import { ROOT, runCommand } from "./command.ts";
import { checkConfigurationPage } from "./configuration-page.ts";
import { checkLayerPlaces } from "./layer-places.ts";
import { checkTriedPrograms } from "./tried-page.ts";
import { checkChildInputs, checkHooks, checkWaits } from "./wait-places.ts";
import { checkPackages } from "./package-places.ts";
import { checkWords } from "./plain-words.ts";
import { checkQuirkPlaces } from "./quirk-places.ts";
import { checkReceiptPlaces } from "./receipt-places.ts";
import { checkRuntimesTable } from "./runtimes-table.ts";
import { checkSlashPlaces } from "./slash-places.ts";
import { sourceFolders } from "./source-files.ts";

interface StepResult {
  ok: boolean;
  /** What to print; may be empty on success. */
  report: string;
}

type Step = (root: string) => Promise<StepResult> | StepResult;

const FOLDERS = ["packages", "test", "bench", "scripts", "bin", "examples"];

function present(root: string): string[] {
  return FOLDERS.filter((folder) => existsSync(join(root, folder)));
}

async function tool(root: string, name: string, args: readonly string[]): Promise<StepResult> {
  const result = await runCommand(join(root, "node_modules/.bin", name), args, { cwd: root });
  return { ok: result.code === 0, report: (result.stdout + result.stderr).trim() };
}

function listed(problems: readonly string[]): StepResult {
  return { ok: problems.length === 0, report: problems.join("\n") };
}

interface Cruise {
  summary: {
    totalCruised: number;
    violations: { from: string; to: string; rule: { name: string }; cycle?: { name: string }[] }[];
  };
}

/** Fails a cruise of 0 modules: without a parser for TypeScript dependency-cruiser reads nothing and succeeds. */
async function layers(root: string): Promise<StepResult> {
  const args = [
    "--config",
    ".dependency-cruiser.cjs",
    "--output-type",
    "json",
    ...[...sourceFolders(root), "packages/inspector/src"].filter((folder) => existsSync(join(root, folder))),
  ];
  const result = await runCommand(join(root, "node_modules/.bin/depcruise"), args, { cwd: root });
  if (!result.stdout.startsWith("{")) return { ok: false, report: result.stdout + result.stderr };
  const { summary } = JSON.parse(result.stdout) as Cruise;
  const lines = summary.violations.map(({ rule, from, to, cycle }) => {
    const way = cycle?.length ? cycle.map((step) => step.name).join(" → ") : to;
    return `${rule.name}: ${from} → ${way}`;
  });
  lines.push(`${summary.totalCruised} modules cruised`);
  return { ok: summary.violations.length === 0 && summary.totalCruised > 0, report: lines.join("\n") };
}

/** Exports without a caller, tests included, and modules that only tests load. */
async function unused(root: string): Promise<StepResult> {
  const flags = ["--no-progress", "--no-config-hints"];
  const exports = await tool(root, "knip", flags);
  if (!exports.ok) return exports;
  return tool(root, "knip", [...flags, "--production", "--include", "files"]);
}

const STEPS: Record<string, Step> = {
  oxlint: (root) =>
    tool(root, "oxlint", ["--type-aware", "--deny-warnings", "--format=unix", ...present(root)]),
  format: (root) => tool(root, "oxfmt", ["--check", "."]),
  layers,
  unused,
  logs: (root) => listed(checkLogs(root).map(({ file, line, what }) => `${file}:${line}: ${what}`)),
  house: (root) => listed(checkHouse(root)),
  figures: (root) => listed(checkFigures(root)),
  places: async (root) =>
    listed([
      ...checkPackages(root),
      ...checkLayerPlaces(root),
      ...(await checkCommandPlaces(root)),
      ...checkQuirkPlaces(root),
      ...checkSlashPlaces(root),
      ...checkChannelPlaces(root),
      ...checkReceiptPlaces(root),
    ]),
  words: (root) => listed(checkWords(root)),
  waits: (root) => listed([...checkWaits(root), ...checkChildInputs(root), ...checkHooks(root)]),
  api: checkApiSnapshot,
  runtimes: (root) => checkRuntimesTable(root),
  tried: (root) => listed(checkTriedPrograms(root)),
  authority: (root) => listed(checkAuthorityFields(root)),
  configuration: async (root) => listed(await checkConfigurationPage(root)),
};

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { only: { type: "string" }, root: { type: "string", default: ROOT } },
  });
  const root = resolve(values.root);
  const names = values.only?.split(",") ?? Object.keys(STEPS);
  const unknown = names.filter((name) => !Object.hasOwn(STEPS, name));
  if (unknown.length > 0) {
    console.error(`lint: no step ${unknown.join(", ")}; there are ${Object.keys(STEPS).join(", ")}.`);
    process.exitCode = 2;
    return;
  }
  const failed: string[] = [];
  for (const name of names) {
    const started = performance.now();
    const { ok, report } = (await STEPS[name]?.(root)) ?? { ok: false, report: "" };
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${ok ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
    if (report !== "" && (!ok || name === "layers")) console.log(report.replace(/^/gm, "     "));
    if (!ok) failed.push(name);
  }
  console.log(failed.length === 0 ? "lint: clean" : `lint: ${failed.join(", ")} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

await main();
