/** What of a turn's input is searched: the person's own words, and of a long text the questions at its ends. */
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";

/** Characters of an input that are searched, from its end. */
const INPUT_CHARS = 2_000;
/** Characters above which an input is searched by its questions first: an index query takes only the first words of a paste. */
const LONG_CHARS = 800;
/** Characters at each end of a long input where a question is the person's own; between them is what was pasted. */
const END_CHARS = 1_000;
/** A sentence ends before a space; after a full stop only where a longer word is before it, since `Dr.` ends none. */
const SENTENCE_END = /\n+|(?<=[!?؟\u037E][)\]"'”’»]?|\p{L}{4}\.[)\]"'”’»]?)\s+|(?<=[。！？])/u;
const BLANK_LINE = /\n\s*\n/;

/** Marks that are never part of code; people write the Greek one as a semicolon, too. */
const OTHER_MARK =
  /[？؟\u037E]|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]\?|\p{Script=Greek}{2};(?=\s|$)/u;
/** A run of marks; it is looked at once, from its start. */
const MARKS = /(?<![?!])[?!]+/g;
/** What is before a mark: a word, a quotation or a bracket. */
const BEFORE_MARK = /[\p{L}\p{M}\p{N}\p{Sc}\p{Extended_Pictographic}"'”’»›」`)\]}>+*_.…%#/]$/u;
/** What is after a mark: a space, one that closes, a dash or a face, not the name of `user?.name` or `/?a=1`. */
const AFTER_MARK =
  /[?!.*_]{0,8}(?:,(?=\s)|;(?= +\p{L}))?(?=$|[\s"'”’»›」`)\]}<…–—]|\p{Extended_Pictographic}|[:;]-?[()DPp](?:\s|$))/uy;
/** After a space, as in French, a mark is alone, since `a ?? b` is code. */
const AFTER_SPACED = /[\s»"”]/;
/** A space before a mark, not that of `id = ?`. */
const SPACE_BEFORE_MARK = /[^\s=<>(,|&+]\s$/;
/** `a? && b`, `a ? : b`. */
const SIGN_AFTER = /^\s+(?:&&|\|\||[=!]=|=>|[:?]\s)/;
const SMALL_AFTER = /^\s+[\p{Ll}\p{N}"'`([{&|=:+*/-]/u;
/** `val x: Int`, `let x = f.read()`, `if (ok`, and a type at the start of a line. */
const CODE_BEFORE =
  /^\s*(?:(?:export|public|private|static|final)\s)?(?:let|const|va[lr])\s(?:mut\s)?[\w$]{1,50}\s?[:=]\s?[\w.:<>()[\]$]{1,100}$|\b(?:if|elsif|unless|while)\s?\([\w.!]{1,50}$/;
const TYPE_BEFORE =
  /^\s*(?:(?:public|private|protected|static|final|readonly|late)\s){0,3}(?:[Ss]tring|[Ii]nt|[Bb]ool|Boolean|[Ff]loat|[Dd]ouble|[Ll]ong|[Cc]har|[Dd]ecimal|DateTime|Date|Number|Any|[Oo]bject|num|dynamic)$/;
const NAME_AFTER = /^\s[\w$]{1,50}\s*(?:[=;,){]|$)/;
/** A line of code before a mark. */
const OF_CODE = /[={]|^\s*return\s/;
/** Characters around a mark that show whether it is one of code. */
const AROUND_MARK = 120;
/** Code between backticks, and what follows a scheme in an address. */
const FENCED = /```[^]*?```/g;
const QUOTED = /`[^`\n]+`/g;
const WEB_ADDRESS = /:\/\/[^\s"”»<>)\]？。，、؟\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]*/gu;

/** Whether a mark of a line is one of code. */
function isCode(line: string, start: number, end: number): boolean {
  const before = line.slice(Math.max(0, start - AROUND_MARK), start);
  const after = line.slice(end, end + AROUND_MARK);
  if (SIGN_AFTER.test(after)) return true;
  if (start <= AROUND_MARK) {
    if (CODE_BEFORE.test(before)) return true;
    if (TYPE_BEFORE.test(before) && NAME_AFTER.test(after)) return true;
  }
  if (!SMALL_AFTER.test(after)) return false;
  if (/\s$/.test(before)) return line.endsWith(";") || OF_CODE.test(before) || /[={]/.test(after);
  // People write `is a=1 right? i think so`, too.
  if (/^\s=\s/.test(after) || (OF_CODE.test(before) && /^[^?]+\s:\s/.test(after))) return true;
  return /[;{]$/.test(line) && /[={(]/.test(before + after);
}

/** Whether a line, without the space at its end, has a question mark. */
function asksSomething(line: string): boolean {
  for (const { 0: marks, index: start } of line.matchAll(MARKS)) {
    if (start === 0 || !marks.includes("?")) continue;
    const end = start + marks.length;
    AFTER_MARK.lastIndex = end;
    const before = line.slice(Math.max(0, start - 2), start);
    const isMark = SPACE_BEFORE_MARK.test(before)
      ? end === line.length || (marks === "?" && AFTER_SPACED.test(line.charAt(end)))
      : AFTER_MARK.test(line) && BEFORE_MARK.test(before);
    if (isMark && !isCode(line, start, end)) return true;
  }
  return false;
}

/** Whether a text asks by a question mark; one in code or in an address does not. */
export function hasQuestionMark(text: string): boolean {
  const words = text.replaceAll(FENCED, "``").replaceAll(QUOTED, "``").replaceAll(WEB_ADDRESS, "");
  return (
    OTHER_MARK.test(words) ||
    words.split("\n").some((line) => line.includes("?") && asksSomething(line.trimEnd()))
  );
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
