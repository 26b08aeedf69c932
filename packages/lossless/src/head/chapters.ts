/** A head in chapters: existing text stays byte for byte, and each compaction appends a chapter. */

/** Stored with the head; lengths are in characters of the head's text. */
export interface Chapter {
  words: number;
  summaries: number;
  facts: number;
  nodes: readonly string[];
}

export interface ChapterText {
  /** Messages of the user, verbatim. */
  words: string;
  summaries: string;
  /** Facts collected by code. They come last, since a summary may report a state that was corrected later. */
  facts: string;
  /** Ids of its summaries, oldest first. */
  nodes: readonly string[];
}

const CHAPTER_GAP = "\n\n";

/** Joins parts with a blank line between them; empty ones are skipped. */
export function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(CHAPTER_GAP);
}

export function textOfChapters(chapters: readonly ChapterText[], end: string): string {
  return joined([...chapters.flatMap(({ words, summaries, facts }) => [words, summaries, facts]), end]);
}

export function measured(chapters: readonly ChapterText[]): Chapter[] {
  return chapters.map(({ words, summaries, facts, nodes }) => ({
    words: words.length,
    summaries: summaries.length,
    facts: facts.length,
    nodes,
  }));
}

/** The chapters of a head; undefined when it has none or when they do not match its text. */
export function chaptersOf(
  head: string,
  chapters: readonly Chapter[] | undefined,
): ChapterText[] | undefined {
  if (!chapters || chapters.length === 0) return undefined;
  let at = 0;
  const next = (length: number): string => {
    const text = head.slice(at, at + length);
    if (length > 0) at += length + CHAPTER_GAP.length;
    return text;
  };
  const texts = chapters.map(({ words, summaries, facts, nodes }) => ({
    words: next(words),
    summaries: next(summaries),
    facts: next(facts),
    nodes,
  }));
  const text = textOfChapters(texts, "");
  return text.length === at - CHAPTER_GAP.length && head.startsWith(text) ? texts : undefined;
}
