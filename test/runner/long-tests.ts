/**
 * What `npm test` leaves out, and `npm test -- --all` and CI run as well: tests that take long where the others of their file show the
 * same way in less time, and further values of a test that runs for many.
 */
import { describe, test, type TestContext, type TestOptions } from "node:test";
import { ALL } from "./short-form.ts";

type TestBody = (context: TestContext) => Promise<void> | void;

interface RegisterSuite {
  (name: string, body: () => void): unknown;
  (name: string, options: TestOptions, body: () => void): unknown;
}

interface Register {
  (name: string, body: TestBody): unknown;
  (name: string, options: TestOptions, body: TestBody): unknown;
}

/** A test that `npm test` leaves out. Called as node's own, whose reports name the file of the caller. */
export const longTest: Register = ALL ? test : () => undefined;

/** All values with `--all`; the first `count` of them otherwise. */
export function firstOf<T>(values: readonly T[], count = 1): readonly T[] {
  return ALL ? values : values.slice(0, count);
}

/** The same for a suite of such tests, whose hooks would run without them. */
export const longSuite: RegisterSuite = ALL ? describe : () => undefined;

/** All values with `--all`; every second one otherwise. */
export function everyOther<T>(values: readonly T[]): readonly T[] {
  return ALL ? values : values.filter((_value, index) => index % 2 === 0);
}
