/**
 * Words of a query in scripts that are written without spaces, by the dictionaries of ICU, which are part of Node. Texts are indexed by pairs
 * of characters (`scripts.ts`), so the words of a query may change without another index.
 */
import { fold } from "./fold.ts";
import { namesAmong } from "./name-cues.ts";
import { isForeignStopWord } from "./stop-words.ts";

/** A word, or a pair of characters of one. */
export interface UnspacedWord {
  text: string;
  /** Share of a word that it is: the two pairs of a word of three characters are half a word each. */
  part: number;
  /** It only orders what the others find: two words next to each other, for example `娜的` of `李娜的`. */
  isMade: boolean;
  isName?: boolean;
}

const HAN = /^\p{Script=Han}+$/u;
const INFLECTED = /^(\p{Script=Han}+)\p{Script=Hiragana}+$/u;
const PAIRED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+$/u;
/** Share of a word of one character: names and short words are often cut into two of them. */
const LONE = 0.5;

let segmenter: Intl.Segmenter | undefined;

/** Characters that are no part of a word of two, for example `猫叫` of `猫叫什么`. */
const FUNCTION = /^(\p{Script=Han})[的叫了在是吗嗎]$|^[的叫了在是](\p{Script=Han})$/u;

/** The words of a run. Japanese ones without the endings of their forms. */
function segmentsOf(run: string): string[] {
  segmenter ??= new Intl.Segmenter("en", { granularity: "word" });
  return Array.from(segmenter.segment(run))
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment);
}

function wordsOfSegment(segment: string): UnspacedWord[] {
  const characters = Array.from(segment);
  if (characters.length === 1) return [{ text: segment, part: LONE, isMade: false }];
  if (characters.length === 2 || !HAN.test(segment)) return [{ text: segment, part: 1, isMade: false }];
  const part = 1 / (characters.length - 1);
  const pairs = characters.slice(1).map((character, at) => `${characters[at] ?? ""}${character}`);
  return [...pairs.map((text) => ({ text, part, isMade: false })), { text: segment, part: 1, isMade: true }];
}

/** The words with a meaning of a run of such characters; all where none has one. */
export function unspacedWords(run: string): UnspacedWord[] {
  const words: UnspacedWord[] = [];
  const segments = segmentsOf(run);
  const names = namesAmong(segments);
  let before: string | undefined;
  for (const [at, segment] of segments.entries()) {
    const cut = INFLECTED.exec(segment) ?? FUNCTION.exec(segment);
    const text = cut?.[1] ?? cut?.[2] ?? segment;
    if (!names.has(at) && (isForeignStopWord(fold(segment)) || isForeignStopWord(fold(text)))) {
      before = undefined;
      continue;
    }
    if (before !== undefined && PAIRED.test(before + text))
      words.push({
        text: `${Array.from(before).at(-1) ?? ""}${Array.from(text)[0] ?? ""}`,
        part: 1,
        isMade: true,
      });
    words.push(...wordsOfSegment(text).map((word) => (names.has(at) ? { ...word, isName: true } : word)));
    before = text === segment ? segment : undefined;
  }
  return words.length > 0 ? words : segments.flatMap(wordsOfSegment);
}
