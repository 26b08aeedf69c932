/** The report of `npm test -- --times`: the jobs, files and tests that used the most CPU, which other work on the machine hardly changes. */
import { relative } from "node:path";
import { ROOT } from "./command.ts";
import type { TestOutcome } from "./test-job.ts";

const ROWS = 40;

interface Row {
  title: string;
  cpuSeconds: number;
  /** Of these, what programs that tests started used. */
  childrenSeconds: number;
  seconds: number;
}

/**
 * What each test used. The reporter gets tests that never wait all at once, after the last of them: they share what was
 * used since the test before them, by their durations. The first test has the start of the process as well.
 */
function testRows({ tests }: TestOutcome): (Row & { file: string })[] {
  const together = Object.values(Object.groupBy(tests, ({ cpu }) => cpu)).map((each) => each ?? []);
  return together.flatMap((group, index) => {
    const [now, before] = [group[0], together[index - 1]?.[0]];
    const used = (now?.cpu ?? 0) - (before?.cpu ?? 0);
    const children = (now?.childrenCpu ?? 0) - (before?.childrenCpu ?? 0);
    const all = group.reduce((total, { ms }) => total + ms, 0);
    return group.map(({ name, file, ms }) => {
      const share = all === 0 ? 1 / group.length : ms / all;
      return {
        title: `${relative(ROOT, file)}: ${name}`,
        file: relative(ROOT, file),
        cpuSeconds: (used * share) / 1000,
        childrenSeconds: (children * share) / 1000,
        seconds: ms / 1000,
      };
    });
  });
}

function sum(rows: readonly Row[], title: string): Row {
  return {
    title,
    cpuSeconds: rows.reduce((total, row) => total + row.cpuSeconds, 0),
    childrenSeconds: rows.reduce((total, row) => total + row.childrenSeconds, 0),
    seconds: rows.reduce((total, row) => total + row.seconds, 0),
  };
}

function print(title: string, rows: readonly Row[]): void {
  console.log(`\n${title}: seconds of CPU, of these in programs that tests start, seconds`);
  for (const row of rows.toSorted((one, other) => other.cpuSeconds - one.cpuSeconds).slice(0, ROWS))
    console.log(
      [row.cpuSeconds, row.childrenSeconds, row.seconds]
        .map((each) => each.toFixed(1).padStart(7))
        .join(" ") + `  ${row.title}`,
    );
}

/** Prints the most expensive jobs, files and tests, and the total. */
export function printTimes(outcomes: readonly TestOutcome[]): void {
  const jobs = outcomes.map(({ job, cpuSeconds, childrenSeconds, seconds }) => ({
    title: job.title,
    cpuSeconds,
    childrenSeconds,
    seconds,
  }));
  const tests = outcomes.flatMap(testRows);
  const files = Object.entries(Object.groupBy(tests, ({ file }) => file));
  print("Tests", tests);
  print(
    "Files",
    files.map(([file, rows]) => sum(rows ?? [], file)),
  );
  print("Jobs", jobs);
  print("All", [sum(jobs, `${jobs.length} jobs`)]);
}
