/** The suites that also pass with PostgreSQL in the place of the files, and what in them is about the files themselves. */

/** Beginnings of the paths of test files. */
export const SUITES: readonly string[] = [
  "test/turn/",
  "test/engines/lossless/",
  "test/server/crash",
  "test/server/kills",
];

/** Lengths, which have lines of `npm run prove` of their own. */
export const LENGTHS = "/long/";

/** Some of them, for a plain run. */
export const SHORT: readonly string[] = [
  "test/turn/lanes/answers",
  "test/turn/kill.process",
  "test/engines/lossless/lost-database",
  "test/server/crash",
];

export interface OnFiles {
  /** Path of the test file. */
  file: string;
  /** The test's name; absent: the whole file. */
  test?: string;
  why: string;
}

/** Tests that look at the files of the embedded store by design. */
export const ON_FILES: readonly OnFiles[] = [
  {
    file: "test/turn/bit-flips.test.ts",
    why: "It damages the files at rest and puts the former ones back; a database would have the turns after them.",
  },
  {
    file: "test/turn/session-claim.test.ts",
    test: "a transcript of another folder that is copied in gives that folder's conversation to no other (finding A1)",
    why: "It copies transcripts from one folder of sessions into another.",
  },
];
