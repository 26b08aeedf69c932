/**
 * Resident memory of a process that adopts a long session and then serves its turns, over that of an idle host
 * (`assemble-child.ts`): no engine made, no session open.
 */
import { setImmediate } from "node:timers/promises";
import type { AssembleJob } from "./assemble-jobs.ts";
import type { Figures } from "./jobs.ts";

/** Turns until memory is stable. */
const WARM_UP = 30;
const SEARCH_EVERY = 3;
const MB = 1e6;

class Sampler {
  #peak = 0;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#look(), 10);
  }

  #look(): void {
    this.#peak = Math.max(this.#peak, process.memoryUsage.rss());
  }

  /** Bytes since the last call. */
  peak(): number {
    this.#look();
    const peak = this.#peak;
    this.#peak = 0;
    return peak;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export async function memory({ folder, turns }: AssembleJob): Promise<Figures> {
  await setImmediate();
  const idle = process.memoryUsage.rss();
  const { SESSION, transcriptFile } = await import("./jobs.ts");
  const { openHost, turnsOf } = await import("./assemble-jobs.ts");
  const sampler = new Sampler();
  const { host, store } = await openHost(folder, { transcript: transcriptFile(folder) });
  const adopted = sampler.peak();
  let count = -WARM_UP;
  for (const [input, ...rest] of turnsOf(5)) {
    if (count === turns || !input) break;
    if (count === 0) sampler.peak();
    host.begin(input);
    const answer = await host.assemble();
    if (answer.wantsCompaction && (await host.compactForSend(answer))) await host.assemble();
    for (const message of rest) host.append(message);
    await host.assemble();
    await host.commit();
    if (count % SEARCH_EVERY === 0) await store.search({ query: "const src read", sessions: [SESSION] });
    await setImmediate();
    count += 1;
  }
  const served = sampler.peak();
  sampler.stop();
  await host.close();
  return { idleMb: idle / MB, adoptedMb: (adopted - idle) / MB, servedMb: (served - idle) / MB };
}
