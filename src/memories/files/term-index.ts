/** Which of a file's texts hold a term, and how often, without looking at the texts again. */
import { PREFIX_CHARACTERS, PREFIX_WEIGHT, type QueryTerm } from "./words.ts";

/**
 * Words in code unit order, each with the numbers of the texts that hold it. All numbers of a file are in three
 * arrays, since a note may have as many words as a novel.
 */
export class TermIndex {
  readonly #words: readonly string[];
  /** Where the postings of each word begin; one more for the end. */
  readonly #starts: Uint32Array;
  readonly #texts: Uint32Array;
  readonly #counts: Uint16Array;

  constructor(words: readonly string[], starts: Uint32Array, texts: Uint32Array, counts: Uint16Array) {
    this.#words = words;
    this.#starts = starts;
    this.#texts = texts;
    this.#counts = counts;
  }

  /** Adds to `counts[base + text]` how often each text has the term; a word that only begins with it counts half. */
  count({ text: term, kind }: QueryTerm, counts: Float32Array, base: number): void {
    for (let at = this.#firstFrom(term); at < this.#words.length; at += 1) {
      const word = this.#words[at] ?? "";
      if (!word.startsWith(term)) return;
      const weight = kind === "pair" ? 1 : wordWeight(word, term);
      if (weight === 0) continue;
      const end = this.#starts[at + 1] ?? 0;
      for (let posting = this.#starts[at] ?? 0; posting < end; posting += 1) {
        const place = base + (this.#texts[posting] ?? 0);
        counts[place] = (counts[place] ?? 0) + weight * (this.#counts[posting] ?? 0);
      }
    }
  }

  #firstFrom(term: string): number {
    let low = 0;
    let high = this.#words.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#words[middle] ?? "") < term) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function wordWeight(word: string, term: string): number {
  if (word === term) return 1;
  if (term.length < PREFIX_CHARACTERS) return 0;
  return word.length === term.length + 1 && word.endsWith("s") ? 1 : PREFIX_WEIGHT;
}

/** Collects texts in the order of their numbers. */
export class TermIndexBuilder {
  /** Of each word number and count of one text after the other. */
  readonly #postings = new Map<string, number[]>();
  #size = 0;

  add(text: number, words: Iterable<string>): void {
    for (const word of words) {
      let postings = this.#postings.get(word);
      if (!postings) this.#postings.set(word, (postings = []));
      const last = postings.length - 1;
      if (postings[last - 1] === text) postings[last] = (postings[last] ?? 0) + 1;
      else {
        postings.push(text, 1);
        this.#size += 1;
      }
    }
  }

  build(): TermIndex {
    const words = [...this.#postings.keys()].sort();
    const starts = new Uint32Array(words.length + 1);
    const texts = new Uint32Array(this.#size);
    const counts = new Uint16Array(this.#size);
    let end = 0;
    for (const [at, word] of words.entries()) {
      starts[at] = end;
      const postings = this.#postings.get(word) ?? [];
      for (let posting = 0; posting < postings.length; posting += 2) {
        texts[end] = postings[posting] ?? 0;
        counts[end] = Math.min(0xffff, postings[posting + 1] ?? 0);
        end += 1;
      }
    }
    starts[words.length] = end;
    return new TermIndex(words, starts, texts, counts);
  }
}
