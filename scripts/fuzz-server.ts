/**
 * `node scripts/fuzz-server.ts [--again]`: 100,000 bodies at random on `/v1`, `/api/v1` and ACP of a real server, in parts. Prints each part
 * when it ends and keeps it in `.prove/`, so that a run that was cut off continues with the part after it, at a new server; `--again`
 * begins with the first one. Ends with 1 when an answer is 500 or above, `/health` takes too long, or the memory grows.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { FuzzPart } from "../test/server/fuzz-run.ts";
import { answerLines, PART_HEAD, partLine, requestsOf } from "../test/server/fuzz-table.ts";
import { ROOT, runCommand } from "./command.ts";
import { buildTestProgram } from "./test-program.ts";

const PARTS = 20;
const REQUESTS = 5_000;
const WARM_UP = 2_000;
/** CPU time of one piece of work of the event loop, ms. */
const LONGEST_MS = 100;
/** Of an answer of `/health` without waiting for a processor, which other work of the machine may use, ms. */
const HEALTH_MS = 250;
/** Growth from the end of a server's first part to that of its last one. */
const MOST_RESIDENT_MB = 60;
const MOST_HEAP_MB = 10;
/** Parts of one server, at least, whose memory is compared. */
const MOST_OF_PARTS = PARTS / 2;

/** `server`: the same for the parts of one server. */
interface KeptPart extends FuzzPart {
  commit: string;
  server: number;
}

const folder = join(ROOT, ".prove");
const file = join(folder, "fuzz-server.jsonl");

function keptParts(commit: string): KeptPart[] {
  if (!existsSync(file)) return [];
  // The last line may be cut.
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as KeptPart).filter((part) => part.commit === commit);
}

/** Sentences about what is over a bound. */
function problemsOf(parts: readonly KeptPart[]): string[] {
  const problems = parts.flatMap(({ part, failed, ownMs, loopMs }) => [
    ...failed.map((each) => `part ${part}: ${each}`),
    ...(ownMs < HEALTH_MS ? [] : [`part ${part}: /health took ${ownMs.toFixed(0)} ms`]),
    ...(loopMs < LONGEST_MS
      ? []
      : [`part ${part}: the event loop was busy for ${loopMs.toFixed(0)} ms of CPU`]),
  ]);
  const lives = Object.values(Object.groupBy(parts, ({ server }) => server));
  for (const life of lives) {
    const [first, last] = [life?.[0], life?.at(-1)];
    if (!first || !last) continue;
    const [heap, resident] = [last.heapMb - first.heapMb, last.residentMb - first.residentMb];
    if (heap >= MOST_HEAP_MB) problems.push(`the heap grew by ${heap.toFixed(0)} MB`);
    if (resident >= MOST_RESIDENT_MB) problems.push(`the resident memory grew by ${resident.toFixed(0)} MB`);
  }
  const longest = Math.max(...lives.map((life) => life?.length ?? 0));
  if (longest < MOST_OF_PARTS)
    problems.push(
      `the longest-lived server had ${longest} parts, too few to compare its memory; use --again`,
    );
  return problems;
}

async function main(): Promise<void> {
  const { stdout } = await runCommand("git", ["rev-parse", "HEAD"], { cwd: ROOT });
  const commit = stdout.trim();
  if (process.argv.includes("--again")) rmSync(file, { force: true });
  mkdirSync(folder, { recursive: true });
  const parts = keptParts(commit);
  for (const line of [...PART_HEAD, ...parts.map((part) => partLine(part))]) console.log(line);
  if (parts.length < PARTS) {
    // The program as users have it: the sources are compiled when they are first needed, and that is written to disk.
    process.env["PAGURUS_TEST_PROGRAM"] = await buildTestProgram();
    const { FuzzRun } = await import("../test/server/fuzz-run.ts");
    const run = await FuzzRun.start(WARM_UP, new AbortController().signal);
    try {
      const server = (parts.at(-1)?.server ?? 0) + 1;
      for (let part = parts.length + 1; part <= PARTS; part++) {
        const made = { commit, server, ...(await run.part(part, REQUESTS)) };
        parts.push(made);
        appendFileSync(file, `${JSON.stringify(made)}\n`);
        console.log(partLine(made));
      }
      await run.check();
    } finally {
      await run.end();
    }
  }
  for (const line of answerLines(parts)) console.log(line);
  const sent = parts.reduce((sum, part) => sum + requestsOf(part), 0);
  const problems = problemsOf(parts);
  for (const problem of problems) console.log(`FAIL ${problem}`);
  console.log(`${sent} requests, ${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

await main();
