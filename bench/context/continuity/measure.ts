/** Runs jobs under a policy and checks the context of every call after a compaction (Must show 8). */
import type { ContextPolicy } from "../policy.ts";
import { checkContinuity, type ContinuityRules } from "./check.ts";
import type { Job } from "./job.ts";

export interface ContinuityScore {
  policy: string;
  compactions: number;
  /** Contexts that were checked: all from the first compaction on. */
  contexts: number;
  /** Shares of what had to be there, over all contexts; 1 is whole. */
  userTexts: number;
  corrections: number;
  files: number;
  openSteps: number;
  sideEffects: number;
  /** Contexts with a finished call or step shown as open. */
  finishedShownOpen: number;
  /** Contexts without any finding. */
  whole: number;
}

class Share {
  #held = 0;
  #wanted = 0;

  add(lost: number, wanted: number): void {
    this.#held += wanted - lost;
    this.#wanted += wanted;
  }

  get value(): number {
    return this.#wanted === 0 ? 1 : this.#held / this.#wanted;
  }
}

export async function measureContinuity(
  policy: ContextPolicy,
  jobs: readonly Job[],
  rules: ContinuityRules,
): Promise<ContinuityScore> {
  const shares = {
    userTexts: new Share(),
    corrections: new Share(),
    files: new Share(),
    openSteps: new Share(),
    sideEffects: new Share(),
  };
  const whole = new Share();
  let compactions = 0;
  let contexts = 0;
  let finishedShownOpen = 0;
  for (const { session, states } of jobs) {
    const run = await policy.open(session);
    let epoch: string | undefined;
    let compacted = false;
    try {
      for (const call of session.calls) {
        const prompt = await run.assemble(call);
        if (epoch !== undefined && prompt.epoch !== epoch) {
          compactions++;
          compacted = true;
        }
        epoch = prompt.epoch;
        const state = states[call.index];
        if (compacted && state) {
          const found = checkContinuity(prompt, state, rules);
          contexts++;
          shares.userTexts.add(found.lostUserTexts.length, state.userTexts.length - state.corrections.length);
          shares.corrections.add(found.lostCorrections.length, state.corrections.length);
          shares.files.add(found.lostFiles.length, state.files.size);
          shares.openSteps.add(found.lostOpenStep ? 1 : 0, state.openStep === "" ? 0 : 1);
          shares.sideEffects.add(found.lostSideEffects.length, state.sideEffects.length);
          if (found.finishedShownOpen.length > 0) finishedShownOpen++;
          const findings = Object.values(found).some((lost) =>
            Array.isArray(lost) ? lost.length > 0 : lost,
          );
          whole.add(findings ? 1 : 0, 1);
        }
        await run.settle(call);
      }
    } finally {
      await run.close?.();
    }
  }
  return {
    policy: policy.name,
    compactions,
    contexts,
    userTexts: shares.userTexts.value,
    corrections: shares.corrections.value,
    files: shares.files.value,
    openSteps: shares.openSteps.value,
    sideEffects: shares.sideEffects.value,
    finishedShownOpen,
    whole: whole.value,
  };
}
