/** Inverted index of a file's texts: which of them contain a term, and how often. */
import { PREFIX_CHARACTERS, PREFIX_WEIGHT, type QueryTerm } from "./note-words.ts";

/**
 * Words in code unit order, each with the indexes of the texts that contain it. Postings are in three typed arrays,
 * since a note may have as many words as a novel.
 */
export class TermIndex {
  readonly #words: readonly string[];
  /** Start of each word's postings, plus one for the end. */
  readonly #starts: Uint32Array;
  readonly #texts: Uint32Array;
  readonly #counts: Uint16Array;

  constructor(words: readonly string[], starts: Uint32Array, texts: Uint32Array, counts: Uint16Array) {
    this.#words = words;
    this.#starts = starts;
    this.#texts = texts;
    this.#counts = counts;
  }

  /** Adds each text's count of the term to `counts[base + text]`; a word that only starts with the term counts half. */
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

/** Builds a `TermIndex`; texts are added in the order of their indexes. */
export class TermIndexBuilder {
  /** For each word, pairs of text index and count. */
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
