import { basename } from "node:path";
import { oneLine } from "@pagurus/host/command/layout";
import type { SessionFile } from "@pagurus/replay/find-sessions";
import { styleFor, type Cli } from "../cli.ts";
import { CLEAR_LINE } from "../run/held-output.ts";

const BAR_WIDTH = 24;

/** Progress bar of a replay on the terminal of standard error; silent on anything else. */
export class ReplayProgress {
  readonly #cli: Cli;
  readonly #bytes: ReadonlyMap<string, number>;
  readonly #done = new Map<string, number>();
  readonly #leftOut = new Set<string>();
  #engines = 1;
  #isShown = false;

  constructor(cli: Cli, files: readonly SessionFile[]) {
    this.#cli = cli;
    this.#bytes = new Map(files.map(({ path, bytes }) => [path, bytes]));
  }

  /** Number of engines that each file is replayed with. */
  expects(engines: number): void {
    this.#engines = Math.max(1, engines);
  }

  leftOut(file: string): void {
    this.#leftOut.add(file);
  }

  at({ file, engine, share }: { file: string; engine: string; share: number }): void {
    this.#done.set(`${file}\0${engine}`, share * (this.#bytes.get(file) ?? 0));
    const { stderr, env } = this.#cli;
    if (stderr.isTTY !== true) return;
    const part = this.#share();
    const full = Math.round(part * BAR_WIDTH);
    const bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
    const words = oneLine(`${Math.floor(100 * part)} % ${basename(file)}`, this.#columns());
    stderr.write(`${CLEAR_LINE}${styleFor(stderr, env)("cyan", bar)} ${words}`);
    this.#isShown = true;
  }

  #columns(): number {
    return Math.max(10, (this.#cli.stderr.columns ?? 80) - BAR_WIDTH - 3);
  }

  #share(): number {
    let whole = 0;
    for (const [file, bytes] of this.#bytes) if (!this.#leftOut.has(file)) whole += bytes * this.#engines;
    let done = 0;
    for (const bytes of this.#done.values()) done += bytes;
    return whole === 0 ? 0 : Math.min(1, done / whole);
  }

  end(): void {
    if (this.#isShown) this.#cli.stderr.write(CLEAR_LINE);
    this.#isShown = false;
  }
}
