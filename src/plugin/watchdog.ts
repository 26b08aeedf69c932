/**
 * Names a plugin that does not let go of the process while it is loaded: an endless loop cannot be ended from within,
 * but a user who sees a silent process must not have to guess.
 */
import { Worker } from "node:worker_threads";

/** Runs in a thread of its own: the main one cannot say anything by then. */
const WATCHER = `
const { parentPort } = require("node:worker_threads");
const { writeSync } = require("node:fs");
let timer;
parentPort.on("message", (watch) => {
  clearTimeout(timer);
  if (watch) timer = setTimeout(() => writeSync(2, watch.text), watch.ms);
});
`;

/** Beyond the deadline of a plugin that merely waits, ms. */
const MARGIN_MS = 1_000;

export class LoadingWatch {
  #worker: Worker | undefined;

  /** From now on, `id` is what holds the process up. Told on standard error `ms` and a second later. */
  begin(id: string, ms: number): void {
    this.#worker ??= startWatcher();
    const key = `plugins.entries[${JSON.stringify(id)}].enabled`;
    const text = `pagurus: The plugin ${JSON.stringify(id)} keeps the whole process from going on while it is loaded; end process ${process.pid} (kill -9) and set ${key} to false.\n`;
    this.#worker.postMessage({ text, ms: ms + MARGIN_MS });
  }

  end(): void {
    this.#worker?.postMessage(undefined);
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}

function startWatcher(): Worker {
  const worker = new Worker(WATCHER, { eval: true, execArgv: [], stdin: false });
  worker.unref();
  // Without it a hang has no name, and all else works.
  worker.on("error", () => undefined);
  return worker;
}
