/**
 * Places where a unit test depends on the speed of the machine: it sleeps, mocks timers, or limits elapsed time. What waits in `src` takes a
 * clock (`packages/core/src/data/clock.ts`), which `test/runner/test-clock.ts` moves; a test waits for a condition with `test/runner/until.ts`, and
 * measures work with `test/runner/cpu-time.ts`. Tests that start processes wait for them, and are not looked at. Also places that write to a
 * process which may have ended, in tests of any kind, benchmarks and scripts.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesUnder } from "./source-files.ts";
import { blanked, lineAt } from "./source-tokens.ts";

/** At the begin of a line, so that none is found in a text. */
const LINES: readonly [pattern: RegExp, what: string][] = [
  [/^import [^;]*\bsetTimeout\b[^;]*\bfrom "node:timers\/promises"/gm, "imports a sleep"],
  [/^import [^;]*\bsleep\b[^;]*\bfrom "[^"]*platform\/deadline\.ts"/gm, "imports a sleep"],
  // A fixed date alone lets time pass.
  [/^\s*[\w.]+\.timers\.enable\((?!\{ apis: \["Date"\])/gm, "mocks timers"],
];
const CALLS: readonly [pattern: RegExp, what: string][] = [
  [/\bsetTimeout\(/g, "sets a timer"],
  [/\bsetInterval\(/g, "sets a timer"],
  [/(?:performance|Date)\.now\(\) - \w+ <=? /g, "limits elapsed time"],
];
const INSTEAD = "use a TestClock, until(condition) or cpuMs() of test/runner";

/** Files that are not converted so far, with the number of such places: it may only fall. */
const LEFT: Readonly<Record<string, number>> = {
  "test/engines/lossless/proof/honesty.test.ts": 2,
  "test/gateway/server/limits.test.ts": 1,
  "test/model-api/surfaces/surface-api.test.ts": 1,
  "test/model/answer-limits.test.ts": 1,
  "test/turn/host.test.ts": 1,
  "test/turn/paid-surface.test.ts": 1,
};

/** Standard input of another process than its own; `cli` and `made` are made by `test/cli/fake-cli.ts`. */
const CHILD_INPUT = /(?<!\b(?:process|cli|made)[?!]?)\.stdin\b(?!\s*=[^=])/g;
const INPUT_PLACE = "test/runner/child-input.ts";
const STARTING = ["test", "bench", "scripts"];

/** One line for each place that writes to a process without a listener for the error of one that has ended. */
export function checkChildInputs(root: string): string[] {
  const files = STARTING.flatMap((folder) => filesUnder(root, folder, ".ts"));
  return files
    .filter((file) => file !== INPUT_PLACE)
    .flatMap((file) => {
      const code = blanked(readFileSync(join(root, file), "utf8"), ["comment", "text", "regex"]);
      return [...code.matchAll(CHILD_INPUT)].map(
        ({ index }) =>
          `${file}:${lineAt(code, index)}: standard input of a process; use inputOf(child) of ${INPUT_PLACE}`,
      );
    });
}

const HOOK = /^(?:before|after)Each\(/gm;

/** One line for each hook of a file that shares its process with others: it would run around their tests too, some of them at once. */
export function checkHooks(root: string): string[] {
  const files = filesUnder(root, "test", ".process.test.ts").filter((file) => !file.startsWith("test/real/"));
  return files.flatMap((file) => {
    const code = blanked(readFileSync(join(root, file), "utf8"), ["comment", "text"]);
    return [...code.matchAll(HOOK)].map(
      ({ index }) =>
        `${file}:${lineAt(code, index)}: a hook of all files of the process; put it into a describe`,
    );
  });
}

function isUnitTest(file: string): boolean {
  return !file.endsWith(".process.test.ts") && !file.startsWith("test/real/");
}

/** Places of a source, each with its line and what it does. */
export function waitsIn(source: string): { line: number; what: string }[] {
  const found = (code: string, patterns: typeof CALLS): { line: number; what: string }[] =>
    patterns.flatMap(([pattern, what]) =>
      [...code.matchAll(pattern)].map(({ index }) => ({
        line: lineAt(code, index + (/^\s*/.exec(code.slice(index))?.[0].length ?? 0)),
        what,
      })),
    );
  const calls = blanked(source, ["comment", "text", "regex"]);
  return [...found(blanked(source, ["comment"]), LINES), ...found(calls, CALLS)].toSorted(
    (one, other) => one.line - other.line,
  );
}

/** One line for each place that is not listed, and for each listed file that has fewer than its number. */
export function checkWaits(root: string, left: Readonly<Record<string, number>> = LEFT): string[] {
  const files = filesUnder(root, "test", ".test.ts").filter(isUnitTest);
  return files.flatMap((file) => {
    const found = waitsIn(readFileSync(join(root, file), "utf8"));
    const most = left[file] ?? 0;
    if (found.length > most)
      return found.map(({ line, what }) => `${file}:${line}: ${what}; ${INSTEAD} (at most ${most} here)`);
    return found.length === most
      ? []
      : [`${file}: ${found.length} waits; write that into scripts/wait-places.ts`];
  });
}
