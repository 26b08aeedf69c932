/**
 * Time that this process waits for its disk: `fsync` takes a tenth of a millisecond on an idle disk and a hundred on a busy
 * one, so it is reported next to a turn's figure. Replaces the function for the whole process.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

interface Waits {
  count: number;
  ms: number;
}

export class DiskWaits {
  readonly #fsync = fs.fsyncSync;
  #waits: Waits = { count: 0, ms: 0 };

  constructor() {
    const { fsyncSync } = fs;
    fs.fsyncSync = (fd) => {
      const start = performance.now();
      fsyncSync(fd);
      this.#waits.count += 1;
      this.#waits.ms += performance.now() - start;
    };
    syncBuiltinESMExports();
  }

  /** Since the last call. */
  take(): Waits {
    const taken = this.#waits;
    this.#waits = { count: 0, ms: 0 };
    return taken;
  }

  end(): void {
    fs.fsyncSync = this.#fsync;
    syncBuiltinESMExports();
  }
}
