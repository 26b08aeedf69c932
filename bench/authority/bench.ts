/**
 * `bench authority`: the cost of the walls around a command. A command, a turn, a start of `run` and of `serve` with the commit before
 * the walls (`BEFORE_WALLS`) and with this checkout, in turns on the same machine, in repositories of several sizes. Wall time, and
 * processor time, which other programs of the machine change less. The rows of each size are progress too, since all take half an hour
 * on a busy machine. `PAGURUS_OLD_CHECKOUT` names a checkout to compare with.
 */
import { fork, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runCommand } from "../../scripts/command.ts";
import { BEFORE_WALLS, withOldCheckout } from "../../scripts/old-checkout.ts";
import { comparePairs, type Comparison, type Sample } from "../../scripts/pairs.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { formatTable, partRows, withPeer, type BenchOptions, type BenchRow } from "../report.ts";
import { builtPackage } from "../serve/built-package.ts";
import type { Cost, HostFigures, HostJob } from "./host-child.ts";
import { makeRepository } from "./repository.ts";

export const parts = ["starts", "commands"] as const;

/** Most that a command may cost more than before, ms. */
const MOST_ADDED_MS = 30;

interface Scale {
  sizes: readonly number[];
  pairs: number;
  count: number;
  /** Pairs of starts, which do not depend on a repository. */
  starts: number;
}

const FULL: Scale = { sizes: [50, 5_000, 50_000], pairs: 7, count: 12, starts: 20 };
const QUICK: Scale = { sizes: [50, 500], pairs: 1, count: 2, starts: 1 };

/** One of the two that are compared. */
interface Side {
  /** Module that exports `createPagurus`. */
  entry: string;
  launcher: string;
}

interface Place {
  root: string;
  home: string;
  workspace: string;
  env: Record<string, string>;
  remove(): void;
}

function makePlace(files: number, url: string): Place {
  const root = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
  const [home, workspace] = [join(root, "home"), join(root, "main")];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(workspace);
  makeRepository(workspace, files);
  const model = { id: "model", contextWindow: 900_000, maxTokens: 4_000 };
  const config = {
    models: { providers: { bench: { api: "openai-completions", baseUrl: url, models: [model] } } },
    agents: { defaults: { model: "bench/model", permission: { mode: "auto" } } },
    plugins: { slots: { contextEngine: "legacy" } },
  };
  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, PAGURUS_HOME: home, PAGURUS_NO_PROBE: "1" };
  return { root, home, workspace, env, remove: () => rmSync(root, { recursive: true, force: true }) };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}

/** The fastest of many is what the load of the machine changes least; the processor time is a mean, since that of children is coarse. */
function samplesOf(title: string, costs: readonly Cost[]): Sample[] {
  const walls = costs.map(({ wall }) => wall);
  const processor = costs.reduce((sum, cost) => sum + cost.processor, 0) / costs.length;
  const figures: [measure: string, value: number][] = [
    [title, median(walls)],
    ...(costs.length > 1 ? [[`${title}, fastest`, Math.min(...walls)] satisfies [string, number]] : []),
    [`${title}, processor time`, processor],
  ];
  return figures.map(([measure, value]) => ({ measure, value, unit: "ms", better: "less" }));
}

const KINDS: Readonly<Record<keyof HostFigures, string>> = {
  first: "first command of a process",
  later: "later command",
  writing: "command that writes a file",
  firstTurn: "first turn of a process, one command",
  turn: "later turn, one command",
};

/** Time of a quick model before its answer, ms; what a host prepares meanwhile costs no wall time. */
const DELAY_MS = 400;

/** Figures of two processes: with a model that answers at once, and the first turn with one that takes its time. */
async function hostSamples(side: Side, place: Place, count: number): Promise<Sample[]> {
  return [
    ...(await childSamples(side, place, { count, delay: 0 })),
    ...(await childSamples(side, place, { count: 0, delay: DELAY_MS })),
  ];
}

async function childSamples(
  { entry }: Side,
  { home, workspace, env }: Place,
  times: Pick<HostJob, "count" | "delay">,
): Promise<Sample[]> {
  const job: HostJob = { entry, home, workspace, env, ...times };
  const script = join(import.meta.dirname, "host-child.ts");
  const { code, stdout, stderr } = await runCommand(process.execPath, [script, JSON.stringify(job)], {
    cwd: workspace,
    env,
  });
  if (code !== 0) throw new Error(`The host of ${entry} ended with code ${code}: ${stderr}`);
  const figures = JSON.parse(stdout) as HostFigures;
  return Object.entries(KINDS).flatMap(([kind, title]) => {
    const costs = figures[kind as keyof HostFigures];
    const model = times.delay === 0 ? "" : `, model takes ${times.delay} ms`;
    return costs.length === 0 ? [] : samplesOf(title + model, costs);
  });
}

/** Starts of `pagurus run` in an empty home, without a model: the first one after an installation, and the second one. */
async function offlineSamples(side: Side, { workspace, env }: Place): Promise<Sample[]> {
  const root = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
  const start = (home: string): Promise<Cost> =>
    runCost(side, workspace, { ...env, HOME: root, PAGURUS_HOME: join(root, home) });
  try {
    return [
      ...samplesOf("start of `run`, offline, no compiled code", [await start("first")]),
      ...samplesOf("start of `run`, offline, to its end", [await start("second")]),
    ];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** A start of `pagurus run` with a model that answers at once. */
async function modelSamples(side: Side, { workspace, env }: Place): Promise<Sample[]> {
  return samplesOf("start of `run`, a model's answer, to its end", [await runCost(side, workspace, env)]);
}

async function runCost({ launcher }: Side, cwd: string, env: Place["env"]): Promise<Cost> {
  const usage = join(env["HOME"] ?? "", "usage.json");
  const probe = join(import.meta.dirname, "../turn/usage-probe.mjs");
  const started = performance.now();
  const child = spawn(process.execPath, ["--import", probe, launcher, "run", "hello"], {
    cwd,
    env: { ...env, USAGE_REPORT: usage },
    stdio: "ignore",
  });
  const code = await new Promise<number | null>((done) => child.once("close", done));
  const wall = performance.now() - started;
  if (code !== 0) throw new Error(`pagurus run of ${launcher} ended with code ${code}.`);
  const { userCpuS, systemCpuS } = JSON.parse(readFileSync(usage, "utf8")) as Record<string, number>;
  return { wall, processor: ((userCpuS ?? Number.NaN) + (systemCpuS ?? Number.NaN)) * 1_000 };
}

/** Clock ticks a second in `/proc`, the same on all Linux systems. */
const TICKS = 100;

function processorMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS;
}

/** A start of `pagurus serve`, to the first answer. */
async function serveSamples({ launcher }: Side, place: Place): Promise<Sample[]> {
  const started = performance.now();
  const server = await ServeProcess.start(place, [], launcher);
  try {
    const { status } = await fetch(`${server.url}/health`);
    const wall = performance.now() - started;
    if (status !== 200) throw new Error(`/health of ${launcher} answers ${status}.`);
    return samplesOf("start of `serve`, to /health", [{ wall, processor: processorMs(server.child.pid) }]);
  } finally {
    await server.kill();
  }
}

/** Old and new in turns, never both at once; each is first in every second pair. The first run of each only fills caches. */
async function inPairs(
  pairs: number,
  sides: Sides,
  measure: (side: Side) => Promise<Sample[]>,
): Promise<Comparison[]> {
  const [before, after]: Sample[][][] = [[], []];
  for (let pair = pairs === 1 ? 0 : -1; pair < pairs; pair += 1) {
    const old = async (): Promise<unknown> => before?.push(await measure(sides.before));
    const now = async (): Promise<unknown> => after?.push(await measure(sides.now));
    for (const side of pair % 2 === 0 ? [old, now] : [now, old]) await side();
    if (pair < 0) for (const rounds of [before, after]) rounds?.pop();
  }
  return comparePairs(before ?? [], after ?? []);
}

/** A command has a bound; everything else is compared with the noise of the pairs. */
function rowsOf(place: string, compared: readonly Comparison[]): BenchRow[] {
  return compared.flatMap(({ measure, unit, before, after, difference, noise, worse }) => {
    const row = withPeer(
      { measure: `${place}${measure}`, value: after, unit },
      BEFORE_WALLS.slice(0, 8),
      before,
    );
    const isBounded = /^(?:later command|command that writes)/.test(measure) && !measure.endsWith("time");
    const added = `${difference < 0 ? "" : "+"}${difference.toFixed(1)} ±${noise.toFixed(1)}`;
    return isBounded
      ? { ...row, target: `${added} <= ${MOST_ADDED_MS} more`, ok: difference <= MOST_ADDED_MS }
      : { ...row, target: `${added}, within noise`, ok: !worse };
  });
}

async function startEndpoint(): Promise<{ url: string; child: ChildProcess }> {
  const child = fork(join(import.meta.dirname, "command-endpoint.ts"), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("message", (message: { url: string }) => resolve(message.url));
    child.once("exit", () => reject(new Error("the endpoint of the benchmark ended")));
  });
  return { url, child };
}

/** Of a checkout before the packages the sources are in one folder. */
function sourceEntry(root: string): string {
  const packaged = join(root, "packages/app/src/create.ts");
  return existsSync(packaged) ? packaged : join(root, "src/create.ts");
}

/** The short form runs the sources, the long one the package as it is installed. */
async function withSide<T>(root: string, quick: boolean, work: (side: Side) => Promise<T>): Promise<T> {
  if (quick) return work({ entry: sourceEntry(root), launcher: join(root, "bin/pagurus.js") });
  const built = await builtPackage(root);
  try {
    return await work({ entry: join(built.root, "dist/index.js"), launcher: built.launcher });
  } finally {
    built.remove();
  }
}

type Sides = Readonly<Record<"before" | "now", Side>>;

async function commandRows(options: BenchOptions, sides: Sides, url: string): Promise<BenchRow[]> {
  const { sizes, pairs, count } = options.quick ? QUICK : FULL;
  const rows: BenchRow[] = [];
  for (const size of sizes) {
    const title = `${size.toLocaleString("en-US")} files: `;
    options.log(title);
    const place = makePlace(size, url);
    try {
      const found = rowsOf(title, await inPairs(pairs, sides, (side) => hostSamples(side, place, count)));
      options.log(formatTable(found));
      rows.push(...found);
    } finally {
      place.remove();
    }
  }
  return rows;
}

/** Each side has a home of its own, so that neither opens a database of the other. */
async function startRows(options: BenchOptions, sides: Sides, url: string): Promise<BenchRow[]> {
  const { starts } = options.quick ? QUICK : FULL;
  const places = new Map(Object.values(sides).map((side) => [side, makePlace(50, url)]));
  const measure = async (side: Side): Promise<Sample[]> => {
    const place = places.get(side);
    if (!place) throw new Error(`${side.launcher} has no home.`);
    return [
      ...(await offlineSamples(side, place)),
      ...(await modelSamples(side, place)),
      ...(await serveSamples(side, place)),
    ];
  };
  try {
    const rows = rowsOf("", await inPairs(starts, sides, measure));
    options.log(formatTable(rows));
    return rows;
  } finally {
    for (const place of places.values()) place.remove();
  }
}

async function allRows(options: BenchOptions, sides: Sides, url: string): Promise<BenchRow[]> {
  return partRows(
    {
      starts: () => startRows(options, sides, url),
      commands: () => commandRows(options, sides, url),
    },
    options,
  );
}

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const endpoint = await startEndpoint();
  try {
    return await withOldCheckout(BEFORE_WALLS, (old) =>
      withSide(old, options.quick, (before) =>
        withSide(ROOT, options.quick, (now) => allRows(options, { before, now }, endpoint.url)),
      ),
    );
  } finally {
    endpoint.child.disconnect();
  }
}
