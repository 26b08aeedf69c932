/**
 * A trial of a program: orders with commands that write and read files, a compaction, and an order in a new process. It is judged by the
 * requests that arrive at the model and by the files, not by what the program says.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../../packages/core/src/data/attempt.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { cargo, fileOf, orderOf, pilot, sentences } from "./order-model.ts";
import { SUBJECTS, type SubjectId, type Talk } from "./subjects.ts";
import type { TrialPlace } from "./trial-place.ts";

export const TRIAL_STEPS = ["turns", "compaction", "resume"] as const;
export type TrialStep = (typeof TRIAL_STEPS)[number];

export const PASS = "pass";
/** `pass`, or the reason of the failure. */
export type TrialResult = Record<TrialStep, string>;

const REASON_CHARS = 300;
/** A request before a compaction shows all of an order's sentences; after it, less than half. */
const ALL_SENTENCES = 12;

/** Requests of an order, the oldest first. Throws when there are none. */
function requestsOf({ requests }: TrialPlace, order: number): [RecordedRequest, ...RecordedRequest[]] {
  const [first, ...rest] = requests.filter((request) => orderOf(request) === order);
  assert.ok(first, `no request of order ${order} arrived at the model`);
  return [first, ...rest];
}

/** The commands of an order had their effects, and the model saw the results. */
function checkOrder(place: TrialPlace, order: number): void {
  const written = attempt(() => readFileSync(join(place.setting.workspace, fileOf(order)), "utf8"));
  assert.equal(written?.trim(), cargo(order), `the file of order ${order}`);
  assert.ok(withResult(place, order), `the result of reading the file of order ${order}`);
}

/** The order's first request that has what the file holds. */
function withResult(place: TrialPlace, order: number): RecordedRequest | undefined {
  return requestsOf(place, order).find(({ text }) => text.includes(cargo(order)));
}

function checkTurns(place: TrialPlace, turns: number): void {
  for (let order = 0; order < turns; order += 1) {
    checkOrder(place, order);
    const { text = "" } = withResult(place, order) ?? {};
    for (let before = 0; before <= order; before += 1)
      assert.equal(
        text.split(`${pilot(before)}.`).length - 1,
        1,
        `the words of order ${before} at order ${order}`,
      );
  }
}

function checkCompaction({ place, own }: Talk, turns: number): void {
  if (own)
    assert.ok(
      place.requests.some(({ text }) => own.test(text)),
      "the program's own compaction",
    );
  const before = requestsOf(place, turns - 1)[0];
  assert.equal(sentences(before, 0), ALL_SENTENCES, "sentences of order 0 before the compaction");
  const [after] = requestsOf(place, turns);
  const left = sentences(after, 0);
  assert.ok(left < ALL_SENTENCES / 2, `${left} sentences of order 0 after the compaction`);
  assert.ok(after.text.includes(pilot(0)), "the summary has the name of order 0");
  checkOrder(place, turns);
}

function checkResume(place: TrialPlace, order: number): void {
  const [first] = requestsOf(place, order);
  for (const before of [0, order - 1])
    assert.ok(first.text.includes(pilot(before)), `the new process knows the name of order ${before}`);
  checkOrder(place, order);
}

/** Result of one step; `problem`: why a process of it failed. */
async function resultOf(problem: string | undefined, check: () => void | Promise<void>): Promise<string> {
  try {
    await check();
    if (problem === undefined) return PASS;
    return problem;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [reason, problem]
      .filter((part) => part !== undefined)
      .join("; ")
      .replaceAll(/\s+/g, " ")
      .slice(0, REASON_CHARS);
  }
}

async function problemOf(work: Promise<void>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Tries the program at this path. Throws only when the trial cannot be set up. */
export async function tryProgram(id: SubjectId, command: string, turns: number): Promise<TrialResult> {
  const talk = await SUBJECTS[id].open(command, turns);
  const { place, begin, resume } = talk;
  try {
    const begun = await problemOf(begin(turns));
    const resumed = await problemOf(resume(turns + 1));
    return {
      turns: await resultOf(undefined, () => checkTurns(place, turns)),
      compaction: await resultOf(begun, () => checkCompaction(talk, turns)),
      resume: await resultOf(resumed, () => checkResume(place, turns + 1)),
    };
  } finally {
    await place.end();
  }
}
