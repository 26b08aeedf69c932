/**
 * `bench start`: processor time, peak memory and the time to the first byte at the model, from the start of one command: through the
 * resident host, in a process of its own with each protocol, and after an install without a cache; and what a resident host costs that
 * waits. The kinds of starts take turns with `node -e 0`, so that a busy machine slows all of them.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { installPackage } from "../../scripts/installed-package.ts";
import { residentFiles, runningResident } from "../../packages/server/src/resident-place.ts";
import { startServer, type ModelServer, type Protocol } from "../../test/servers/server.ts";
import { LAUNCHER } from "../../test/runner/program.ts";
import { modelConfig } from "../../test/turn/setting.ts";
import { partRows, withTarget, type BenchOptions, type BenchRow } from "../report.ts";

const REPO = resolve(import.meta.dirname, "../..");
const PROBE = join(import.meta.dirname, "usage-probe.cjs");
const PROTOCOLS: readonly Protocol[] = [
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "google",
];
/** Ticks of processor time a second in /proc, on every Linux. */
const TICKS = 100;
const START_MS = 60_000;
const LOOK_MS = 20;

interface Started {
  cpuS: number;
  peakMb: number;
  /** From the start of the process; NaN for one that calls no model. */
  firstByteMs: number;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

/** A home with one model, and the commands in it. */
class Place {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-start-"));
  readonly home = join(this.root, "home");
  readonly launcher: string;
  #model: ModelServer | undefined;
  #firstAt = 0;

  constructor(launcher: string) {
    this.launcher = launcher;
    mkdirSync(this.home, { mode: 0o700 });
  }

  async configure(protocol: Protocol, server: Record<string, unknown> = {}): Promise<void> {
    await this.#model?.close();
    this.#model = await startServer({
      protocol,
      script: () => {
        if (this.#firstAt === 0) this.#firstAt = performance.now();
        return { text: "The tide is in." };
      },
    });
    const more = { server, plugins: { slots: { contextEngine: "lossless" } } };
    writeFileSync(
      join(this.home, "pagurus.json"),
      JSON.stringify(modelConfig(protocol, this.#model.url, {}, more)),
      { mode: 0o600 },
    );
  }

  /** One process of node with these arguments. Throws where it fails. */
  async start(args: readonly string[], cache = "cache"): Promise<Started> {
    const report = join(this.root, "usage.json");
    rmSync(report, { force: true });
    this.#firstAt = 0;
    const from = performance.now();
    const child = spawn(process.execPath, args, {
      cwd: this.root,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: this.root,
        PAGURUS_HOME: this.home,
        PAGURUS_NO_PROBE: "1",
        XDG_CACHE_HOME: join(this.root, cache),
        NODE_OPTIONS: `--require ${PROBE}`,
        USAGE_REPORT: report,
      },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const code = await new Promise<number | null>((ended) => child.once("close", ended));
    if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}`);
    const usage = JSON.parse(readFileSync(report, "utf8")) as Pick<Started, "cpuS" | "peakMb">;
    return { ...usage, firstByteMs: this.#firstAt === 0 ? Number.NaN : this.#firstAt - from };
  }

  run(session: string, cache?: string): Promise<Started> {
    return this.start([this.launcher, "run", "--session", session, "Hello"], cache);
  }

  /** Resolves with the process id of the resident host when it takes commands. */
  async resident(): Promise<number> {
    for (const until = performance.now() + START_MS; performance.now() < until; await pause(LOOK_MS)) {
      const pid = runningResident(this.home)?.pid;
      if (pid !== undefined && existsSync(residentFiles(this.home).key)) return pid;
    }
    throw new Error("no resident host has started");
  }

  async remove(): Promise<void> {
    const pid = runningResident(this.home)?.pid;
    if (pid !== undefined) process.kill(pid, "SIGKILL");
    await this.#model?.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

interface Bounds {
  cpuS: number;
  peakMb: number;
  firstByteMs: number;
}

/** The medians of one kind of start, and of `node -e 0` in the same minute. */
function rowsOf(
  name: string,
  runs: readonly Started[],
  nodes: readonly Started[],
  most?: Bounds,
): BenchRow[] {
  const cpuS = median(runs.map((run) => run.cpuS));
  const node = median(nodes.map((run) => run.cpuS));
  const rows: BenchRow[] = [
    {
      measure: `${name}: CPU`,
      value: cpuS,
      unit: "s",
      peer: { name: "node -e 0", value: node },
      ratio: cpuS / node,
    },
    { measure: `${name}: peak memory`, value: median(runs.map((run) => run.peakMb)), unit: "MB" },
    { measure: `${name}: first byte`, value: median(runs.map((run) => run.firstByteMs)), unit: "ms" },
  ];
  const bounds = most && [most.cpuS, most.peakMb, most.firstByteMs];
  return rows.map((row, index) => (bounds ? withTarget(row, "<=", bounds[index] ?? 0) : row));
}

/** Starts of a kind that write its caches (`packages/core/src/platform/start-script.ts`). */
const WARM = 3;

/** Pairs of a start and of `node -e 0`. */
async function paired(place: Place, count: number, start: (index: number) => Promise<Started>) {
  const runs: Started[] = [];
  const nodes: Started[] = [];
  for (let index = 1; index <= WARM; index++) await start(-index);
  for (let index = 1; index <= count; index++) {
    nodes.push(await place.start(["-e", "0"]));
    runs.push(await start(index));
  }
  return { runs, nodes };
}

async function throughHost(place: Place, count: number, seconds: number): Promise<BenchRow[]> {
  await place.configure("openai-completions", { resident: true });
  await place.run("first");
  const pid = await place.resident();
  const { runs, nodes } = await paired(place, count, (index) => place.run(`host-${index}`));
  const rows = rowsOf("through the resident host", runs, nodes, { cpuS: 0.06, peakMb: 55, firstByteMs: 120 });
  return process.platform === "linux" ? [...rows, ...(await idleRows(pid, seconds))] : rows;
}

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

async function idleRows(pid: number, seconds: number): Promise<BenchRow[]> {
  const before = ticksOf(pid);
  await pause(seconds * 1_000);
  const share = ((ticksOf(pid) - before) / TICKS / seconds) * 100;
  const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return [
    withTarget(
      { measure: "the resident host waits: memory", value: Number(kilobytes) / 1024, unit: "MB" },
      "<=",
      90,
    ),
    withTarget({ measure: "the resident host waits: share of a core", value: share, unit: "%" }, "<=", 0.1),
  ];
}

async function cold(place: Place, count: number, protocols: readonly Protocol[]): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const protocol of protocols) {
    await place.configure(protocol);
    const { runs, nodes } = await paired(place, count, (index) => place.run(`${protocol}-${index}`));
    rows.push(...rowsOf(`cold, ${protocol}`, runs, nodes, { cpuS: 0.25, peakMb: 88, firstByteMs: 200 }));
  }
  return rows;
}

async function first(place: Place, count: number): Promise<BenchRow[]> {
  await place.configure("openai-completions");
  const { runs, nodes } = await paired(place, count, (index) => place.run(`first-${index}`, `none-${index}`));
  return rowsOf("the first start, without a cache", runs, nodes);
}

export const parts = ["host", "cold", "first"];

/** Of the installed package; with `quick` of the program that tests start, one start of each kind. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const { quick, log } = options;
  const folder = mkdtempSync(join(tmpdir(), "pagurus-start-package-"));
  if (!quick) log("packing and installing the tarball");
  const launcher = quick ? LAUNCHER : (await installPackage(REPO, folder)).launcher;
  const place = new Place(launcher);
  const count = quick ? 1 : 9;
  try {
    const jobs = {
      host: () => throughHost(place, count, quick ? 1 : 60),
      cold: () => cold(place, count, quick ? PROTOCOLS.slice(0, 1) : PROTOCOLS),
      first: () => first(place, quick ? 1 : 5),
    };
    return await partRows(jobs, options);
  } finally {
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}
