/** The keeper of a resident host: a process of its own, so that the first look at gigabytes delays no command. */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { Logger } from "@pagurus/core/platform/log";
import { startProgram, type ChildProcess } from "@pagurus/core/platform/start-program";
import { launcher } from "../launcher.ts";

/** Pause before one that has ended is started again, ms: another process may keep now. */
const AGAIN_MS = 60_000;

export class KeepChild {
  readonly #env: Record<string, string | undefined>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  #child: ChildProcess | undefined;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(env: Record<string, string | undefined>, logger: Logger, clock: Clock = SYSTEM_CLOCK) {
    this.#env = env;
    this.#logger = logger;
    this.#clock = clock;
    this.#start();
  }

  #start(): void {
    const child = startProgram(process.execPath, [launcher(), "keep", "--with-input"], {
      env: this.#env,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#child = child;
    // It ends with the pipe; writing is not what that is for.
    child.stdin?.on("error", () => undefined);
    child.on("error", () => this.#ended("not started"));
    child.on("exit", (code) => this.#ended(String(code)));
    this.#logger.info("keeper started", { pid: child.pid });
  }

  #ended(code: string): void {
    if (this.#isStopped || this.#cancel) return;
    this.#logger.warn("the keeper has ended and is started again", { code });
    this.#cancel = this.#clock.after(
      AGAIN_MS,
      () => {
        this.#cancel = undefined;
        this.#start();
      },
      { ref: false },
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    this.#child?.stdin?.end();
    this.#child?.kill("SIGTERM");
  }
}
