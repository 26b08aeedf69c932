/** Hosts of one database that are killed and stalled, and what was done to them when. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { PostgresServer } from "../../servers/postgres.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { makeSetting } from "../../turn/setting.ts";

/** A time when a host or the database was there, ms since the epoch. */
export interface Span {
  from: number;
  to: number;
}

export interface Killed {
  /** The work that ran. */
  work: string;
  at: number;
}

export class FloodHost {
  readonly server: ServeProcess;
  readonly spans: Span[] = [];
  /** Neither killed nor stalled. */
  isUp = false;
  /** Ends that the test did not make. */
  readonly faults: string[] = [];
  #isWanted = true;

  constructor(server: ServeProcess) {
    this.server = server;
  }

  /** Names its folder in the tables. */
  get id(): string {
    return readFileSync(join(this.server.setting.home, "server", "host-id"), "utf8").trim();
  }

  /** Starts it, again while the database is away. */
  async begin(): Promise<void> {
    while (this.#isWanted) {
      try {
        await this.server.begin();
        this.server.child.once("exit", (code, signal) => {
          if (signal !== "SIGKILL")
            this.faults.push(`a host ended with ${code}: ${this.server.stderr.slice(-500)}`);
        });
        this.up();
        return;
      } catch {
        await pause(200);
      }
    }
  }

  up(): void {
    this.isUp = true;
    this.spans.push({ from: Date.now(), to: Infinity });
  }

  down(): void {
    this.isUp = false;
    const span = this.spans.at(-1);
    if (span?.to === Infinity) span.to = Date.now();
  }

  async end(): Promise<void> {
    this.#isWanted = false;
    await this.server.kill();
    this.server.setting.remove();
  }
}

export interface Counts {
  kills: number;
  stalls: number;
  restarts: number;
  cuts: number;
}

export class FloodHosts {
  readonly hosts: FloodHost[] = [];
  readonly killed: Killed[] = [];
  /** When the database was away, or its connections were cut. */
  readonly away: Span[] = [];
  readonly #database: PostgresServer;
  readonly #schema: string;
  readonly #leaseMs: number;
  readonly #next: () => number;
  readonly #works: Promise<void>[] = [];

  constructor(parts: { database: PostgresServer; schema: string; leaseMs: number; next: () => number }) {
    this.#database = parts.database;
    this.#schema = parts.schema;
    this.#leaseMs = parts.leaseMs;
    this.#next = parts.next;
  }

  async start(count: number, config: unknown): Promise<void> {
    for (let at = 0; at < count; at += 1)
      this.hosts.push(new FloodHost(new ServeProcess(makeSetting(config))));
    await Promise.all(this.hosts.map(async (host) => host.begin()));
  }

  /** One that is up. */
  async some(next: () => number): Promise<ServeProcess> {
    for (;;) {
      const up = this.hosts.filter(({ isUp }) => isUp);
      const host = up[Math.floor(next() * up.length)];
      if (host) return host.server;
      await pause(50);
    }
  }

  /** Does all of it, mixed. */
  async hit(counts: Counts, gapMs: number): Promise<void> {
    const left = { ...counts };
    for (;;) {
      const kinds = (Object.keys(left) as (keyof Counts)[]).flatMap((kind) =>
        Array.from({ length: left[kind] }, () => kind),
      );
      const kind = kinds[Math.floor(this.#next() * kinds.length)];
      if (kind === undefined) break;
      left[kind] -= 1;
      await pause(gapMs * (0.5 + this.#next()));
      if (kind === "kills") await this.#kill();
      else if (kind === "stalls") await this.#stall();
      else if (kind === "restarts") await this.#restart();
      else await this.#cut();
    }
    await Promise.all(this.#works);
  }

  async #victim(): Promise<FloodHost> {
    // Mostly the others get on with the work; now and then all are down together.
    const least = this.#next() < 0.15 ? 1 : 2;
    for (;;) {
      const up = this.hosts.filter(({ isUp }) => isUp);
      const host = up[Math.floor(this.#next() * up.length)];
      if (host && up.length >= least) return host;
      await pause(50);
    }
  }

  async #kill(): Promise<void> {
    const host = await this.#victim();
    const works = await this.#database.query<{ id: string }>(
      `select w.id from ${this.#schema}.work w where w.state = 'running' and w.home = $1 and w.claim_until > clock_timestamp()`,
      [host.id],
    );
    host.down();
    const at = Date.now();
    await host.server.kill();
    this.killed.push(...works.map(({ id }) => ({ work: id, at })));
    const pauseMs = this.#next() < 0.5 ? 0 : this.#leaseMs * 1.5 * this.#next();
    this.#works.push(pause(pauseMs).then(() => host.begin()));
  }

  async #stall(): Promise<void> {
    const host = await this.#victim();
    host.down();
    host.server.child.kill("SIGSTOP");
    const stalled = pause(this.#leaseMs * (1.1 + this.#next() / 2)).then(() => {
      host.server.child.kill("SIGCONT");
      host.up();
    });
    this.#works.push(stalled);
  }

  async #restart(): Promise<void> {
    const span = { from: Date.now(), to: Infinity };
    this.away.push(span);
    await this.#database.stop(this.#next() < 0.7 ? "kill" : undefined);
    await this.#database.start();
    span.to = Date.now();
  }

  async #cut(): Promise<void> {
    const from = Date.now();
    await this.#database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name like 'pagurus%' and random() < 0.7",
    );
    this.away.push({ from, to: Date.now() });
  }

  async end(): Promise<void> {
    for (const host of this.hosts) await host.end();
  }
}
