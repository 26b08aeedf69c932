/** Whether a context lets an agent go on with a job: what it lacks, and what it says wrongly. */
import type { AgentMessage } from "../../../src/contract/message.ts";
import { messageTokens } from "../../../src/tokens/messages.ts";
import type { PromptBlocks } from "../policy.ts";
import { textOfMessage } from "../replay/blocks.ts";
import type { JobState } from "./state.ts";
import { LineIndex, Told } from "./told.ts";

/** What is missing or wrong, by name; empty lists where nothing is. */
export interface ContinuityFindings {
  /** User's words that are not there verbatim; corrections are counted apart. */
  lostUserTexts: string[];
  lostCorrections: string[];
  /** Binding sentences of messages that had to go. */
  lostConstraints: string[];
  /** Files that are not named, or whose last word is another state than theirs, with what is told. */
  lostFiles: string[];
  /** The step that is worked on: not there in its words, or told as done. */
  lostOpenStep: string[];
  /** Finished steps that stand as open, and calls that look as if nothing had come of them. */
  finishedShownOpen: string[];
  /** Side effects since the user last spoke that are not stated, or with another outcome. */
  lostEffects: string[];
  /** The command that an abort cut off is not there as such. */
  lostAbort: string[];
}

export interface ContinuityRules {
  /**
   * Tokens that the user's words may take. Where all of them are more, corrections and the newest words stay, then as
   * many others as fit: constraints and corrections go first.
   */
  userShareTokens: number;
}

/** A result that says nothing came of its call is a finished call shown as open. */
function openCalls(messages: readonly AgentMessage[]): string[] {
  const answered = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "toolResult") answered.set(message.toolCallId, textOfMessage(message));
  }
  return messages.flatMap((message) =>
    message.role !== "assistant"
      ? []
      : message.content.flatMap((part) => {
          if (part.type !== "toolCall") return [];
          const result = answered.get(part.id);
          return result === undefined || result.startsWith("No result was recorded") ? [part.id] : [];
        }),
  );
}

function lostFilesOf(state: JobState, told: Told): string[] {
  return [...state.files].flatMap(([path, expected]) => {
    const said = told.file(path);
    return said === expected ? [] : [`${path} is ${expected}, told ${said ?? "nothing"}`];
  });
}

function lostOpenStepOf({ openStep }: JobState, text: string, told: Told): string[] {
  if (!openStep) return [];
  if (!text.includes(openStep.text)) return [openStep.text];
  return told.step(openStep.mark) === "done" ? [`${openStep.mark} is told as done`] : [];
}

function lostEffectsOf(state: JobState, told: Told): string[] {
  return state.effects.flatMap(({ mark, outcome }) => {
    const said = told.outcome(mark);
    return said === outcome ? [] : [`${mark} is ${outcome}, told ${said ?? "nothing"}`];
  });
}

function tokensOf(content: string): number {
  return messageTokens({ role: "user", content });
}

function wordsTokens(texts: readonly string[]): number {
  return texts.reduce((total, said) => total + tokensOf(said), 0);
}

/** Whether all of the user's words together are more than what they may take. */
export function isOverShare({ userTexts }: JobState, { userShareTokens }: ContinuityRules): boolean {
  return wordsTokens(userTexts) > userShareTokens;
}

/** All of the user's words while they fit their share; else corrections, the newest, and what there is room for. */
function lostWords(state: JobState, text: string, rules: ContinuityRules): Set<string> {
  const missing = state.userTexts.filter((said) => !text.includes(said));
  if (!isOverShare(state, rules)) return new Set(missing);
  const first = new Set([...state.corrections, ...state.userTexts.slice(-1)]);
  const held = wordsTokens(state.userTexts.filter((said) => text.includes(said)));
  return new Set(missing.filter((said) => first.has(said) || held + tokensOf(said) <= rules.userShareTokens));
}

/** Checks one context against what is true before the call. `index` keeps what was read of messages before. */
export function checkContinuity(
  prompt: PromptBlocks,
  state: JobState,
  rules: ContinuityRules,
  index: LineIndex = new LineIndex(),
): ContinuityFindings {
  const { messages } = prompt;
  const text = [prompt.addition ?? "", ...messages.map(textOfMessage)].join("\n");
  const told = new Told(messages, state.userTexts, index);
  const missing = lostWords(state, text, rules);
  const corrections = new Set(state.corrections);
  const { aborted, finishedSteps } = state;
  return {
    lostUserTexts: [...missing].filter((said) => !corrections.has(said)),
    lostCorrections: [...missing].filter((said) => corrections.has(said)),
    lostConstraints: state.constraints.filter((sentence) => !text.includes(sentence)),
    lostFiles: lostFilesOf(state, told),
    lostOpenStep: lostOpenStepOf(state, text, told),
    finishedShownOpen: [
      ...finishedSteps.filter((mark) => told.step(mark) === "open"),
      ...openCalls(messages),
    ],
    lostEffects: lostEffectsOf(state, told),
    lostAbort: aborted === undefined || told.isCutOff(aborted) ? [] : [aborted],
  };
}
