/** Each check of continuity fails on the engine's own contexts as soon as their head lacks what it looks for. */
import assert from "node:assert/strict";
import {
  checkContinuity,
  type ContinuityFindings,
  type ContinuityRules,
} from "../../../bench/context/continuity/check.ts";
import { scriptedJob } from "../../../bench/context/continuity/job.ts";
import type { JobState } from "../../../bench/context/continuity/state.ts";
import { LineIndex } from "../../../bench/context/continuity/statements.ts";
import { engineContextPolicy } from "../../../packages/replay/src/engine/engine-policy.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { readSummary, renderSummary } from "../../../packages/contract/src/engine/summary.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import { longTest } from "../../runner/long-tests.ts";

const RULES: ContinuityRules = { userShareTokens: 2_500 };
/** In a small window the newest messages contain less, so more is in the head alone. */
const WINDOW = 56_000;

function isHead(message: AgentMessage): boolean {
  return message.role === "user" && readSummary(textOfMessage(message)) !== undefined;
}

function withHead(messages: readonly AgentMessage[], change: (head: string) => string): AgentMessage[] {
  return messages.map((message) => {
    const head = isHead(message) ? readSummary(textOfMessage(message)) : undefined;
    return head === undefined ? message : { role: "user", content: renderSummary(change(head)) };
  });
}

/** Things that a finding of one kind could name, by their text. */
const THINGS: Record<
  Exclude<keyof ContinuityFindings, "finishedShownOpen">,
  (state: JobState) => string[]
> = {
  lostUserTexts: ({ userTexts, corrections }) => userTexts.filter((text) => !corrections.includes(text)),
  lostCorrections: ({ corrections }) => [...corrections],
  lostConstraints: ({ constraints }) => [...constraints],
  lostFiles: ({ files }) => [...files.keys()],
  lostOpenStep: ({ openStep }) => (openStep ? [openStep.text] : []),
  lostEffects: ({ effects }) => effects.map(({ mark }) => mark),
  lostAbort: ({ aborted }) => (aborted === undefined ? [] : [aborted]),
};

interface Shown {
  messages: readonly AgentMessage[];
  state: JobState;
}

async function contexts(): Promise<Shown[]> {
  const { session, states } = scriptedJob({ seed: 12, turns: 3 });
  const run = await engineContextPolicy("lossless", createLosslessEngine, { window: WINDOW }).open(session);
  const shown: Shown[] = [];
  try {
    for (const call of session.calls) {
      const { messages } = await run.assemble(call);
      const state = states[call.index];
      if (state && messages.some(isHead)) shown.push({ messages, state });
      await run.settle(call);
    }
  } finally {
    await run.close?.();
  }
  return shown;
}

longTest("a head without a thing that it alone contains makes the check of that thing fail", async () => {
  const shown = await contexts();
  const index = new LineIndex();
  const check = ({ messages, state }: Shown): ContinuityFindings =>
    checkContinuity({ messages, epoch: "1" }, state, RULES, index);
  for (const [finding, things] of Object.entries(THINGS)) {
    const kind = finding as keyof ContinuityFindings;
    let sabotaged = 0;
    for (const { messages, state } of shown) {
      const others = messages.filter((message) => !isHead(message)).map(textOfMessage);
      const heads = messages.filter(isHead).map(textOfMessage);
      const thing = things(state).find(
        (text) =>
          heads.some((head) => head.includes(text)) && !others.some((message) => message.includes(text)),
      );
      if (thing === undefined) continue;
      const before = check({ messages, state })[kind];
      if (before.some((text) => text.includes(thing))) continue;
      const after = check({
        messages: withHead(messages, (head) => head.replaceAll(thing, "something")),
        state,
      });
      assert.ok(
        after[kind].some((text) => text.includes(thing)),
        `${kind} does not miss ${thing}`,
      );
      sabotaged++;
      if (sabotaged === 3) break;
    }
    assert.ok(sabotaged > 0, `no head alone tells what ${kind} looks for`);
  }
});

longTest("a head that calls a finished step open, or the open one done, is found wrong", async () => {
  const shown = await contexts();
  let [finished, open] = [0, 0];
  for (const { messages, state } of shown) {
    const others = messages.filter((message) => !isHead(message)).map(textOfMessage);
    const findingsWith = (line: string): ContinuityFindings => {
      const changed = withHead(messages, (head) => `${head}\n\n## Told\n- ${line}`);
      return checkContinuity({ messages: changed, epoch: "1" }, state, RULES);
    };
    const done = state.finishedSteps.find((mark) => !others.some((text) => text.includes(mark)));
    if (done !== undefined && finished++ < 3)
      assert.ok(findingsWith(`${done} is in progress`).finishedShownOpen.includes(done));
    const mark = state.openStep?.mark ?? "";
    const isBegunBelow = others.some((text) => text.includes(`${mark}: in progress`));
    if (mark !== "" && !isBegunBelow && open++ < 3)
      assert.deepEqual(findingsWith(`${mark} is finished`).lostOpenStep, [`${mark} is stated as done`]);
  }
  assert.ok(finished > 0 && open > 0);
});
