import assert from "node:assert/strict";
import { test } from "node:test";
import { checkContinuity, type ContinuityFindings } from "../../../bench/context/continuity/check.ts";
import { scriptedJob, type JobState } from "../../../bench/context/continuity/job.ts";
import { measureContinuity } from "../../../bench/context/continuity/measure.ts";
import { continuityRows } from "../../../bench/context/continuity/rows.ts";
import { slidingWindow } from "../../../bench/context/policies/windows.ts";
import { textOfMessage } from "../../../bench/context/replay/blocks.ts";
import { isValidSequence } from "../../../src/compaction/pairing.ts";
import type { AgentMessage } from "../../../src/contract/message.ts";
import { renderSummary } from "../../../src/contract/summary.ts";
import { round, says, user } from "./sessions.ts";

const RULES = { userShareTokens: 4_000 };
const PLAN = "Please do:\n- step-1: rework the cache\n- step-2: rework the form";
const RULE = "No, use rule-9 for the names.";

const STATE: JobState = {
  userTexts: [PLAN, RULE],
  corrections: [RULE],
  files: new Map([
    ["src/a.ts", "changed"],
    ["src/b.ts", "gone"],
    ["src/c.ts", "seen"],
  ]),
  openStep: "step-2: rework the form",
  finishedSteps: ["step-1"],
  sideEffects: ["commit-7"],
};

const NOTHING: ContinuityFindings = {
  lostUserTexts: [],
  lostCorrections: [],
  lostFiles: [],
  lostOpenStep: false,
  finishedShownOpen: [],
  lostSideEffects: [],
};

/** A context after a compaction that holds all that it must. */
function head(...lines: string[]): AgentMessage[] {
  const told = [
    "Done: step-1 is finished. Pushed commit-7.",
    "Files changed: src/a.ts",
    "Files deleted: src/b.ts",
    "Files read: src/c.ts",
    ...lines,
  ];
  return [user(PLAN), user(RULE), user(renderSummary(told.join("\n")))];
}

function check(messages: readonly AgentMessage[], state: JobState = STATE): ContinuityFindings {
  return checkContinuity({ messages, epoch: "2" }, state, RULES);
}

test("a context with everything has no finding", () => {
  assert.deepEqual(check(head()), NOTHING);
  assert.deepEqual(check([...head(), ...round("a", { path: "src/c.ts" }, "words"), says("on")]), NOTHING);
});

test("a finished step that a summary calls open is found, and the user's own plan is not held against it", () => {
  assert.deepEqual(check(head("Open: step-1")).finishedShownOpen, ["step-1"]);
  assert.deepEqual(check(head("Next: step-1, step-2")).finishedShownOpen, ["step-1"]);
  assert.deepEqual(check(head("- step-1: done, nothing remaining")).finishedShownOpen, []);
  assert.deepEqual(check(head(...PLAN.split("\n"))).finishedShownOpen, []);
});

test("a call without its result is shown as open, also where a placeholder stands for it", () => {
  const [call, result] = round("a", { path: "src/c.ts" }, "No result was recorded for this tool call.");
  assert.ok(call && result);
  assert.deepEqual(check([...head(), call]).finishedShownOpen, ["a"]);
  assert.deepEqual(check([...head(), call, result]).finishedShownOpen, ["a"]);
});

test("lost words of the user and lost corrections are told apart", () => {
  const [, correction, summary] = head();
  assert.ok(correction && summary);
  const lostPlan = check([correction, summary]);
  assert.deepEqual(lostPlan.lostUserTexts, [PLAN]);
  assert.deepEqual(lostPlan.lostCorrections, []);
  const lostRule = check([user(PLAN), summary]);
  assert.deepEqual([lostRule.lostUserTexts, lostRule.lostCorrections], [[], [RULE]]);
});

test("where the user's words exceed their share the older ones may go, corrections and the newest may not", () => {
  const long = "many words of the user ".repeat(2_000);
  const newest = "and now the last thing";
  const state = { ...STATE, userTexts: [long, PLAN, RULE, newest] };
  const [, , summary] = head();
  assert.ok(summary);
  const open = user(STATE.openStep);
  assert.deepEqual(check([user(RULE), summary, user(newest), open], state), NOTHING);
  const without = check([summary, open], state);
  assert.deepEqual([without.lostUserTexts, without.lostCorrections], [[newest], [RULE]]);
});

test("a file has to be named with its last state", () => {
  const gone = check(head("Wrote src/b.ts"));
  assert.deepEqual(gone.lostFiles, ["src/b.ts"]);
  const removed = check(head("Deleted src/a.ts"));
  assert.deepEqual(removed.lostFiles, ["src/a.ts"]);
  const [plan, rule] = head();
  assert.ok(plan && rule);
  assert.deepEqual(check([plan, rule]).lostFiles, ["src/a.ts", "src/b.ts", "src/c.ts"]);
  const listed = user(
    renderSummary("## Files changed\n- src/a.ts\n\n## Deleted files\n- src/b.ts\n\n## Read\n- src/c.ts"),
  );
  assert.deepEqual(check([plan, rule, listed]).lostFiles, []);
});

test("a changed file that is read again is still a changed one; a call tells the state by its name", () => {
  const [, , summary] = head();
  assert.ok(summary);
  const write = round("w", { path: "src/a.ts", content: "x" }, "ok");
  const renamed = write.map((message) =>
    message.role === "assistant"
      ? {
          ...message,
          content: message.content.map((part) =>
            part.type === "toolCall" ? { ...part, name: "write" } : part,
          ),
        }
      : message,
  );
  const messages = [...renamed, ...round("r", { path: "src/a.ts" }, "again")];
  const state = { ...STATE, files: new Map([["src/a.ts", "changed" as const]]) };
  assert.deepEqual(check([...head(), ...messages], state).lostFiles, []);
});

test("the open step and side effects have to be stated", () => {
  const lost = check([user(RULE), user(renderSummary("Files changed: src/a.ts"))]);
  assert.equal(lost.lostOpenStep, true);
  assert.deepEqual(lost.lostSideEffects, ["commit-7"]);
});

test("a job is valid, repeatable, and has corrections, files in every state, and side effects", () => {
  const job = scriptedJob({ seed: 5, turns: 3 });
  assert.deepEqual(scriptedJob({ seed: 5, turns: 3 }), job);
  assert.equal(isValidSequence(job.session.messages), undefined);
  assert.equal(job.states.length, job.session.calls.length);
  const last = job.states.at(-1);
  assert.ok(last);
  assert.ok(last.corrections.length > 2);
  assert.deepEqual([...new Set(last.files.values())].toSorted(), ["changed", "gone", "seen"]);
  assert.equal(last.finishedSteps.length, 12);
  assert.ok(job.states.some(({ sideEffects }) => sideEffects.length > 1));
  const texts = job.session.messages.map(textOfMessage);
  for (const text of last.userTexts) assert.equal(texts.includes(text), true);
});

test("the whole history of a job has no finding at any call", () => {
  for (const seed of [1, 2, 3]) {
    const { session, states } = scriptedJob({ seed, turns: 2, pasted: seed === 3 ? 6_000 : 0 });
    for (const call of session.calls) {
      const state = states[call.index];
      assert.ok(state);
      const prompt = { messages: session.messages.slice(0, call.end), epoch: "1" };
      assert.deepEqual(checkContinuity(prompt, state, RULES), NOTHING, `seed ${seed}, call ${call.index}`);
    }
  }
});

test("a window that only leaves out loses words and files, and the score says so", async () => {
  const jobs = [scriptedJob({ seed: 2, turns: 3 })];
  const result = await measureContinuity(slidingWindow(64_000), jobs, RULES);
  assert.ok(result.compactions > 0);
  assert.ok(result.contexts > 0);
  assert.ok(result.files < 0.9);
  assert.ok(result.corrections < 1);
  assert.equal(result.openSteps, 1);
  assert.ok(result.whole < 0.5);
});

test("the rows name every subject, and those that are not judged have no target", async () => {
  const lines: string[] = [];
  const rows = await continuityRows({ quick: true, log: (line) => lines.push(line) });
  const legacy = rows.filter(({ measure }) => measure.includes("engine legacy"));
  assert.equal(legacy.length, 9);
  assert.equal(
    legacy.some(({ target }) => target !== undefined),
    false,
  );
  assert.equal(lines.length, rows.length / 9);
});
