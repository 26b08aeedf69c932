/**
 * One process with a host of one checkout: turns with commands in a repository, measured from the host's events. Started with a
 * `HostJob` as JSON; prints `HostFigures` as JSON.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { createPagurus } from "../../packages/app/src/create.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";

export interface HostJob {
  /** The module that exports `createPagurus`; absolute. */
  entry: string;
  home: string;
  workspace: string;
  env: Record<string, string>;
  /** Commands of each kind after the first, and turns with one command each. 0: only the first. */
  count: number;
  /** Time before each answer of the model in the first turn, ms. */
  delay: number;
}

/** ms; processor time includes the programs that were started, but not those in the sandbox's own process namespace. */
export interface Cost {
  wall: number;
  processor: number;
}

/** Of each kind: one for the first command and turn, `count` for the others. */
export type HostFigures = Record<"first" | "later" | "writing" | "firstTurn" | "turn", Cost[]>;

/** Clock ticks a second in `/proc`, the same on all Linux systems. */
const TICKS = 100;

/** Processor time of this process and of its ended children, ms; the latter in steps of 10. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  // `cutime` and `cstime`; the state is field 3.
  const children = Number(fields[13]) + Number(fields[14]);
  return (user + system) / 1_000 + (children * 1_000) / TICKS;
}

class Watch {
  readonly #wall = performance.now();
  readonly #processor = processorMs();

  stop(): Cost {
    return { wall: performance.now() - this.#wall, processor: processorMs() - this.#processor };
  }
}

/** Runs one turn; returns its cost and those of its commands. */
async function turn(
  host: Pagurus,
  cwd: string,
  sessionKey: string,
  prompt: string,
): Promise<{ all: Cost; commands: Cost[] }> {
  const commands: Cost[] = [];
  const all = new Watch();
  let command = all;
  for await (const event of host.run({ prompt, sessionKey, cwd })) {
    if (event.type === "turn.failed") throw new Error(event.error.message);
    if (event.type === "tool.started") command = new Watch();
    if (event.type !== "tool.completed") continue;
    commands.push(command.stop());
    assert.notEqual(event.outcome.isError, true, JSON.stringify(event.outcome));
  }
  return { all: all.stop(), commands };
}

const job = JSON.parse(process.argv[2] ?? "") as HostJob;
const { home, workspace, env, count, delay } = job;
const module = (await import(pathToFileURL(job.entry).href)) as { createPagurus: typeof createPagurus };
const host = await module.createPagurus({ home, env });
const first = await turn(host, workspace, "one", `after ${delay} ms: 1 true`);
/** `count` commands in one turn. */
const many = async (sessionKey: string, command: string): Promise<Cost[]> =>
  count === 0 ? [] : (await turn(host, workspace, sessionKey, `${count} ${command}`)).commands;
const later = await many("many", "true");
const writing = await many("writing", "echo tide > $(mktemp note-XXXXXX)");
const turns: Cost[] = [];
for (let index = 0; index < count; index += 1) turns.push((await turn(host, workspace, "one", "1 true")).all);
await host.close();
const figures: HostFigures = {
  first: first.commands,
  later,
  writing,
  firstTurn: [first.all],
  turn: turns,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
