/**
 * Reports a plugin that blocks the process while it is loaded: an endless loop cannot be ended from within, but a user of a
 * silent process must learn the cause.
 */
import { Worker } from "node:worker_threads";

/** Runs in a worker thread, since the main one cannot print while blocked. `beats` counts turns of the main thread's event loop. */
const WATCHER = `
const { parentPort, workerData } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const beats = new Int32Array(workerData);
let timer;
parentPort.on("message", (watch) => {
  clearInterval(timer);
  if (!watch) return;
  let seen = Atomics.load(beats, 0);
  timer = setInterval(() => {
    const now = Atomics.load(beats, 0);
    if (now === seen) {
      clearInterval(timer);
      writeSync(2, watch.text);
    }
    seen = now;
  }, watch.ms);
});
`;

/** Margin beyond the deadline of a plugin that merely waits, ms. */
const MARGIN_MS = 1_000;
const BEAT_MS = 100;

export class LoadingWatch {
  readonly #beats = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | undefined;
  #pulse: NodeJS.Timeout | undefined;

  /** Starts watching `id`. Reported on standard error after `ms` and a second without a beat. */
  begin(id: string, ms: number): void {
    this.#worker ??= startWatcher(this.#beats.buffer);
    this.#beat();
    this.#pulse ??= setInterval(() => this.#beat(), BEAT_MS).unref();
    const key = `plugins.entries[${JSON.stringify(id)}].enabled`;
    const blocked = Math.ceil((ms + MARGIN_MS) / 1000);
    const text = `pagurus: The plugin ${JSON.stringify(id)} has blocked the whole process for ${blocked} s while it is loaded; if this does not end, end process ${process.pid} (kill -9) and set ${key} to false.\n`;
    this.#worker.postMessage({ text, ms: ms + MARGIN_MS });
  }

  end(): void {
    this.#worker?.postMessage(undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#pulse);
    await this.#worker?.terminate();
  }

  #beat(): void {
    Atomics.add(this.#beats, 0, 1);
  }
}

function startWatcher(beats: ArrayBufferLike): Worker {
  const worker = new Worker(WATCHER, { eval: true, execArgv: [], stdin: false, workerData: beats });
  worker.unref();
  // Without the worker a hang is not reported, and everything else works.
  worker.on("error", () => undefined);
  return worker;
}
