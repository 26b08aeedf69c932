/** Search index of a note: its passages, and which words each contains. */
import { cutPassages, type Passage } from "./note-passages.ts";
import type { Pace } from "@pagurus/core/platform/pace";
import { TermIndexBuilder, type TermIndex } from "./term-index.ts";
import { foldNote, wordsOf, type QueryTerm } from "./note-words.ts";

/** Weight of a term in a passage's headings or path; a term in its text counts 1. */
const CONTEXT_WEIGHT = 0.5;

/** Index of one note, in typed arrays and one string, since a file may have tens of thousands of passages. */
export class IndexedNote {
  readonly path: string;
  /** UTF-16 units of the folded passages together. */
  readonly length: number;
  readonly #body: string;
  /** For each passage: end of its text in the body, line, folded length. */
  readonly #ends: Uint32Array;
  readonly #lines: Uint32Array;
  readonly #lengths: Uint16Array;
  readonly #words: TermIndex;
  /** First passage of each context, plus one for the end; the passages of a context are contiguous. */
  readonly #contexts: Uint32Array;
  readonly #contextWords: TermIndex;

  constructor(path: string, parts: NoteParts) {
    this.path = path;
    this.#body = parts.texts.join("");
    this.#ends = Uint32Array.from(parts.ends);
    this.#lines = Uint32Array.from(parts.lines);
    this.#lengths = Uint16Array.from(parts.lengths);
    this.length = parts.length;
    this.#words = parts.words.build();
    this.#contexts = Uint32Array.from([...parts.contexts, parts.texts.length]);
    this.#contextWords = parts.contextWords.build();
  }

  get size(): number {
    return this.#ends.length;
  }

  text(passage: number): string {
    return this.#body.slice(passage === 0 ? 0 : this.#ends[passage - 1], this.#ends[passage]);
  }

  line(passage: number): number {
    return this.#lines[passage] ?? 1;
  }

  foldedLength(passage: number): number {
    return this.#lengths[passage] ?? 0;
  }

  /** Adds each passage's weighted count of a term, in its text and its headings, to `counts[base + passage]`. */
  count(term: QueryTerm, counts: Float32Array, base: number): void {
    this.#words.count(term, counts, base);
    const above = new Float32Array(this.#contexts.length);
    this.#contextWords.count(term, above, 0);
    for (const [context, count] of above.entries()) {
      if (count === 0) continue;
      const end = this.#contexts[context + 1] ?? 0;
      for (let passage = this.#contexts[context] ?? 0; passage < end; passage += 1) {
        counts[base + passage] = (counts[base + passage] ?? 0) + CONTEXT_WEIGHT;
      }
    }
  }
}

class NoteParts {
  readonly texts: string[] = [];
  readonly ends: number[] = [];
  readonly lines: number[] = [];
  readonly lengths: number[] = [];
  readonly words = new TermIndexBuilder();
  readonly contexts: number[] = [];
  readonly contextWords = new TermIndexBuilder();
  length = 0;
  #context: string | undefined;

  add({ line, text, context }: Passage): void {
    if (context !== this.#context) {
      this.#context = context;
      this.contextWords.add(this.contexts.length, new Set(wordsOf(foldNote(context))));
      this.contexts.push(this.texts.length);
    }
    const folded = foldNote(text);
    this.words.add(this.texts.length, wordsOf(folded));
    this.texts.push(text);
    this.ends.push((this.ends.at(-1) ?? 0) + text.length);
    this.lines.push(line);
    this.lengths.push(Math.min(0xffff, folded.length));
    this.length += folded.length;
  }
}

/** Splits a note into passages and indexes them, in slices. */
export async function indexNote(path: string, text: string, pace: Pace): Promise<IndexedNote> {
  const parts = new NoteParts();
  for (const passage of await cutPassages(path, text, pace)) {
    parts.add(passage);
    if (pace.due) await pace.rest();
  }
  return new IndexedNote(path, parts);
}
