/** Which words are forms of a word, in other alphabets than Latin with spaces between words. */
import { alphabetOf, type Alphabet } from "./alphabets.ts";
import { fold } from "./fold.ts";

const LEAST_LETTERS = 2;
const LONGEST = 24;

/** The forms that a word may have. */
export interface Family {
  /** What they begin with, as it is in the index. */
  starts: readonly string[];
  /** Whether a word of the index is one. */
  has: (term: string) => boolean;
}

interface Root {
  text: string;
  /** Where it begins in the word. */
  at: number;
  endings: ReadonlySet<string>;
}

function plainOf(word: string, { finals }: Alphabet): string {
  return fold(word).replace(/./gu, (letter) => finals[letter] ?? letter);
}

function rootsOf(word: string, { kinds, before, least }: Alphabet): Root[] {
  const roots: Root[] = [];
  for (const start of before.filter((each) => word.startsWith(each)))
    for (const kind of kinds)
      for (const ending of kind) {
        const text = word.slice(start.length, word.length - ending.length);
        const enough = start === "" ? least.plain : least.cut;
        if (text.length >= enough && word.endsWith(ending))
          roots.push({ text, at: start.length, endings: kind });
      }
  return roots;
}

/** The root as texts may have it: as typed, without signs, and with one sign. */
function spelledOf(typed: string, plain: string, alphabet: Alphabet): string[] {
  const { signs, isSignFirst, finals } = alphabet;
  const spelled = [typed, plain];
  for (const [at, letter] of [...plain].slice(0, isSignFirst ? 1 : undefined).entries())
    for (const sign of signs[letter] ?? []) spelled.push(plain.slice(0, at) + sign + plain.slice(at + 1));
  const final = Object.keys(finals).find((each) => finals[each] === plain.at(-1));
  if (final !== undefined) spelled.push(plain.slice(0, -1) + final);
  return spelled;
}

/** Those that begin with none of the others. */
export function firstOf(starts: readonly string[]): string[] {
  const distinct = [...new Set(starts)];
  return distinct.filter((start) => !distinct.some((other) => other !== start && start.startsWith(other)));
}

function alphabeticFamily(typed: string, alphabet: Alphabet): Family | undefined {
  const word = plainOf(typed, alphabet);
  const roots = rootsOf(word, alphabet);
  if (roots.length === 0) return undefined;
  const shortest = new Map<number, string>();
  for (const { text, at } of roots)
    if (text.length < (shortest.get(at)?.length ?? Infinity)) shortest.set(at, text);
  const { before, articles, least } = alphabet;
  const cut = Math.max(0, ...articles.filter((each) => word.startsWith(each)).map((each) => each.length));
  const main = shortest.has(cut) ? cut : 0;
  const starts = [...shortest].flatMap(([at, text]) => {
    const asTyped = typed.slice(at, at + text.length);
    // A root of two letters, or one that is less likely, is searched alone and after the article.
    const possible = at === main && text.length >= least.cut ? before : before.slice(0, 2);
    return possible.flatMap((each) => spelledOf(asTyped, text, alphabet).map((spelled) => each + spelled));
  });
  const has = (term: string): boolean => {
    const plain = plainOf(term, alphabet);
    return alphabet.before.some((start) =>
      roots.some(
        ({ text, endings }) =>
          plain.startsWith(text, start.length) &&
          plain.startsWith(start) &&
          endings.has(plain.slice(start.length + text.length)),
      ),
    );
  };
  return { starts: firstOf(starts), has };
}

const HANGUL = /^\p{Script=Hangul}+$/u;
/** Particles after a consonant, after a vowel and after both; longest first. */
const PARTICLES = {
  consonant: "이라고 이에요 이랑 으로 이야 은 이 을 과",
  vowel: "라고 예요 랑 로 야 는 가 를 와",
  both: "에서는 에서도 에게서 한테서 입니다 입니까 까지 부터 에서 에게 한테 에는 에도 하고 보다 처럼 마다 의 에 도 만",
};
/** Endings of verbs after the sign of the past. */
const PAST_ENDING = /(?:습니다|습니까|어요|나요|지요|을까|는데|어|다|니|지|고|던|을)$/;
/** Syllables that may follow a noun or verb of two or more. */
const MOST_AFTER = 4;

/** The consonant that closes a syllable; 0 for none. */
function closing(syllable: string): number {
  return (syllable.charCodeAt(0) - 0xac00) % 28;
}

/** The particles that may follow a word. */
function particlesAfter(word: string): string[] {
  const last = closing(word.slice(-1));
  // After a liquid the short form of `으로` is used.
  const kind = last === 0 ? PARTICLES.vowel : PARTICLES.consonant + (last === 8 ? " 로" : "");
  return `${kind} ${PARTICLES.both}`.split(" ");
}

const SIGN_OF_PAST = 20;

function hangulRoot(word: string): string {
  for (let length = 1; length < word.length; length++) {
    const root = word.slice(0, length);
    const after = word.slice(length);
    if (particlesAfter(root).includes(after)) return root;
  }
  const verb = word.replace(PAST_ENDING, "");
  return verb.length > 1 && verb !== word && closing(verb.slice(-1)) === SIGN_OF_PAST ? verb : word;
}

function hangulFamily(word: string): Family {
  const root = hangulRoot(word);
  if (root.length > 1)
    return {
      starts: [root],
      has: (term) => term.startsWith(root) && term.length <= root.length + MOST_AFTER,
    };
  // One syllable begins too many words: only those with a particle.
  const forms = new Set([word, root, ...particlesAfter(root).map((particle) => root + particle)]);
  return { starts: [root], has: (term) => forms.has(term) };
}

/** The forms of a word as it was typed; undefined where its alphabet is not known, or it is short. */
export function familyOf(typed: string): Family | undefined {
  const word = typed.toLowerCase();
  if (HANGUL.test(word) && word.length <= LONGEST) return hangulFamily(word);
  if (word.length < LEAST_LETTERS || word.length > LONGEST) return undefined;
  const alphabet = alphabetOf(word);
  return alphabet && alphabeticFamily(word, alphabet);
}
