/** A host alone in its process; its parent sends the numbers of sessions and turns, and it returns its memory. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepYoungGenerationSmall } from "../../packages/core/src/platform/heap-growth.ts";
import { childrenOf, residentMb } from "./memory.ts";
import { codexHost, hostTurn, type CodexPlace } from "./place.ts";

export interface MemoryJob {
  baseUrl: string;
  /** Numbers of sessions with a turn at which memory is read, ascending. */
  threads: number[];
  turns: number;
  epochs: number;
}

/** MB. */
export interface MemoryFigures {
  /** Of Codex, after the first turn. */
  first: number;
  /** Of Codex, for each of `threads`. */
  child: number[];
  /** Of Codex, after the turns, and after the epochs. */
  turns: number;
  epochs: number;
  /** Of this process, after the first turn and at the end. */
  host: number;
  hostAtEnd: number;
}

const PROMPT = "How is the tide?";

async function run({
  baseUrl,
  threads,
  turns,
  epochs,
  place,
}: MemoryJob & { place: CodexPlace }): Promise<void> {
  // As in the command line.
  keepYoungGenerationSmall();
  const pagurus = await codexHost(place, { baseUrl });
  const turn = (session: number): Promise<unknown> => hostTurn(pagurus, place, `session-${session}`, PROMPT);
  await turn(0);
  const codex = (): number => childrenOf(process.pid).reduce((sum, pid) => sum + residentMb(pid), 0);
  const own = (): number => process.memoryUsage.rss() / 1e6;
  const [first, host] = [codex(), own()];
  const child: number[] = [];
  let session = 1;
  for (const count of threads) {
    for (; session < count; session++) await turn(session);
    child.push(codex());
  }
  for (let index = 0; index < turns; index++) await turn(0);
  const afterTurns = codex();
  for (let index = 0; index < epochs; index++) {
    // Changed instructions of the project start another thread.
    writeFileSync(join(place.workspace, "AGENTS.md"), `Edition ${index}.\n`);
    await turn(1);
  }
  const figures: MemoryFigures = {
    first,
    child,
    turns: afterTurns,
    epochs: codex(),
    host,
    hostAtEnd: own(),
  };
  await pagurus.close();
  process.send?.(figures);
  process.disconnect();
}

process.once("message", (job: MemoryJob & { place: CodexPlace }) => void run(job));
