/**
 * How long this process waits for its disk: `fsync` takes a tenth of a millisecond where nobody else writes and a hundred
 * where somebody does, so a turn's figure needs it beside it. Replaces the function for everybody in the process.
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

  /** Since it was last asked. */
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
