/**
 * `npm run prove -- house.7 [--short --runs N --stopped N --filter test/PATH --again]`: `npm test` on a quiet machine, then with its
 * processes stopped for 450 ms of each second. No run may fail, and half of the quiet ones may take at most 150 s on two cores. Outcomes
 * are kept for the commit: what was interrupted continues, `--again` begins from the first run. `--short`: few runs of the tests whose
 * waits were the riskiest.
 */
import { rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, runCommand } from "./command.ts";
import { repeatRuns, type RunOutcome } from "./repeated-runs.ts";

const FULL = { quiet: 50, stopped: 10 };
const SHORT = { quiet: 1, stopped: 2 };
const SHORT_TESTS = [
  "test/channels/irc-joins",
  "test/channels/link-retry",
  "test/channels/xmpp-groups",
  "test/gateway/order",
  "test/gateway/upstream/sparing-reads",
];
/** Longest median of the quiet runs, s. */
const MOST_SECONDS = 150;
/** Load of other work at which a machine is not quiet. */
const QUIET_LOAD = 0.5;

async function commit(): Promise<string> {
  const { stdout } = await runCommand("git", ["rev-parse", "HEAD"]);
  const { stdout: changed } = await runCommand("git", ["status", "--porcelain", "--untracked-files=no"]);
  return changed === "" ? stdout.trim() : `${stdout.trim()} with changes`;
}

function line({ kind, seconds, last, failures }: RunOutcome, number: number): string {
  return [`${kind} run ${number}: ${last} (${seconds} s)`, ...failures].join("\n  ");
}

function summed(kind: RunOutcome["kind"], outcomes: readonly RunOutcome[]): { text: string; median: number } {
  const those = outcomes.filter((outcome) => outcome.kind === kind);
  const times = those.map(({ seconds }) => seconds).toSorted((one, other) => one - other);
  const median = times[Math.floor(times.length / 2)] ?? 0;
  const failed = those.filter(({ code }) => code !== 0).length;
  const text = `${kind}: ${those.length} runs, ${failed} failed; median ${median} s, slowest ${times.at(-1) ?? 0} s`;
  return { text, median };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      short: { type: "boolean", default: false },
      again: { type: "boolean", default: false },
      runs: { type: "string" },
      stopped: { type: "string" },
      filter: { type: "string", multiple: true },
    },
  });
  const times = values.short ? SHORT : FULL;
  const filters = values.filter ?? (values.short ? SHORT_TESTS : []);
  // A short form shows the present state: nothing is kept of it.
  const folder = values.short ? tmpdir() : join(ROOT, "node_modules/.cache");
  const file = join(folder, values.short ? `pagurus-waits-${process.pid}.jsonl` : "prove-waits.jsonl");
  if (values.again) rmSync(file, { force: true });
  const load = loadavg()[0] ?? 0;
  if (load > QUIET_LOAD) console.log(`The load of this machine is ${load.toFixed(1)}: its times say little.`);
  const { PAGURUS_PROVE: _full, PAGURUS_REAL: _real, ...env } = process.env;
  const outcomes = await repeatRuns({
    of: [await commit(), ...filters].join(" "),
    command: process.execPath,
    args: [join(ROOT, "scripts/test.ts"), ...filters],
    env,
    times: {
      quiet: values.runs === undefined ? times.quiet : Number(values.runs),
      stopped: values.stopped === undefined ? times.stopped : Number(values.stopped),
    },
    file,
    report: (outcome, number) => console.log(line(outcome, number)),
  });
  if (values.short) rmSync(file, { force: true });
  const quiet = summed("quiet", outcomes);
  for (const { text } of [quiet, summed("stopped", outcomes)]) console.log(text);
  const isSlow = filters.length === 0 && quiet.median > MOST_SECONDS;
  if (isSlow) console.log(`FAIL: the median of the quiet runs is over ${MOST_SECONDS} s`);
  process.exitCode = isSlow || outcomes.some(({ code }) => code !== 0) ? 1 : 0;
}

await main();
