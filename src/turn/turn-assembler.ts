import { PagurusError } from "../contract/errors.ts";
import type { CompactionQuestion } from "../contract/harness.ts";
import { Assembler } from "./assemble.ts";
import { compactsInAttempt } from "./gauge.ts";
import { compactInAttempt } from "./lanes/in-attempt.ts";
import { answerInTurn } from "./lanes/outer-compaction.ts";
import { compactQueued } from "./lanes/queued.ts";
import { inputText } from "./live.ts";
import { citationsMode, toolResultLimit } from "./prepare.ts";
import { runtimeKeepsContext } from "./native-context.ts";
import { readPromptHooks } from "./prompt-hooks.ts";
import type { TurnState } from "./turn-state.ts";

/** The assembler of a turn, with both compaction lanes behind it. */
export function turnAssembler(state: TurnState): Assembler {
  const { admission, prepared, recorder, context } = state;
  const { host, engine, guard, model, signal, harness } = admission;
  const keepsContext = runtimeKeepsContext(harness, engine);
  return new Assembler({
    engine,
    trusted: host.slot.bundled,
    guard,
    model,
    inputEntryId: () => recorder.inputEntryId,
    prompt: inputText(prepared.input),
    system: prepared.system,
    tools: prepared.tools.specs,
    // Both become another once it is seen what the harness adds by itself.
    get tokenBudget() {
      return prepared.tokenBudget;
    },
    get mostTokens() {
      return model.contextWindow - prepared.fixedTokens;
    },
    isKept: keepsContext,
    get toolResultMaxChars() {
      return toolResultLimit(host, model.contextWindow, prepared.tokenBudget);
    },
    citationsMode: citationsMode(host),
    calibration: () => host.calibration(admission.writer.record.sessionId, model.ref),
    signal,
    slice: () => state.slice(),
    settleFragments: (sent) => recorder.failure === undefined && state.fragments.settle(sent),
    pending: () =>
      state.caughtUp ? [] : [...admission.writer.unfinalizedTurns()].flatMap((turn) => turn.messages),
    volatile: () => state.results.messages,
    base: () => context.base(),
    promptHooks: readPromptHooks(admission),
    inAttempt: compactsInAttempt(host, engine, model),
    compact: keepsContext
      ? undefined
      : async (lane, trigger, currentTokens) => {
          const compact = lane === "queued" ? compactQueued : compactInAttempt;
          const { compacted, summary } = await compact(state.laneScope(), { trigger, currentTokens });
          if (signal.aborted) throw new PagurusError("turn_aborted", "The turn was aborted.");
          if (compacted) state.noteCompaction(summary, lane === "in-attempt");
          return compacted;
        },
  });
}

/** `HarnessTurn.answerCompaction`: what the engine has answered changes what it assembles. */
export async function answerOuterCompaction(
  state: TurnState,
  assembler: Assembler,
  question: CompactionQuestion,
): Promise<{ summary: string } | undefined> {
  if (state.recorder.failure) return undefined;
  const answer = await answerInTurn(state.laneScope(), question, {
    messages: () => state.slice().messages,
    note: (customType, data) => state.recorder.note(customType, data),
  });
  if (!answer) return undefined;
  assembler.compactedOutside();
  state.noteCompaction(undefined, false);
  return answer;
}
