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
/** Limits on what is added to the first byte; the worst of the runs counts. */
const FIRST_P50_MS = 1;
const FIRST_P99_MS = 5;
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

function pacedRows(runs: readonly (readonly Round[])[]): BenchRow[] {
  const name = `${STREAMS} streams of ${PER_SECOND} events a second`;
  const row = (measure: string, value: number, unit: string): BenchRow => ({
    measure: `${name}: ${measure}`,
    value,
    unit,
  });
  const all = runs.flat();
  const first = (share: number, label: string): BenchRow =>
    withPeer(
      row(
        `first byte, ${label}`,
        median(all, ({ gateway }) => quantile(gateway.firstMs, share)),
        "ms",
      ),
      PEER,
      median(all, ({ bare }) => quantile(bare.firstMs, share)),
    );
  /** Of each run, over its streams. */
  const added = (share: number, of: (result: LoadResult) => number[]): number[] =>
    runs.map((rounds) => {
      const at = (way: "gateway" | "bare"): number =>
        quantile(
          rounds.flatMap((round) => of(round[way])),
          share,
        );
      return at("gateway") - at("bare");
    });
  const worst = (share: number, of = ({ firstMs }: LoadResult): number[] => firstMs): number =>
    Math.max(...added(share, of));
  const firstEvent = ({ firstEventMs }: LoadResult): number[] => firstEventMs;
  const total = (of: LoadResult): number => quantile(of.totalMs, 0.5);
  const percent = median(all, ({ gateway, bare }) => (total(gateway) / total(bare) - 1) * 100);
  const completion = row(
    "completion, p50",
    median(all, ({ gateway }) => total(gateway)),
    "ms",
  );
  const streams = all.reduce((sum, { gateway }) => sum + gateway.firstMs.length, 0);
  const of = `worst of ${runs.length} runs`;
  return [
    withTarget(row(`added to the first byte, p50, ${of}`, worst(0.5), "ms"), "<=", FIRST_P50_MS),
    withTarget(row(`added to the first byte, p99, ${of}`, worst(0.99), "ms"), "<=", FIRST_P99_MS),
    row(`added to the first event, p50, ${of}`, worst(0.5, firstEvent), "ms"),
    row(`added to the first event, p99, ${of}`, worst(0.99, firstEvent), "ms"),
    withTarget(row("added to completion", percent, "%"), "<=", COMPLETION_PERCENT),
    first(0.5, "p50"),
    first(0.99, "p99"),
    withPeer(
      completion,
      PEER,
      median(all, ({ bare }) => total(bare)),
    ),
    row(`streams that count, of each way`, streams, "streams"),
  ];
}

/** One stream at a time. */
function aloneRow(all: readonly Round[]): BenchRow {
  const at = (way: "gateway" | "bare"): number =>
    quantile(
      all.flatMap((round) => round[way].firstMs),
      0.5,
    );
  const value = at("gateway") - at("bare");
  return withTarget(
    { measure: "one stream alone: added to the first byte, p50", value, unit: "ms" },
    "<=",
    ALONE_MS,
  );
}

function fullRow(all: readonly Round[]): BenchRow {
  const rate = ({ bytes, wallMs }: LoadResult): number => bytes / 2 ** 20 / (wallMs / 1_000);
  const value = median(all, ({ gateway }) => rate(gateway));
  const bare = median(all, (round) => rate(round.bare));
  return withPeer({ measure: `${STREAMS} streams, unpaced`, value, unit: "MiB/s" }, PEER, bare);
}

/**
 * `gateway`: a script that sends its parent `{baseUrl, headers}`; its arguments are the endpoint's origin and the number of
 * routes.
 */
export async function passthroughRows(
  options: BenchOptions,
  gateway = join(import.meta.dirname, "passthrough-gateway.ts"),
): Promise<BenchRow[]> {
  const upstream = new Child(join(import.meta.dirname, "passthrough-upstream.ts"));
  const bare = await upstream.next<Door>();
  const proxy = new Child(gateway, [bare.baseUrl, String(STREAMS)]);
  const load = new Child(join(import.meta.dirname, "passthrough-load.ts"));
  try {
    const doors = { gateway: await proxy.next<Door>(), bare };
    const isPinned =
      availableParallelism() > 1 && proxy.pinTo(1) && [upstream, load].every((child) => child.pinTo(0));
    if (!isPinned)
      options.log("the processes share the cores: what is added is more than the gateway's part");
    const seconds = options.quick ? 1 : 5;
    const paced: Job = {
      way: "paced",
      events: seconds * PER_SECOND,
      rounds: 3,
      spreadMs: seconds * 1_000,
    };
    options.log("warming up");
    await rounds(load, doors, { ...paced, events: PER_SECOND, spreadMs: 1_000, rounds: 2 }, 1);
    options.log("one stream at a time with the gateway and without, in turn");
    const one: Job = { way: "paced", events: 10, rounds: 60, spreadMs: 0, slots: 1 };
    const alone = await rounds(load, doors, one, options.quick ? 1 : 6);
    const runs: Round[][] = [];
    for (let run = 1; run <= (options.quick ? 1 : RUNS); run++) {
      options.log(`${STREAMS} paced streams with the gateway and without, in turn, run ${run}`);
      runs.push(await rounds(load, doors, paced, options.quick ? 1 : 2));
    }
    options.log("the same, unpaced");
    const full: Job = { way: "full", events: options.quick ? 500 : 2_000, rounds: 2, spreadMs: 0 };
    const saturated = await rounds(load, doors, full, options.quick ? 1 : 3);
    return [...pacedRows(runs), aloneRow(alone), fullRow(saturated)];
  } finally {
    for (const child of [upstream, proxy, load]) child.end();
  }
}
