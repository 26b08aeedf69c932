/** Entries of the palette that fit what the user types, the best first. */

export interface Entry {
  id: string;
  group: string;
  label: string;
  /** Words beside it: a folder, a key. */
  hint?: string | undefined;
  run(): void;
}

/** How well one word fits a text: its beginning, the beginning of one of its words, or anywhere; 0 for not at all. */
function fit(word: string, text: string): number {
  const at = text.indexOf(word);
  if (at < 0) return 0;
  if (at === 0) return 3;
  return /[\s/:·_-]/.test(text[at - 1] ?? "") || text.includes(` ${word}`) ? 2 : 1;
}

/** Each typed word has to be in the label, the hint or the group. Without words all entries, in their order. */
export function matching(entries: readonly Entry[], typed: string, most: number): Entry[] {
  const words = typed
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return entries.slice(0, most);
  const scored = entries.flatMap((entry) => {
    const label = entry.label.toLowerCase();
    const beside = `${entry.hint ?? ""} ${entry.group}`.toLowerCase();
    let score = 0;
    for (const word of words) {
      const own = fit(word, label) * 2;
      const found = own === 0 ? Math.min(1, fit(word, beside)) : own;
      if (found === 0) return [];
      score += found;
    }
    return [{ entry, score }];
  });
  // Stable: of equals the order stays.
  return scored
    .toSorted((one, other) => other.score - one.score)
    .slice(0, most)
    .map(({ entry }) => entry);
}
