/** What of a turn's input is searched: the person's own words, and of a long text the questions at its ends. */
import { inputWords } from "../../../contract/input-data.ts";
import type { AgentMessage } from "../../../contract/message.ts";

/** Characters of an input that are searched, from its end. */
const INPUT_CHARS = 2_000;
/** Characters above which an input is searched by its questions first: an index query takes only the first words of a paste. */
const LONG_CHARS = 800;
/** Characters at each end of a long input where a question is the person's own; between them is what was pasted. */
const END_CHARS = 1_000;
/** A sentence ends before a space; after a full stop only where a longer word is before it, since `Dr.` ends none. */
const SENTENCE_END = /\n+|(?<=[!?؟][)\]"'”’»]?|\p{L}{4}\.[)\]"'”’»]?)\s+|(?<=[。！？])/u;
const BLANK_LINE = /\n\s*\n/;

/** Marks that are never part of code. */
const OTHER_MARK = /[？؟]|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]\?/u;
/** A mark after a word, a quotation or a bracket, and before a space, one that closes, or an emoji: not that of `user?.name` or `/?a=1`. */
const MARK =
  /[\p{L}\p{M}\p{N}\p{Sc}\p{Extended_Pictographic}"'”’»›」`)\]}>+*_.…!%][?!]{0,50}\?[?!.*_]{0,50}(?:[,;](?=\s))?(?=$|[\s"'”’»›」`)\]}<]|\p{Extended_Pictographic})/u;
/** A mark after a space, as in French: at the end of a line or before another sentence, and alone, since `a ?? b` is code. */
const SPACED_MARK = /\S\s(?:\?(?=[\s»"”])|[?!]{0,50}\?[?!]{0,50}\s*$)/mu;

/** Whether a text asks by a question mark; one in code or in an address does not. */
export function hasQuestionMark(text: string): boolean {
  return OTHER_MARK.test(text) || MARK.test(text) || SPACED_MARK.test(text);
}

/** The questions at both ends of a long text: of its first and last paragraph, else of all that is near the ends. */
function questionsAtEnds(text: string): string {
  const first = text.slice(0, END_CHARS);
  const last = text.slice(-END_CHARS);
  const questionsOf = (parts: readonly string[]): string => {
    const sentences = parts.flatMap((part) => part.split(SENTENCE_END));
    return [...new Set(sentences.filter((sentence) => hasQuestionMark(sentence)))].join("\n");
  };
  const outer = questionsOf([first.split(BLANK_LINE)[0] ?? "", last.split(BLANK_LINE).at(-1) ?? ""]);
  return outer === "" ? questionsOf([first, last]) : outer;
}

/** The words that the person has typed, without attached files and piped input; what other people wrote stays where nothing else asks. */
function typedOf(prompt: string, input: AgentMessage | undefined): string {
  if (input?.role !== "user" || typeof input.content === "string") return prompt;
  const parts = input.content.filter((part) => part.type === "text");
  if (!parts.some(({ source }) => source !== undefined)) return prompt;
  // The input of another turn.
  if (!parts.every(({ text }) => prompt.includes(text))) return prompt;
  const { typed } = inputWords(input);
  if (typed.trim() === "") return prompt;
  if (hasQuestionMark(typed)) return typed;
  const isWritten = ({ source }: { source?: string }): boolean => source?.startsWith("message of ") === true;
  const written = parts.filter((part) => part.source === undefined || isWritten(part));
  return written.map(({ text }) => text).join("\n\n");
}

/** The texts of an input to search, in order, until one finds something; `input` is its message where the session has it. */
export function searchedTexts(prompt: string, input: AgentMessage | undefined): string[] {
  const text = typedOf(prompt, input).trim();
  const end = text.slice(-INPUT_CHARS).trim();
  const asked = text.length > LONG_CHARS ? questionsAtEnds(text).trim() : "";
  return asked === "" ? [end] : [asked, end];
}
