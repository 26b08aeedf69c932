/** A server whose event loop and memory are measured from outside. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { until } from "../runner/until.ts";
import type { Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";
import type { Work } from "./work-meter.ts";

export interface Figures {
  /** CPU time of the longest work of the event loop since the last figures, ms. */
  longestMs: number;
  /** Heap after a collection. */
  heapMb: number;
  /** Number of objects after a collection; unlike the heap without code, which is compiled when it is used often. */
  objects: number;
  /** The turn of the event loop with the most bytes since the last figures. */
  work: Work;
}

export class MeasuredServer {
  readonly process: ServeProcess;
  readonly #file: string;

  private constructor(process: ServeProcess, file: string) {
    this.process = process;
    this.#file = file;
  }

  static async start(setting: Setting): Promise<MeasuredServer> {
    const file = join(setting.root, "loop");
    setting.env["LOOP_METER"] = file;
    setting.env["NODE_OPTIONS"] = `--import=${new URL("loop-meter.ts", import.meta.url).href}`;
    return new MeasuredServer(await ServeProcess.start(setting), file);
  }

  async figures(): Promise<Figures> {
    rmSync(this.#file, { force: true });
    this.process.child.kill("SIGURG");
    let text = "";
    await until(() => {
      if (existsSync(this.#file)) text = readFileSync(this.#file, "utf8");
      return text.endsWith("}");
    });
    return JSON.parse(text) as Figures;
  }

  residentMb(): number {
    const status = readFileSync(`/proc/${this.process.child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }
}
