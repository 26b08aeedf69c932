/** Kills of a host, restarts of its service and cuts of the network between them, again and again. */
import { setTimeout as pause } from "node:timers/promises";
import { FULL } from "../../runner/short-form.ts";
import type { ServeProcess } from "../../server/serve-setting.ts";
import type { CuttingRelay } from "./cutting-relay.ts";

const KILL_EVERY_MS = 1_500;
/** Longest pause of a machine that is too busy to get much done between two kills. */
const LONGEST_PAUSE_MS = 24_000;
const GROWTH = 1.5;
const LEAST_KILLS = FULL ? 100 : 3;
/** One of so many kills is of the service too. */
const SERVICE_EVERY = FULL ? 4 : 2;
/** Before one of so many kills the network is cut. */
const CUT_EVERY = 3;

export interface KilledParts {
  server: ServeProcess;
  service: { kill(signal?: NodeJS.Signals): Promise<void>; begin(): Promise<void> };
  relays: readonly CuttingRelay[];
  /** How many messages there are. */
  messages: number;
  /** How many are answered. While too few get so between two kills, the pauses grow. */
  answered(): number;
}

export class Kills {
  kills = 0;
  restarts = 0;
  /** Connections that were cut. */
  cuts = 0;
  #isOver = false;
  readonly #parts: KilledParts;
  readonly #done: Promise<void>;

  constructor(parts: KilledParts) {
    this.#parts = parts;
    this.#done = this.#run();
    this.#done.catch(() => undefined);
  }

  get areEnough(): boolean {
    return this.kills >= LEAST_KILLS && this.cuts > 0;
  }

  async #run(): Promise<void> {
    const { server, service, relays, messages, answered } = this.#parts;
    let done = 0;
    let pauseMs = KILL_EVERY_MS;
    while (!this.#isOver) {
      await pause(pauseMs);
      if (this.kills % CUT_EVERY === 0) {
        for (const relay of relays) this.cuts += relay.cut();
        await pause(pauseMs);
      }
      const now = answered();
      const isBusy = now < messages && now - done < messages / LEAST_KILLS;
      pauseMs = isBusy
        ? Math.min(pauseMs * GROWTH, LONGEST_PAUSE_MS)
        : Math.max(pauseMs / GROWTH, KILL_EVERY_MS);
      done = now;
      this.kills += 1;
      if (this.kills % SERVICE_EVERY === 0) {
        this.restarts += 1;
        await service.kill("SIGTERM");
        await service.begin();
      }
      await server.kill();
      await server.begin();
    }
  }

  /** Resolves when the host runs again. Throws what a kill threw. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  toString(): string {
    return `${this.kills} kills, ${this.restarts} restarts of the service, ${this.cuts} connections cut`;
  }
}
