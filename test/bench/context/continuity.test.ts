import assert from "node:assert/strict";
import { test } from "node:test";
import { checkContinuity, type ContinuityFindings } from "../../../bench/context/continuity/check.ts";
import { scriptedJob } from "../../../bench/context/continuity/job.ts";
import { measureContinuity } from "../../../bench/context/continuity/measure.ts";
import { continuityRows } from "../../../bench/context/continuity/rows.ts";
import type { JobState } from "../../../bench/context/continuity/state.ts";
import { slidingWindow } from "../../../bench/context/policies/windows.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { isValidSequence } from "../../../packages/core/src/compaction/tool-pairing.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { renderSummary } from "../../../packages/contract/src/engine/summary.ts";
import { round, user } from "./sessions.ts";
import { longTest } from "../../runner/long-tests.ts";

const RULES = { userShareTokens: 4_000 };
const KEEP = "Never change format-3.";
const PLAN = `Please do:\n- step-1: rework the cache\n- step-2: rework the form\n\n${KEEP}`;
const RULE = "No, use rule-9 for the names.";

const STATE: JobState = {
  userTexts: [PLAN, RULE],
  corrections: [RULE],
  constraints: [KEEP],
  files: new Map([
    ["src/a.ts", "changed"],
    ["src/b.ts", "gone"],
    ["src/c.ts", "seen"],
  ]),
  openStep: { mark: "step-2", text: "step-2: rework the form" },
  finishedSteps: ["step-1"],
  effects: [
    { mark: "commit-7", outcome: "done" },
    { mark: "mail-8", outcome: "failed" },
  ],
  aborted: "deploy-9",
};

const NOTHING: ContinuityFindings = {
  lostUserTexts: [],
  lostCorrections: [],
  lostConstraints: [],
  lostFiles: [],
  lostOpenStep: [],
  finishedShownOpen: [],
  lostEffects: [],
  lostAbort: [],
};

const STATEMENTS = [
  "Done: step-1 is finished.",
  "git push commit-7 - done",
  "send mail-8 - failed: no route",
  "deploy deploy-9 - aborted, its outcome is unknown",
  "Files changed: src/a.ts",
  "Files deleted: src/b.ts",
  "Files read: src/c.ts",
];

/** A context after a compaction with all the required content. */
function head(...lines: string[]): AgentMessage[] {
  return [user(PLAN), user(RULE), user(renderSummary([...STATEMENTS, ...lines].join("\n")))];
}

/** The same without the lines that contain a word. */
function without(word: string): AgentMessage[] {
  const statements = STATEMENTS.filter((line) => !line.includes(word));
  return [user(PLAN), user(RULE), user(renderSummary(statements.join("\n")))];
}

function check(messages: readonly AgentMessage[], state: JobState = STATE): ContinuityFindings {
  return checkContinuity({ messages, epoch: "2" }, state, RULES);
}

function called(
  name: string,
  args: Record<string, unknown>,
  result: string,
  isError = false,
): AgentMessage[] {
  const id = `${name}-${JSON.stringify(args)}`;
  return round(id, args, result).map((message) => {
    if (message.role === "toolResult") return { ...message, toolName: name, isError };
    if (message.role !== "assistant") return message;
    const content = message.content.map((part) => (part.type === "toolCall" ? { ...part, name } : part));
    return { ...message, content };
  });
}

test("a context with everything has no finding", () => {
  assert.deepEqual(check(head()), NOTHING);
  assert.deepEqual(check([...head(), ...called("read", { path: "src/c.ts" }, "words")]), NOTHING);
});

test("a finished step whose last state is open is found, and the user's own plan does not count as a statement", () => {
  assert.deepEqual(check(head("Open: step-1")).finishedShownOpen, ["step-1"]);
  assert.deepEqual(check(head("Next: step-1, step-2")).finishedShownOpen, ["step-1"]);
  assert.deepEqual(check(head("- step-1: done, nothing remaining")).finishedShownOpen, []);
  assert.deepEqual(check(head(...PLAN.split("\n"))).finishedShownOpen, []);
  const again = called("update_plan", { step: "step-1", status: "in_progress" }, "ok");
  assert.deepEqual(check([...head(), ...again]).finishedShownOpen, ["step-1"]);
});

test("a call without its result is shown as open, also with a placeholder for it", () => {
  const [call, result] = round("a", { path: "src/c.ts" }, "No result was recorded for this tool call.");
  assert.ok(call && result);
  assert.deepEqual(check([...head(), call]).finishedShownOpen, ["a"]);
  assert.deepEqual(check([...head(), call, result]).finishedShownOpen, ["a"]);
});

test("lost user messages, lost corrections and lost constraints are separate findings", () => {
  const [, correction, summary] = head();
  assert.ok(correction && summary);
  const lostPlan = check([correction, summary]);
  assert.deepEqual(lostPlan.lostUserTexts, [PLAN]);
  assert.deepEqual(lostPlan.lostCorrections, []);
  assert.deepEqual(lostPlan.lostConstraints, [KEEP]);
  const lostRule = check([user(PLAN), summary]);
  assert.deepEqual([lostRule.lostUserTexts, lostRule.lostCorrections], [[], [RULE]]);
});

test("where the user's messages exceed their share corrections and the newest stay, and others while they fit", () => {
  const long = "many words of the user ".repeat(2_000);
  const newest = "and now the last thing";
  const state = { ...STATE, userTexts: [long, PLAN, RULE, newest] };
  const [, , summary] = head();
  assert.ok(summary);
  assert.deepEqual(check([user(RULE), summary, user(newest), user(PLAN)], state), NOTHING);
  const open = user(`${STATE.openStep?.text} ${KEEP}`);
  const without = check([summary, open], state);
  assert.deepEqual([without.lostUserTexts, without.lostCorrections], [[PLAN, newest], [RULE]]);
});

test("a file has to be named with its last state", () => {
  assert.deepEqual(check(without("src/b.ts")).lostFiles, ["src/b.ts is gone, stated nothing"]);
  assert.deepEqual(check(head("Wrote src/b.ts")).lostFiles, ["src/b.ts is gone, stated changed"]);
  assert.deepEqual(check(head("Deleted src/a.ts")).lostFiles, ["src/a.ts is changed, stated gone"]);
  assert.equal(check([user(PLAN), user(RULE)]).lostFiles.length, 3);
  const listed = "## Files changed\n- src/a.ts\n\n## Deleted files\n- src/b.ts\n\n## Read\n- src/c.ts";
  assert.deepEqual(check([user(PLAN), user(RULE), user(renderSummary(listed))]).lostFiles, []);
  const grouped = "written: src/{a.ts, x.ts}\ndeleted: src/{b.ts}\nread: src/{c.ts}";
  assert.deepEqual(check([user(PLAN), user(renderSummary(grouped))]).lostFiles, []);
});

test("a renamed file is gone under its old name and exists under the new one", () => {
  const files = new Map([
    ["src/a.ts", "gone" as const],
    ["src/new.ts", "changed" as const],
  ]);
  const state = { ...STATE, files };
  const moved = called("shell", { command: "git mv src/a.ts src/new.ts" }, "");
  assert.deepEqual(check([...head(), ...moved], state).lostFiles, []);
  assert.deepEqual(check(head("git mv src/a.ts src/new.ts - done"), state).lostFiles, []);
  assert.equal(check([...moved, ...head()], state).lostFiles.length, 1);
  assert.equal(check(head(), state).lostFiles.length, 2);
});

test("a changed file that is read again is still a changed one, and a failed change has no effect", () => {
  const write = called("write", { path: "src/c.ts", content: "x" }, "ok");
  const state = { ...STATE, files: new Map([["src/c.ts", "changed" as const]]) };
  const read = called("read", { path: "src/c.ts" }, "again");
  assert.deepEqual(check([...head(), ...write, ...read], state).lostFiles, []);
  const failed = called("edit", { path: "src/c.ts" }, "not there", true);
  assert.deepEqual(check([...head(), ...failed]).lostFiles, []);
  assert.deepEqual(check(head("read, last edit failed: src/c.ts", "edit src/c.ts - failed")).lostFiles, []);
});

test("the open step has to be in the context, and not as done", () => {
  assert.deepEqual(check([user(RULE), ...without("-")]).lostOpenStep, []);
  assert.deepEqual(check(head("step-2 is done")).lostOpenStep, ["step-2 is stated as done"]);
  const [, , summary] = head();
  assert.ok(summary);
  assert.deepEqual(check([user(RULE), summary]).lostOpenStep, ["step-2: rework the form"]);
});

test("side effects are stated with their final outcome", () => {
  assert.deepEqual(check(without("commit-7")).lostEffects, ["commit-7 is done, stated nothing"]);
  assert.deepEqual(check(head("send mail-8 - done")).lostEffects, ["mail-8 is failed, stated done"]);
  const failed = called("shell", { command: "push commit-7" }, "error (commit-7)", true);
  assert.deepEqual(check([...head(), ...failed]).lostEffects, ["commit-7 is done, stated failed"]);
  const again = called("shell", { command: "push commit-7" }, "done: commit-7");
  assert.deepEqual(check([...head(), ...failed, ...again]).lostEffects, []);
});

test("what an abort cut off is neither forgotten nor stated as done", () => {
  assert.deepEqual(check(without("deploy-9")).lostAbort, ["deploy-9"]);
  assert.deepEqual(check(head("deploy-9: done")).lostAbort, ["deploy-9"]);
  assert.deepEqual(check(without("deploy-9"), { ...STATE, aborted: undefined }).lostAbort, []);
});

test("a job is valid, repeatable, and covers every finding", () => {
  const job = scriptedJob({ seed: 5, turns: 3 });
  assert.deepEqual(scriptedJob({ seed: 5, turns: 3 }), job);
  const { messages, outcomes } = job.session;
  assert.equal(isValidSequence(messages), undefined);
  assert.equal(job.states.length, job.session.calls.length);
  const last = job.states.at(-1);
  assert.ok(last);
  assert.ok(last.corrections.length > 2);
  assert.equal(last.constraints.length, 3);
  assert.deepEqual([...new Set(last.files.values())].toSorted(), ["changed", "gone", "seen"]);
  assert.equal(last.finishedSteps.length, 12);
  for (const wanted of ["done", "failed"])
    assert.ok(job.states.some(({ effects }) => effects.some(({ outcome }) => outcome === wanted)));
  assert.ok(job.states.some(({ effects }) => effects.length > 1));
  assert.deepEqual([...(outcomes?.values() ?? [])], ["aborted"]);
  assert.ok(job.states.some(({ aborted }) => aborted !== undefined));
  const texts = messages.map(textOfMessage);
  for (const text of last.userTexts) assert.equal(texts.includes(text), true);
  const calls = messages.flatMap(({ role, content }) => (role === "assistant" ? [content] : []));
  assert.ok(calls.some((parts) => parts.filter(({ type }) => type === "toolCall").length > 1));
  for (const command of ["rm ", "git mv "]) assert.ok(texts.some((text) => text.includes(command)));
});

test("the whole history of a job has no finding at any call", () => {
  for (const seed of [1, 2, 3]) {
    const { session, states } = scriptedJob({ seed, turns: 3, pasted: seed === 3 ? 6_000 : 0 });
    for (const call of session.calls.filter(({ index }) => index % 5 === 0)) {
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
  assert.equal(result.fewestCompactions, result.compactions);
  assert.ok(result.contexts > 0);
  assert.ok(result.held.lostFiles < 0.9);
  assert.ok(result.held.lostCorrections < 1);
  assert.ok(result.held.lostConstraints < 1);
  assert.ok(result.whole < 0.5);
  assert.match(result.examples.lostFiles ?? "", /^job 2, call \d+, compaction \d+: \d+ of them, src\//);
});

longTest("the rows name every subject, and those that are not judged have no target", async () => {
  const lines: string[] = [];
  const rows = await continuityRows({ quick: true, log: (line) => lines.push(line) });
  const legacy = rows.filter(({ measure }) => measure.includes("engine legacy"));
  assert.ok(legacy.length > 0);
  assert.equal(
    legacy.some(({ target }) => target !== undefined),
    false,
  );
  const subjects = lines.filter((line) => line.startsWith("continuity: "));
  assert.equal(subjects.length, rows.length / legacy.length);
});
