/** Obvious baselines: the newest words, and BM25 in three forms. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { Bm25 } from "./bm25.ts";
import { chunksOf, type Passage, type Recaller } from "./recaller.ts";

export interface Document extends Passage {
  tokens: number;
}

/** Documents in order of preference, as many as fit in the budget of a page. */
export function fill(documents: Iterable<Document>, budget: number, page: number): Document[] {
  let skipped = page * budget;
  let left = budget;
  const chosen: Document[] = [];
  for (const document of documents) {
    if (skipped > 0) {
      skipped -= document.tokens;
      continue;
    }
    if (document.tokens > left) continue;
    left -= document.tokens;
    chosen.push(document);
    if (left < 20) break;
  }
  return chosen;
}

abstract class DocumentRecaller implements Recaller {
  abstract readonly name: string;
  protected readonly documents: Document[] = [];

  index(messages: readonly AgentMessage[]): void {
    for (const message of messages) {
      const text = textOfMessage(message);
      if (text.trim() === "") continue;
      for (const part of this.split(text)) {
        const passage = { entryId: message.entryId ?? "", text: part };
        this.documents.push({ ...passage, tokens: estimateTokens(part) });
        this.added(part);
      }
    }
  }

  recall(question: string, budgetTokens: number, page = 0): Passage[] {
    return fill(this.order(question), budgetTokens, page);
  }

  protected split(text: string): string[] {
    return chunksOf(text);
  }

  protected added(_text: string): void {
    // Only a search needs more than the documents.
  }

  protected abstract order(question: string): Iterable<Document>;
}

class Recency extends DocumentRecaller {
  readonly name = "recency";

  protected order(): Iterable<Document> {
    return this.documents.toReversed();
  }
}

class Search extends DocumentRecaller {
  readonly name: string;
  readonly #whole: boolean;
  readonly #around: number;
  readonly #bm25 = new Bm25();

  constructor(name: string, whole: boolean, around: number) {
    super();
    this.name = name;
    this.#whole = whole;
    this.#around = around;
  }

  protected override split(text: string): string[] {
    return this.#whole ? [text] : chunksOf(text);
  }

  protected override added(text: string): void {
    this.#bm25.add(text);
  }

  protected override *order(question: string): Iterable<Document> {
    const given = new Set<number>();
    for (const hit of this.#bm25.rank(question)) {
      for (let at = hit - this.#around; at <= hit + this.#around; at++) {
        const document = this.documents[at];
        if (!document || given.has(at)) continue;
        given.add(at);
        yield document;
      }
    }
  }
}

/** Fresh baselines: the newest words, BM25 over whole messages, over passages, and passages with their neighbours. */
export function baselines(): Recaller[] {
  return [
    new Recency(),
    new Search("BM25, whole messages", true, 0),
    new Search("BM25", false, 0),
    new Search("BM25 with neighbours", false, 1),
  ];
}
