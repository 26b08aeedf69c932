/**
 * The gateway's overhead on answers that it only forwards: many paced streams at once with it and without, alternating
 * within one run; one stream alone; and the throughput without pacing. Endpoint, gateway and load are each a process, and where
 * the system can do that the gateway has a core of its own: the endpoint alone writes 40,000 times a second.
 */
import { fork, spawnSync, type ChildProcess } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import type { LoadJob, LoadResult } from "./passthrough-load.ts";

const STREAMS = 200;
const PER_SECOND = 200;
const PEER = "no proxy";
/** Length of a harness's request at the beginning of its work. */
const BODY_BYTES = 64 * 1_024;
/** Limits on what is added to the first byte: at the median of the rounds, and in the worst run. */
const FIRST_P50_MS = 2;
const FIRST_P99_MS = 10;
const WORST_P50_MS = 1;
const WORST_P99_MS = 5;
const ALONE_MS = 1;
const COMPLETION_PERCENT = 5;
/** Runs of the paced streams. */
const RUNS = 5;

/** Where requests are sent, and what those of each harness carry. */
interface Door {
  baseUrl: string;
  headers?: Record<string, string>[];
}

class Child {
  readonly #process: ChildProcess;

  constructor(script: string, args: readonly string[] = []) {
    this.#process = fork(script, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  }

  next<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null): void => reject(new Error(`A child ended early (${code}).`));
      this.#process.once("exit", onExit);
      this.#process.once("message", (message: T & { error?: string }) => {
        this.#process.off("exit", onExit);
        if (message.error === undefined) resolve(message);
        else reject(new Error(message.error));
      });
    });
  }

  ask<T>(message: object): Promise<T> {
    const answer = this.next<T>();
    this.#process.send(message);
    return answer;
  }

  /** Lets the process run on this core only; false where the system cannot. */
  pinTo(core: number): boolean {
    const args = ["-a", "-c", "-p", String(core), String(this.#process.pid)];
    return spawnSync("taskset", args, { stdio: "ignore" }).status === 0;
  }

  end(): void {
    this.#process.disconnect();
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

type Job = Pick<LoadJob, "way" | "events" | "rounds" | "spreadMs"> & { slots?: number };

interface Round {
  gateway: LoadResult;
  bare: LoadResult;
}

/** Both ways alternate, so that other load on the machine affects both. */
async function rounds(
  load: Child,
  doors: { gateway: Door; bare: Door },
  job: Job,
  times: number,
): Promise<Round[]> {
  const ask = (door: Door): Promise<LoadResult> =>
    load.ask({ headers: [{}], ...door, slots: STREAMS, ...job, bodyBytes: BODY_BYTES });
  const done: Round[] = [];
  for (let time = 0; time < times; time++) {
    const before = time % 2 === 0 ? await ask(doors.bare) : undefined;
    const gateway = await ask(doors.gateway);
    done.push({ gateway, bare: before ?? (await ask(doors.bare)) });
  }
  return done;
}

/** The median of the rounds, so that other load during one of them does not count. */
function median(all: readonly Round[], pick: (round: Round) => number): number {
  return quantile(all.map(pick), 0.5);
}

const PACED = `${STREAMS} streams of ${PER_SECOND} events a second`;

function pacedRow(measure: string, value: number, unit: string): BenchRow {
  return { measure: `${PACED}: ${measure}`, value, unit };
}

function pacedRows(all: readonly Round[]): BenchRow[] {
  const first = (share: number, label: string): BenchRow =>
    withPeer(
      pacedRow(
        `first byte, ${label}`,
        median(all, ({ gateway }) => quantile(gateway.firstMs, share)),
        "ms",
      ),
      PEER,
      median(all, ({ bare }) => quantile(bare.firstMs, share)),
    );
  const added = (share: number, of: (result: LoadResult) => number[] = ({ firstMs }) => firstMs): number =>
    median(all, ({ gateway, bare }) => quantile(of(gateway), share) - quantile(of(bare), share));
  const firstEvent = ({ firstEventMs }: LoadResult): number[] => firstEventMs;
  const total = (of: LoadResult): number => quantile(of.totalMs, 0.5);
  const percent = median(all, ({ gateway, bare }) => (total(gateway) / total(bare) - 1) * 100);
  const completion = pacedRow(
    "completion, p50",
    median(all, ({ gateway }) => total(gateway)),
    "ms",
  );
  const streams = all.reduce((sum, { gateway }) => sum + gateway.firstMs.length, 0);
  return [
    withTarget(pacedRow("added to the first byte, p50", added(0.5), "ms"), "<=", FIRST_P50_MS),
    withTarget(pacedRow("added to the first byte, p99", added(0.99), "ms"), "<=", FIRST_P99_MS),
    pacedRow("added to the first event, p50", added(0.5, firstEvent), "ms"),
    pacedRow("added to the first event, p99", added(0.99, firstEvent), "ms"),
    withTarget(pacedRow("added to completion", percent, "%"), "<=", COMPLETION_PERCENT),
    first(0.5, "p50"),
    first(0.99, "p99"),
    withPeer(
      completion,
      PEER,
      median(all, ({ bare }) => total(bare)),
    ),
    pacedRow(`streams that count, of each way, in ${all.length} rounds`, streams, "streams"),
  ];
}

/** What the gateway adds to the first byte, over all streams of these rounds, ms. */
function addedOver(all: readonly Round[], share: number): number {
  const at = (way: keyof Round): number =>
    quantile(
      all.flatMap((round) => round[way].firstMs),
      share,
    );
  return at("gateway") - at("bare");
}

function worstRows(runs: readonly (readonly Round[])[]): BenchRow[] {
  const row = (label: string, share: number, limit: number): BenchRow => {
    const value = Math.max(...runs.map((run) => addedOver(run, share)));
    const measure = `added to the first byte, ${label}, worst of ${runs.length} runs`;
    return withTarget(pacedRow(measure, value, "ms"), "<=", limit);
  };
  return [row("p50", 0.5, WORST_P50_MS), row("p99", 0.99, WORST_P99_MS)];
}

function fullRow(all: readonly Round[]): BenchRow {
  const rate = ({ bytes, wallMs }: LoadResult): number => bytes / 2 ** 20 / (wallMs / 1_000);
  const value = median(all, ({ gateway }) => rate(gateway));
  const bare = median(all, (round) => rate(round.bare));
  return withPeer({ measure: `${STREAMS} streams, unpaced`, value, unit: "MiB/s" }, PEER, bare);
}

interface Setting {
  load: Child;
  doors: { gateway: Door; bare: Door };
  paced: Job;
}

/**
 * `gateway`: a script that sends its parent `{baseUrl, headers}`; its arguments are the endpoint's origin and the number of
 * routes.
 */
async function withProcesses(
  { quick, log }: BenchOptions,
  gateway: string,
  measure: (setting: Setting) => Promise<BenchRow[]>,
): Promise<BenchRow[]> {
  const upstream = new Child(join(import.meta.dirname, "passthrough-upstream.ts"));
  const bare = await upstream.next<Door>();
  const proxy = new Child(gateway, [bare.baseUrl, String(STREAMS)]);
  const load = new Child(join(import.meta.dirname, "passthrough-load.ts"));
  try {
    const doors = { gateway: await proxy.next<Door>(), bare };
    const isPinned =
      availableParallelism() > 1 && proxy.pinTo(1) && [upstream, load].every((child) => child.pinTo(0));
    if (!isPinned) log("the processes share the cores: what is added is more than the gateway's part");
    const seconds = quick ? 1 : 5;
    const paced: Job = {
      way: "paced",
      events: seconds * PER_SECOND,
      rounds: 3,
      spreadMs: seconds * 1_000,
    };
    log("warming up");
    await rounds(load, doors, { ...paced, events: PER_SECOND, spreadMs: 1_000, rounds: 2 }, 1);
    return await measure({ load, doors, paced });
  } finally {
    for (const child of [upstream, proxy, load]) child.end();
  }
}

const GATEWAY = join(import.meta.dirname, "passthrough-gateway.ts");

export function passthroughRows(options: BenchOptions, gateway = GATEWAY): Promise<BenchRow[]> {
  const { quick, log } = options;
  return withProcesses(options, gateway, async ({ load, doors, paced }) => {
    log(`${STREAMS} paced streams with the gateway and without, in turn`);
    const together = await rounds(load, doors, paced, quick ? 1 : 4);
    log("the same, unpaced");
    const full: Job = { way: "full", events: quick ? 500 : 2_000, rounds: 2, spreadMs: 0 };
    const saturated = await rounds(load, doors, full, quick ? 1 : 3);
    return [...pacedRows(together), fullRow(saturated)];
  });
}

/** The first byte alone: five runs of the paced streams, of which the worst counts, and one stream at a time. */
export function firstByteRows(options: BenchOptions, gateway = GATEWAY): Promise<BenchRow[]> {
  const { quick, log } = options;
  return withProcesses(options, gateway, async ({ load, doors, paced }) => {
    log("one stream at a time with the gateway and without, in turn");
    const one: Job = { way: "paced", events: 10, rounds: 60, spreadMs: 0, slots: 1 };
    const alone = addedOver(await rounds(load, doors, one, quick ? 1 : 6), 0.5);
    const runs: Round[][] = [];
    for (let run = 1; run <= (quick ? 1 : RUNS); run++) {
      log(`${STREAMS} paced streams with the gateway and without, in turn, run ${run}`);
      runs.push(await rounds(load, doors, paced, quick ? 1 : 2));
    }
    const measure = "one stream alone: added to the first byte, p50";
    return [...worstRows(runs), withTarget({ measure, value: alone, unit: "ms" }, "<=", ALONE_MS)];
  });
}
