/**
 * `bench runtimes`: the host's overhead on each program that it drives, over a bare driver of the same program in the same
 * run: in the first turn of a process, in a warm turn, in memory. The endpoints answer at once, so that the overhead is
 * visible; for our own loop the bare driver is the HTTP request alone.
 */
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { childrenOf, residentMb } from "../codex/memory.ts";
import { interleaved, overheadOf, quantile, timed } from "../codex/paired.ts";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { bareAcp, bareClaude, bareCodex, bareRequest, type BareDriver } from "./bare.ts";
import {
  hostTurn,
  makePlace,
  openHost,
  SHELLS,
  startEndpoints,
  type Endpoints,
  type Place,
  type RuntimeName,
} from "./place.ts";
import { makeRecorder, type Recorded } from "./record.ts";

const PEER = "bare driver";
/** Warm-up turns, not counted: they compile and open files. */
const WARM_UP = 10;
/** Maximum of the host's overhead on a warm turn at the median, ms; where one is promised. */
const LIMITS: Partial<Record<RuntimeName, number>> = { "claude-cli": 10, codex: 5 };

export const parts: readonly string[] = Object.keys(SHELLS);

type StartBare = (recorded: Recorded | undefined, place: Place) => Promise<BareDriver>;

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const endpoints = await startEndpoints();
  try {
    const rows: BenchRow[] = [];
    for (const runtime of Object.keys(SHELLS) as RuntimeName[])
      if (options.only === undefined || options.only === runtime)
        rows.push(...(await rowsOf(runtime, endpoints, options)));
    return rows;
  } finally {
    endpoints.close();
  }
}

function bareOf(runtime: RuntimeName, endpoints: Endpoints): StartBare {
  return async (recorded, { root }) => {
    const { program } = SHELLS[runtime];
    if (!program || !recorded) return bareRequest(endpoints.messages);
    if (runtime === "claude-cli") return bareClaude(program(), recorded, root);
    return runtime === "acp" ? bareAcp(program(), recorded, root) : bareCodex(program(), recorded, root);
  };
}

/** Records one turn of a separate host, as the program gets it. The caller removes the place. */
async function record(
  runtime: RuntimeName,
  endpoints: Endpoints,
  place: Place,
): Promise<Recorded | undefined> {
  const { program } = SHELLS[runtime];
  if (!program) return undefined;
  const recorder = makeRecorder(place.root, program());
  const pagurus = await openHost(place, runtime, endpoints, recorder.command);
  await hostTurn(pagurus, place);
  await pagurus.close();
  return recorder.read();
}

async function rowsOf(
  runtime: RuntimeName,
  endpoints: Endpoints,
  options: BenchOptions,
): Promise<BenchRow[]> {
  const place = makePlace();
  try {
    const recorded = await record(runtime, endpoints, place);
    const startBare = bareOf(runtime, endpoints);
    const starts = await startRows(runtime, endpoints, options, () => startBare(recorded, place));
    return [...starts, ...(await warmRows(runtime, endpoints, options, () => startBare(recorded, place)))];
  } finally {
    place.remove();
  }
}

/** The first turn: the program is started for it. */
async function startRows(
  runtime: RuntimeName,
  endpoints: Endpoints,
  { quick, log }: BenchOptions,
  startBare: () => Promise<BareDriver>,
): Promise<BenchRow[]> {
  log(`${runtime}: first turns`);
  const [host, bare]: [number[], number[]] = [[], []];
  for (let round = 0; round < (quick ? 1 : 5); round += 1) {
    const own = makePlace();
    let pagurus: Pagurus | undefined;
    host.push(
      await timed(async () => {
        pagurus = await openHost(own, runtime, endpoints);
        await hostTurn(pagurus, own);
      }),
    );
    await pagurus?.close();
    own.remove();
    let driver: BareDriver | undefined;
    bare.push(
      await timed(async () => {
        driver = await startBare();
        await driver.turn();
      }),
    );
    await driver?.end();
  }
  const measure = `${runtime}: first turn of a host, p50`;
  return [withPeer({ measure, value: quantile(host, 0.5), unit: "ms" }, PEER, quantile(bare, 0.5))];
}

async function warmRows(
  runtime: RuntimeName,
  endpoints: Endpoints,
  { quick, log }: BenchOptions,
  startBare: () => Promise<BareDriver>,
): Promise<BenchRow[]> {
  log(`${runtime}: warm turns`);
  const own = makePlace();
  const before = new Set(childrenOf(process.pid));
  const driver = await startBare();
  const pagurus = await openHost(own, runtime, endpoints);
  try {
    const pairs = await interleaved(
      quick ? 5 : 50,
      WARM_UP,
      () => hostTurn(pagurus, own),
      () => timed(() => driver.turn()),
    );
    const { host, bare, p50, p95 } = overheadOf(pairs);
    const what = `${runtime}: warm turn`;
    const limit = LIMITS[runtime];
    const overhead: BenchRow = { measure: `${what}, host's overhead, p50`, value: p50, unit: "ms" };
    return [
      limit === undefined ? overhead : withTarget(overhead, "<=", limit),
      { measure: `${what}, host's overhead, p95`, value: p95, unit: "ms" },
      withPeer({ measure: `${what}, p50`, value: host, unit: "ms" }, PEER, bare),
      ...memoryRows(runtime, before, driver),
    ];
  } finally {
    await Promise.all([pagurus.close(), driver.end()]);
    own.remove();
  }
}

/** Of the program and its descendants, after the warm turns. Linux only. */
function memoryRows(runtime: RuntimeName, before: ReadonlySet<number>, { pid }: BareDriver): BenchRow[] {
  if (pid === undefined || process.platform !== "linux") return [];
  const children = childrenOf(process.pid).filter((each) => !before.has(each) && each !== pid);
  const value = children.reduce((sum, each) => sum + residentMb(each), 0);
  const measure = `${runtime}: memory of its processes`;
  return [withPeer({ measure, value, unit: "MB" }, PEER, residentMb(pid))];
}
