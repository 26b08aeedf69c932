/** A head in chapters: what it says already stays, byte for byte, and each compaction adds what is new. */

/** Stored beside the head, whose text it measures in characters. */
export interface Chapter {
  words: number;
  summaries: number;
  facts: number;
  nodes: readonly string[];
}

export interface ChapterText {
  /** What was said, word for word. */
  words: string;
  summaries: string;
  /** What code has collected; it stands last, since a summary may tell of what was put right later. */
  facts: string;
  /** Summaries that it tells, oldest first. */
  nodes: readonly string[];
}

const GAP = "\n\n";

/** Parts with a blank line between them; empty ones are left out. */
export function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(GAP);
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

/** The chapters of a head; undefined where it has none, or they are not those of its text. */
export function chaptersOf(
  head: string,
  chapters: readonly Chapter[] | undefined,
): ChapterText[] | undefined {
  if (!chapters || chapters.length === 0) return undefined;
  let at = 0;
  const next = (length: number): string => {
    const text = head.slice(at, at + length);
    if (length > 0) at += length + GAP.length;
    return text;
  };
  const texts = chapters.map(({ words, summaries, facts, nodes }) => ({
    words: next(words),
    summaries: next(summaries),
    facts: next(facts),
    nodes,
  }));
  const text = textOfChapters(texts, "");
  return text.length === at - GAP.length && head.startsWith(text) ? texts : undefined;
}
