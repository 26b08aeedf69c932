/** A clock for programs that a test starts, which the test moves. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Setting } from "../turn/setting.ts";

const PRELOAD = pathToFileURL(join(import.meta.dirname, "moved-clock.ts")).href;

export class MovedClock {
  readonly #file: string;
  #offset = 0;

  /** Programs that are started with the setting's environment from now on have this clock. */
  constructor(setting: Setting) {
    this.#file = join(setting.root, "clock");
    this.#write();
    setting.env["PAGURUS_TEST_CLOCK"] = this.#file;
    setting.env["NODE_OPTIONS"] = `--import=${PRELOAD}`;
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return Date.now() + this.#offset;
  }

  /** Sets it to a time; it continues from there. */
  set(at: number): void {
    this.#offset = at - Date.now();
    this.#write();
  }

  /** A program that looks meanwhile has the old or the new one. */
  #write(): void {
    writeFileSync(`${this.#file}.new`, String(this.#offset));
    renameSync(`${this.#file}.new`, this.#file);
  }
}
