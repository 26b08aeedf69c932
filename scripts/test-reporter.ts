/**
 * A reporter for `node --test` that writes one line of JSON for each event that scripts/test-job.ts needs. The file that
 * it writes to grows whenever a test starts or ends, which is how a stall is noticed.
 */
import { readFileSync } from "node:fs";
import type { TestEvent } from "node:test/reporters";

export type TestLine = TestStarted | TestEnded | TestSummary;

interface TestSummary {
  type: "summary";
  /** Milliseconds of CPU that the process and its ended children used, all in all. */
  cpu: number;
  /** Of these, what the ended children used. */
  childrenCpu: number;
}

export interface TestStarted {
  type: "start";
  name: string;
  file: string;
}

export interface TestEnded {
  type: "pass" | "fail" | "skip";
  name: string;
  file: string;
  /** Milliseconds. */
  ms: number;
  /** Milliseconds of CPU that the process and its ended children had used when the test ended, all in all. */
  cpu: number;
  /** Of these, what the ended children had used. */
  childrenCpu: number;
  /** A `describe`, which is not counted. */
  suite: boolean;
}

/** Milliseconds in a clock tick of `/proc`, which is a hundredth of a second on every Linux. */
const TICK_MS = 10;

/** Milliseconds of CPU of this process with its ended children, and of these alone; of this process alone where there is no `/proc`. */
function cpuUsed(): { cpu: number; childrenCpu: number } {
  if (process.platform !== "linux") {
    const { user, system } = process.cpuUsage();
    return { cpu: (user + system) / 1000, childrenCpu: 0 };
  }
  const stat = readFileSync("/proc/self/stat", "utf8");
  // utime, stime, cutime and cstime: the twelfth to fifteenth field after the name, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
  const children = childUser + childSystem;
  return { cpu: (user + system + children) * TICK_MS, childrenCpu: children * TICK_MS };
}

function lineOf(event: TestEvent): TestLine | undefined {
  switch (event.type) {
    // Sent at once, while "test:start" waits for the tests before it.
    case "test:dequeue":
      return { type: "start", name: event.data.name, file: event.data.file ?? "" };
    case "test:pass":
    case "test:fail": {
      const { name, file, details, skip, todo } = event.data;
      const leftOut = [skip, todo].some((value) => value !== undefined && value !== false);
      const type = event.type === "test:fail" ? "fail" : leftOut ? "skip" : "pass";
      return {
        type,
        name,
        file: file ?? "",
        ms: details.duration_ms,
        ...cpuUsed(),
        suite: details.type === "suite",
      };
    }
    case "test:summary":
      // A summary with a file is of that file alone.
      return event.data.file === undefined ? { type: "summary", ...cpuUsed() } : undefined;
    default:
      return undefined;
  }
}

export default async function* lines(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    const line = lineOf(event);
    if (line !== undefined) yield `${JSON.stringify(line)}\n`;
  }
}
