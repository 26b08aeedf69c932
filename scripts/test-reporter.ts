/** A reporter for `node --test` that writes the run's totals as one line of JSON, for scripts/test.ts. */
import type { TestEvent } from "node:test/reporters";

/** What `test:summary` says of a whole run. */
export interface TestTotals {
  passed: number;
  failed: number;
  cancelled: number;
  skipped: number;
  todo: number;
  tests: number;
}

export default async function* totals(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    // A summary with a file is of that file alone.
    if (event.type === "test:summary" && event.data.file === undefined) {
      yield `${JSON.stringify(event.data.counts)}\n`;
    }
  }
}
