/** Splits a text into search terms. */

const STOP = new Set(
  (
    "a about after all also am an and any are as at be because been before being but by can could did do does " +
    "doing done for from had has have having he her here him his how i if in into is it its just let me more most " +
    "my no nor not now of off on once only or other our out over own please s same she should so some such t tell " +
    "than that the their them then there these they this those through to too under until up us very was we were " +
    "what when where which while who whom whose why will with would you your"
  ).split(" "),
);
const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
/** Scripts that write words without spaces, or attach particles to them. */
const UNSPACED_TERM =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

function stem(word: string): string {
  if (word.length < 5 || /[^a-z]/.test(word)) return word;
  const base = word.replace(/(?:ies|ied)$/, "y").replace(/(?:ing|ed|es|s)$/, "");
  return base.length < 3 ? word : base.replace(/e$/, "");
}

/** Other scripts inflect at the end: a long word is compared by its beginning. */
function foreignStem(word: string): string {
  const letters = [...word];
  return letters.length > 5 ? letters.slice(0, letters.length - 2).join("") : word;
}

function bigrams(run: string): string[] {
  const letters = [...run];
  if (letters.length < 2) return [run];
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

function latinTerms(word: string): string[] {
  const lower = word.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
  const parts = word.split(/_+|(?<=[a-z0-9])(?=[A-Z])/).filter((part) => part !== "");
  const stems = parts.length > 1 ? parts.map((part) => stem(part.toLowerCase())) : [];
  return /[^\w\u00c0-\u024f]/.test(lower) ? [foreignStem(lower)] : [stem(lower), ...stems];
}

/** Lower case terms in order, repeats kept: stemmed words, parts of camel case, bigrams of Chinese. */
export function termsOf(text: string, options: { keepStopWords?: boolean } = {}): string[] {
  const terms: string[] = [];
  for (const [word] of text.matchAll(WORD)) {
    if (word.length > 200) continue;
    const rest = word.replace(UNSPACED_TERM, (run) => {
      terms.push(...bigrams(run));
      return " ";
    });
    for (const piece of rest.split(" ")) {
      if (piece === "" || (!options.keepStopWords && STOP.has(piece.toLowerCase()))) continue;
      terms.push(...latinTerms(piece));
    }
  }
  return terms;
}
