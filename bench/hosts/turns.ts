/** Turns of a host in this process over one store or the other. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../packages/app/src/create.ts";
import { modelConfig } from "../../test/turn/setting.ts";

export interface MeasuredHost {
  /** Time of one turn, ms. */
  turn(): Promise<number>;
  close(): Promise<void>;
}

/** A host whose only store is `store`; the embedded one where absent. */
export async function measuredHost(modelUrl: string, store?: object): Promise<MeasuredHost> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
  const config = {
    ...modelConfig("openai-completions", modelUrl, { contextWindow: 900_000 }),
    ...(store ? { store } : {}),
  };
  const host = await createPagurus({ home, config });
  let turns = 0;
  return {
    turn: async () => {
      const from = performance.now();
      const sessionKey = `s${(turns += 1) % 10}`;
      for await (const event of host.run({ prompt: "hello", sessionKey, cwd: home }))
        if (event.type === "turn.failed") throw new Error(event.error.message);
      return performance.now() - from;
    },
    close: async () => {
      await host.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Turns of the hosts in turn, so that the machine's load is the same for each; the times after the first tenth, by host. */
export async function interleaved(hosts: readonly MeasuredHost[], rounds: number): Promise<number[][]> {
  const times = hosts.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [at, host] of hosts.entries()) times[at]?.push(await host.turn());
  return times.map((each) => each.slice(Math.ceil(rounds / 10)));
}
