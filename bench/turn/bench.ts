/**
 * `bench turn`: the host's overhead on a turn over a bare client, warm and one-shot, at growing history; commits a second;
 * and the program's size. The incumbent's figures are those measured for openclaw 2026.9.6 on a machine of the same size.
 */
import { createPagurus } from "../../packages/app/src/app.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { configure, makePlace, seedSession, startEndpoint, type Endpoint, type Place } from "./place.ts";
import { weigh } from "./weight.ts";
import { oneShot } from "./one-shot.ts";
import { join } from "node:path";

const SIZES = [10, 1_000, 10_000, 100_000];
const QUICK_SIZES = [10, 1_000];
const LAUNCHER = join(import.meta.dirname, "../../bin/pagurus.js");
const INCUMBENT = "openclaw 2026.9.6";

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const endpoint = await startEndpoint();
  const place = makePlace(endpoint.url);
  try {
    const sizes = options.quick ? QUICK_SIZES : SIZES;
    const commitMs = seedAll(place, sizes, options);
    // `legacy` returns its input unchanged: only the host's own work is left.
    configure(place.home, endpoint.url, "legacy");
    const own = await overheadRows(sizes, options, { endpoint, place, way: "warm" });
    configure(place.home, endpoint.url);
    const rows = [
      ...own,
      ...(await overheadRows(sizes, options, { endpoint, place, way: "warm with lossless" })),
      ...(await overheadRows(sizes, options, { endpoint, place, way: "one-shot" })),
      { measure: "commits a second (10 entries, fsync, index)", value: 1000 / commitMs, unit: "1/s" },
    ];
    return [...rows, ...(await weigh(options))];
  } finally {
    endpoint.close();
    place.remove();
  }
}

function seedAll(place: Place, sizes: readonly number[], options: BenchOptions): number {
  let commitMs = 0;
  for (const size of sizes) {
    options.log(`seeding a session of ${size} entries`);
    commitMs = seedSession(place, `size-${size}`, size);
  }
  return commitMs;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

interface Way {
  endpoint: Endpoint;
  place: Place;
  way: "warm" | "warm with lossless" | "one-shot";
}

async function overheadRows(sizes: readonly number[], options: BenchOptions, at: Way): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  let smallest = 0;
  for (const size of sizes) {
    options.log(`${at.way} turns after ${size} entries`);
    const samples =
      at.way !== "one-shot"
        ? await warmTurns(at, size, options.quick ? 20 : 100)
        : await oneShotTurns(at, size, options.quick ? 3 : 15);
    const p50 = quantile(samples, 0.5);
    if (smallest === 0) smallest = p50;
    const what = {
      warm: "host overhead of a warm turn",
      "warm with lossless": "warm turn with lossless",
      "one-shot": "one-shot process, start to end",
    }[at.way];
    const row: BenchRow = {
      measure: `${what}, ${size.toLocaleString("en-US")} entries, p50`,
      value: p50,
      unit: "ms",
    };
    rows.push(
      at.way === "one-shot"
        ? withPeer(row, `${INCUMBENT}, best of four`, 12_400)
        : withPeer(at.way === "warm" ? withTarget(row, "<=", 10) : row, `${INCUMBENT}, warm gateway`, 815),
    );
    if (at.way !== "one-shot")
      rows.push({
        measure: `${what}, ${size.toLocaleString("en-US")} entries, p95`,
        value: quantile(samples, 0.95),
        unit: "ms",
      });
    if (size === sizes.at(-1) && sizes.length > 1) {
      rows.push(
        withTarget(
          {
            measure: `${at.way}: ${size.toLocaleString("en-US")} entries over ${sizes[0] ?? 0}`,
            value: p50 / smallest,
            unit: "ratio",
          },
          "<=",
          1.5,
        ),
      );
    }
  }
  return rows;
}

/**
 * Wall time of turns in one process less the model's own: the time of a bare client, right after each turn, for the same
 * request. Ascending.
 */
async function warmTurns({ endpoint, place }: Way, size: number, count: number): Promise<number[]> {
  const pagurus = await createPagurus({ home: place.home, env: place.env });
  try {
    const samples: number[] = [];
    for (let index = -5; index < count; index++) {
      const start = performance.now();
      await turn(pagurus, place, size);
      const wall = performance.now() - start;
      const own = await endpoint.bareCall();
      if (index >= 0) samples.push(wall - own);
    }
    return samples.toSorted((left, right) => left - right);
  } finally {
    await pagurus.close();
  }
}

async function turn(pagurus: Pagurus, place: Place, size: number): Promise<void> {
  for await (const event of pagurus.run({
    prompt: "How is the tide?",
    sessionKey: `size-${size}`,
    cwd: place.workspace,
  })) {
    if (event.type === "turn.failed") throw new Error(event.error.message);
    if (event.type === "turn.completed" && event.degraded.length > 0)
      throw new Error(JSON.stringify(event.degraded));
  }
}

async function oneShotTurns({ place }: Way, size: number, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let index = 0; index <= count; index++) {
    const { wallMs, code } = await oneShot(LAUNCHER, place, [
      "run",
      "--session",
      `size-${size}`,
      "How is the tide?",
    ]);
    if (code !== 0) throw new Error(`a one-shot turn ended with ${code}`);
    if (index > 0) samples.push(wallMs);
  }
  return samples.toSorted((left, right) => left - right);
}
