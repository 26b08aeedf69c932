/** What a person writes to answer a permission question, and how the question is shown to them. */
import { splitText } from "./turn-answer.ts";
import { defined } from "@pagurus/core/data/defined";

/** `yes`, `No.`, `yes 482`. */
const ANSWER_PATTERN = /^(?:(yes|y|ok|allow)|no|n|deny)(?:[\s,:#]+(\d{1,9}))?[.!]?$/i;
/** Space for the words around the part that is shown of a long question, characters. */
const WORDS_AROUND = 300;

export interface GivenWords {
  isYes: boolean;
  /** Number of the question that is meant. */
  code?: string;
}

/** Undefined for a text that says anything else. */
export function givenWords(text: string): GivenWords | undefined {
  const [all, yes, code] = ANSWER_PATTERN.exec(text.trim()) ?? [];
  if (all === undefined) return undefined;
  return { isYes: yes !== undefined, ...defined({ code }) };
}

/** The message that asks; `isWhole`: false where it has no space for all that would be allowed. */
export function questionText(
  summary: string,
  code: string,
  maxChars: number,
): { text: string; isWhole: boolean } {
  const asked = `May I do this? ${summary}`;
  const how = `This is question ${code}: "yes ${code}" answers it and no other. Answer yes or no.`;
  const [first = "", ...rest] = splitText(asked, Math.max(2, maxChars - WORDS_AROUND));
  if (rest.length === 0) return { text: `${first}\n\n${how}`, isWhole: true };
  const hidden = asked.length - first.length;
  const why = `${hidden} more characters have no space here, so it cannot be allowed here: answer no ${code}, or answer in another client of the server.`;
  return { text: `${first} …\n\n${why}`, isWhole: false };
}

/** Sentences for a yes or no that answers nothing. Each is sent in place of a turn. */
export const NOT_TAKEN = {
  closed: "That question is not open any more: nothing was allowed or refused.",
  other:
    "Your answer replies to another message than the open question: reply to the question, or answer with its number.",
  unknown: "There is no open question with that number here: nothing was allowed or refused.",
  mixed: "Your answer replies to one question and has the number of another: nothing was allowed or refused.",
  several:
    "Your answer was not taken, since it does not say which question it means: reply to the question, or answer with its number, as it shows.",
  correction: "A corrected message answers no question: answer with a new one.",
  forwarded: "A forwarded message answers no question: answer with a message of your own.",
  cut: "That cannot be allowed here, since not all of it was shown: answer no, or answer in another client of the server.",
} as const;
