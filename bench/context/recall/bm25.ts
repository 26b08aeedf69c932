/** Okapi BM25 in memory, for the baselines. */
const K1 = 1.2;
const B = 0.75;

export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

export class Bm25 {
  readonly #postings = new Map<string, { document: number; count: number }[]>();
  readonly #lengths: number[] = [];
  #total = 0;

  add(text: string): void {
    const document = this.#lengths.length;
    const words = wordsOf(text);
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) {
      const list = this.#postings.get(word);
      if (list) list.push({ document, count });
      else this.#postings.set(word, [{ document, count }]);
    }
    this.#lengths.push(words.length);
    this.#total += words.length;
  }

  /** Documents that share a word with the query, best first; the newer of equal ones first. */
  rank(query: string): number[] {
    const documents = this.#lengths.length;
    const mean = this.#total / Math.max(1, documents);
    const scores = new Map<number, number>();
    for (const word of new Set(wordsOf(query))) {
      const list = this.#postings.get(word) ?? [];
      const idf = Math.log(1 + (documents - list.length + 0.5) / (list.length + 0.5));
      for (const { document, count } of list) {
        const length = (this.#lengths[document] ?? 0) / Math.max(1, mean);
        const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + B * length));
        scores.set(document, (scores.get(document) ?? 0) + idf * weight);
      }
    }
    return [...scores].toSorted((a, b) => b[1] - a[1] || b[0] - a[0]).map(([document]) => document);
  }
}
