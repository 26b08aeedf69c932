/** Checks whether a context lets an agent continue a job: what it lacks, and what it states wrongly. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { messageTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import type { PromptBlocks } from "../../../packages/replay/src/context-policy.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import type { JobState } from "./state.ts";
import { LineIndex, Statements } from "./statements.ts";

/** What is missing or wrong, by name; empty lists where nothing is. */
export interface ContinuityFindings {
  /** User's messages that are not in it verbatim; corrections are counted separately. */
  lostUserTexts: string[];
  lostCorrections: string[];
  /** Binding sentences of messages that were removed. */
  lostConstraints: string[];
  /** Files that are not named, or whose last stated state is not theirs, with the stated one. */
  lostFiles: string[];
  /** The current step: missing verbatim, or stated as done. */
  lostOpenStep: string[];
  /** Finished steps that are stated as open, and calls that look as if they had no result. */
  finishedShownOpen: string[];
  /** Side effects since the user's last message that are not stated, or with another outcome. */
  lostEffects: string[];
  /** The command that an abort cut off is not stated as such. */
  lostAbort: string[];
}

export interface ContinuityRules {
  /**
   * Tokens that the user's messages may take. Where all of them are more, corrections and the newest ones stay, then as many
   * others as fit: constraints and corrections have priority.
   */
  userShareTokens: number;
}

/** A result that says nothing came of its call shows a finished call as open. */
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

function lostFilesOf(state: JobState, statements: Statements): string[] {
  return [...state.files].flatMap(([path, expected]) => {
    const stated = statements.file(path);
    return stated === expected ? [] : [`${path} is ${expected}, stated ${stated ?? "nothing"}`];
  });
}

function lostOpenStepOf({ openStep }: JobState, text: string, statements: Statements): string[] {
  if (!openStep) return [];
  if (!text.includes(openStep.text)) return [openStep.text];
  return statements.step(openStep.mark) === "done" ? [`${openStep.mark} is stated as done`] : [];
}

function lostEffectsOf(state: JobState, statements: Statements): string[] {
  return state.effects.flatMap(({ mark, outcome }) => {
    const stated = statements.outcome(mark);
    return stated === outcome ? [] : [`${mark} is ${outcome}, stated ${stated ?? "nothing"}`];
  });
}

function tokensOf(content: string): number {
  return messageTokens({ role: "user", content });
}

function wordsTokens(texts: readonly string[]): number {
  return texts.reduce((total, userText) => total + tokensOf(userText), 0);
}

/** Whether all of the user's messages together exceed their share. */
export function isOverShare({ userTexts }: JobState, { userShareTokens }: ContinuityRules): boolean {
  return wordsTokens(userTexts) > userShareTokens;
}

/** All of the user's messages while they fit their share; else corrections, the newest, and what fits. */
function lostWords(state: JobState, text: string, rules: ContinuityRules): Set<string> {
  const missing = state.userTexts.filter((userText) => !text.includes(userText));
  if (!isOverShare(state, rules)) return new Set(missing);
  const first = new Set([...state.corrections, ...state.userTexts.slice(-1)]);
  const held = wordsTokens(state.userTexts.filter((userText) => text.includes(userText)));
  return new Set(
    missing.filter((userText) => first.has(userText) || held + tokensOf(userText) <= rules.userShareTokens),
  );
}

/** Checks one context against the state before the call. `index` caches what was read of messages before. */
export function checkContinuity(
  prompt: PromptBlocks,
  state: JobState,
  rules: ContinuityRules,
  index: LineIndex = new LineIndex(),
): ContinuityFindings {
  const { messages } = prompt;
  const text = [prompt.addition ?? "", ...messages.map(textOfMessage)].join("\n");
  const statements = new Statements(messages, state.userTexts, index);
  const missing = lostWords(state, text, rules);
  const corrections = new Set(state.corrections);
  const { aborted, finishedSteps } = state;
  return {
    lostUserTexts: [...missing].filter((userText) => !corrections.has(userText)),
    lostCorrections: [...missing].filter((userText) => corrections.has(userText)),
    lostConstraints: state.constraints.filter((sentence) => !text.includes(sentence)),
    lostFiles: lostFilesOf(state, statements),
    lostOpenStep: lostOpenStepOf(state, text, statements),
    finishedShownOpen: [
      ...finishedSteps.filter((mark) => statements.step(mark) === "open"),
      ...openCalls(messages),
    ],
    lostEffects: lostEffectsOf(state, statements),
    lostAbort: aborted === undefined || statements.isCutOff(aborted) ? [] : [aborted],
  };
}
